import { render } from "preact";
import { App } from "./app.tsx";
import { arrive } from "./arrival.ts";

void arrive();
render(<App />, document.getElementById("console")!);

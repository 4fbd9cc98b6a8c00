import { render } from "preact";
import { App } from "./app.tsx";
import { arrive } from "./arrival.ts";
import { keepFocus } from "./parts/focus.ts";

// The first click of a double click may move another thing under the pointer, such as the next registration to approve.
addEventListener(
  "click",
  event => {
    const acts = (event.target as Element).closest("button:is([type=submit], .primary, .danger)");
    if (event.detail < 2 || !acts) return;
    event.preventDefault();
    event.stopPropagation();
  },
  { capture: true },
);

keepFocus();
void arrive();
render(<App />, document.getElementById("console")!);

import type { Answer } from "../../api.ts";
import type { Load } from "../../parts/load.tsx";
import type { OneTenant } from "../../soon.ts";

/** The tenant that an operator has open. */
export type Open = Load<Answer<OneTenant>>;

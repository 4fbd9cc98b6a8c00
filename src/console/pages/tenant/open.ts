import type { TenantDetails } from "../../../client/api.ts";
import type { Answer } from "../../api.ts";
import type { Load } from "../../parts/load.tsx";

/** The tenant that an operator has open. */
export type Open = Load<Answer<TenantDetails>>;

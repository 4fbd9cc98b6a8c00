import type { CurrentTenant } from "../../../client/api.ts";
import type { Answer } from "../../api.ts";
import type { Load } from "../../parts/load.tsx";
import type { Here } from "../here.ts";

/** The organization that a page of its own people shows. */
export interface Own {
  slug: string;
  current: CurrentTenant;
  etag: string | null;
  load: Load<Answer<CurrentTenant>>;
  here: Here;
}

import type { Me } from "../me.ts";

/** What every page knows. */
export interface Here {
  me: Me;
  parts: string[];
  /** The organization that the reader looks at. */
  slug: string | undefined;
  /** Reads again who the reader is, and which organizations are theirs. */
  reload: () => void;
}

import { pretty } from "../../diff.ts";
import { Diff } from "../../parts/diff.tsx";
import { type Json, onto } from "./json.ts";

/** Somebody else saved in the meantime: both changes, and what may become of them. */
export function Conflict({
  base,
  theirs,
  mine,
  take,
}: {
  base: Json;
  theirs: Json;
  mine: Json;
  /** Goes on from theirs with this. */
  take: (next: Json) => void;
}) {
  return (
    <div class="panel bad">
      <h2>Somebody else changed the settings in the meantime</h2>
      <div class="grid">
        <div class="stack">
          <h3>What they changed</h3>
          <Diff label="What they changed" before={pretty(base)} after={pretty(theirs)} />
        </div>
        <div class="stack">
          <h3>What you would change now</h3>
          <Diff label="What you would change now" before={pretty(theirs)} after={pretty(mine)} />
        </div>
      </div>
      <div class="buttons">
        <button type="button" class="primary" onClick={() => take(onto(theirs, base, mine))}>
          Put my changes on theirs
        </button>
        <button type="button" onClick={() => take(mine)}>
          Keep mine as it is
        </button>
        <button type="button" onClick={() => take(theirs)}>
          Drop mine
        </button>
      </div>
    </div>
  );
}

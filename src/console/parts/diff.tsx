import { diff } from "../diff.ts";
import { visible } from "./text.tsx";

const MARK = { same: " ", gone: "−", new: "+" };
const WORD = { same: "", gone: "removed: ", new: "added: " };

/** What a change removes and adds, line by line. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="diff" aria-label={label} tabIndex={0}>
      {diff(before, after).map(({ kind, text }, i) => (
        <span key={i} class={kind}>
          {kind !== "same" && <i class="unseen">{WORD[kind]}</i>}
          <i aria-hidden="true">{MARK[kind]}</i> {visible(text)}
        </span>
      ))}
    </section>
  );
}

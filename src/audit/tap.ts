/** The proof's claims in the Test Anything Protocol. */
import { plain } from "../values/printable.ts";
import type { Claim } from "./proof.ts";

export function toTap(claims: Claim[]): string {
  const lines = claims.map(({ relation, claim, result, detail }, i) => {
    // A number sign would begin a directive.
    const words = plain([relation, claim].filter(Boolean).join(": ")).replaceAll("#", "\\#");
    const why = detail ? plain(detail) : "";
    if (result === "not proved") return `ok ${i + 1} - ${words} # SKIP not proved${why && `: ${why}`}`;
    const failed = result !== "proved" && why ? `\n  ---\n  message: ${JSON.stringify(why)}\n  ...` : "";
    return `${result === "proved" ? "ok" : "not ok"} ${i + 1} - ${words}${failed}`;
  });
  return ["TAP version 14", `1..${claims.length}`, ...lines].join("\n");
}

import { pretty } from "../diff.ts";
import { visible } from "./text.tsx";

const words = (key: string) => key.replaceAll("_", " ").replace(/^./, one => one.toUpperCase());

/** What somebody wrote when they registered. */
export function Written({ children }: { children: Record<string, unknown> }) {
  const shown = Object.entries(children).filter(([, value]) => value !== null && pretty(value) !== "{}");
  if (shown.length === 0) return <p class="dim">They wrote nothing.</p>;
  return (
    <dl class="facts">
      {shown.map(([key, value]) => [
        <dt key={key}>{words(key)}</dt>,
        <dd key={`${key} value`}>
          {typeof value === "string" ? (
            <bdi class="written">{visible(value)}</bdi>
          ) : (
            <pre>{visible(pretty(value))}</pre>
          )}
        </dd>,
      ])}
    </dl>
  );
}

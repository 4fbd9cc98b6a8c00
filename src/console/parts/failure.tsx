import { Refused } from "../api.ts";
import { route } from "../router.ts";
import { visible } from "./text.tsx";

const WORDS: Record<number, string> = {
  0: "No answer",
  403: "You may not do this",
  404: "This does not exist, or no longer",
  409: "This cannot be done now",
  412: "Somebody else changed this in the meantime",
  422: "Something in it is not right",
  429: "Too many requests",
  503: "The service is busy, or has no database",
};

/** What the reader gave is wrong, and the page knows it without the service. */
export class Mistake extends Error {}

/** The API calls an organization a tenant, which its own people do not. Other statuses may quote what somebody typed. */
const wordsFor = (status: number | undefined, detail: string) =>
  route.get().parts[0] === "org" && [403, 404, 409, 412].includes(status ?? 0)
    ? detail.replace(/\btenant\b/g, "organization")
    : detail;

/** An error in words, with the request's id for operators who read the log. */
export function Failure({ error, again }: { error: unknown; again?: (() => void) | undefined }) {
  const refused = error instanceof Refused ? error : undefined;
  const words = refused ? (WORDS[refused.status] ?? refused.problem.error) : "The page has a fault";
  const detail = wordsFor(refused?.status, error instanceof Error ? error.message : String(error));
  return (
    <div class="failure" role="alert">
      <p>
        {!(error instanceof Mistake) && <b>{words}. </b>}
        {visible(detail)}
        {/[.!?]$/.test(detail) ? "" : "."}
      </p>
      {refused?.problem.errors && (
        <ul>
          {refused.problem.errors.map(({ field, message }) => (
            <li key={field + message}>
              <code>{visible(field)}</code> {visible(message)}
            </li>
          ))}
        </ul>
      )}
      {refused?.requestId && refused.status >= 500 && (
        <p class="dim">
          In the log under <code>{refused.requestId}</code>.
        </p>
      )}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

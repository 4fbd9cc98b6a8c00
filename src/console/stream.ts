/** Server-sent events over fetch: EventSource cannot send a token. */
import type { Request } from "../client/client.ts";
import { type Options, Refused, send, sleep } from "./api.ts";

export type State = "live" | "reconnecting";

const LONGEST_PAUSE_MS = 30_000;

/** Calls `got` with the data of each event, and goes on after the last one when the connection ends. Ends with the signal. */
export async function follow(
  requestAfter: (cursor: string) => Request,
  from: string,
  got: (data: string) => void,
  became: (state: State) => void,
  options: Options & { signal: AbortSignal },
): Promise<void> {
  const { signal } = options;
  let cursor = from;
  for (let tries = 0; !signal.aborted; tries++) {
    try {
      const request = requestAfter(cursor);
      const headers = { ...request.headers, accept: "text/event-stream" };
      const answer = await send({ ...request, headers }, options);
      became("live");
      for await (const { id, data } of messages(answer)) {
        tries = 0;
        if (id) cursor = id;
        if (data) got(data);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && [401, 403, 404, 422].includes(error.status)) throw error;
    }
    if (signal.aborted) return;
    became("reconnecting");
    await sleep(Math.min(1_000 * 2 ** tries, LONGEST_PAUSE_MS), signal).catch(() => {});
  }
}

async function* messages({ body }: Response): AsyncGenerator<{ id: string; data: string }> {
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const of = (field: string) =>
        lines
          .filter(line => line.startsWith(`${field}:`))
          .map(line => line.slice(field.length + 1).replace(/^ /, ""))
          .join("\n");
      yield { id: of("id"), data: of("data") };
    }
  }
}

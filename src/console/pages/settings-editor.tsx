import { useState } from "preact/hooks";
import type { SettingsSchema } from "../../client/api.ts";
import { type Answer, call, type Options, Refused } from "../api.ts";
import { isObject, mergePatch, pretty } from "../diff.ts";
import { Diff } from "../parts/diff.tsx";
import { Field } from "../parts/form.tsx";
import { Failure, useAction } from "../parts/load.tsx";
import { say } from "../parts/text.tsx";
import { type Schema, SchemaForm } from "./schema-form.tsx";

type Json = Record<string, unknown>;

export interface Settings {
  value: Json;
  etag: string | null;
}

interface Props {
  now: Settings;
  schema: Schema | null;
  /** Top-level keys that the reader may write; null: all. */
  writable: readonly string[] | null;
  /** Replaces the whole, if it is still that of the tag. */
  save: (patch: Json | undefined, whole: Json, etag: string | null) => Promise<Settings>;
  read: () => Promise<Settings>;
  saved: (settings: Settings) => void;
}

/** Settings as a form where there is a schema, else as JSON. What changes is shown before it is saved. */
export function SettingsEditor({ now, schema, writable, save, read, saved }: Props) {
  const [base, setBase] = useState(now);
  const [text, setText] = useState(pretty(now.value));
  const [reviewing, setReviewing] = useState(false);
  const [theirs, setTheirs] = useState<Settings | null>(null);
  const [raw, setRaw] = useState(schema === null);
  const action = useAction();
  const parsed = parse(text);
  const fault = typeof parsed === "string" ? parsed : undefined;
  const value = typeof parsed === "string" ? null : parsed;
  const before = pretty(base.value);
  const changed = value !== null && pretty(value) !== before;

  const store = () =>
    action.run(async () => {
      try {
        const found = await save(mergePatch(base.value, value!), value!, base.etag);
        setBase(found);
        setText(pretty(found.value));
        setReviewing(false);
        saved(found);
        say("The settings are saved");
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 412) throw error;
        setTheirs(await read());
      }
    });
  const takeTheirs = (mine: Json) => {
    setBase(theirs!);
    setText(pretty(mine));
    setTheirs(null);
  };

  if (theirs)
    return (
      <div class="panel bad">
        <h2>Somebody else changed the settings in the meantime</h2>
        <div class="grid">
          <div class="stack">
            <h3>What they changed</h3>
            <Diff label="What they changed" before={before} after={pretty(theirs.value)} />
          </div>
          <div class="stack">
            <h3>What you would change now</h3>
            <Diff label="What you would change now" before={pretty(theirs.value)} after={pretty(value)} />
          </div>
        </div>
        <div class="buttons">
          <button
            type="button"
            class="primary"
            onClick={() => takeTheirs(onto(theirs.value, base.value, value!))}
          >
            Put my changes on theirs
          </button>
          <button type="button" onClick={() => takeTheirs(value!)}>
            Keep mine as it is
          </button>
          <button
            type="button"
            onClick={() => {
              takeTheirs(theirs.value);
              setReviewing(false);
            }}
          >
            Drop mine
          </button>
        </div>
      </div>
    );

  return (
    <div class="panel">
      {schema && (
        <div class="buttons">
          <button type="button" aria-pressed={raw} onClick={() => setRaw(!raw)}>
            {raw ? "As a form" : "As JSON"}
          </button>
        </div>
      )}
      {reviewing && value ? (
        <>
          <h2>What changes</h2>
          <Diff label="What changes" before={before} after={pretty(value)} />
          {action.error !== undefined && <Failure error={action.error} />}
          <div class="buttons">
            <button type="button" class="primary" disabled={action.busy} onClick={store}>
              {action.busy ? "Working…" : "Save"}
            </button>
            <button type="button" disabled={action.busy} onClick={() => setReviewing(false)}>
              Edit again
            </button>
          </div>
        </>
      ) : (
        <form
          onSubmit={event => {
            event.preventDefault();
            action.clear();
            setReviewing(true);
          }}
        >
          {raw || !schema || !value ? (
            <Field
              label="Settings as JSON"
              hint={
                writable
                  ? `You may change ${writable.length > 0 ? writable.join(", ") : "none of them"}. An operator changes the others.`
                  : "One object. Keys that you remove are removed."
              }
            >
              {ids => (
                <textarea
                  {...ids}
                  class="code"
                  rows={Math.min(24, Math.max(8, text.split("\n").length + 1))}
                  spellcheck={false}
                  value={text}
                  aria-invalid={fault !== undefined}
                  onInput={event => setText((event.target as HTMLTextAreaElement).value)}
                />
              )}
            </Field>
          ) : (
            <SchemaForm
              schema={schema}
              value={value}
              writable={writable}
              onChange={next => setText(pretty(next))}
            />
          )}
          {fault && (
            <p class="note bad" role="alert">
              {fault}
            </p>
          )}
          <div class="buttons">
            <button type="submit" class="primary" disabled={!changed}>
              Review the change
            </button>
            {changed && (
              <button type="button" onClick={() => setText(before)}>
                Undo
              </button>
            )}
            {!changed && !fault && <span class="dim">Nothing is changed yet.</span>}
          </div>
        </form>
      )}
    </div>
  );
}

function parse(text: string): Json | string {
  try {
    const found: unknown = JSON.parse(text);
    return isObject(found) ? found : "Settings are one object: { … }";
  } catch (error) {
    return `This is no JSON: ${(error as Error).message}`;
  }
}

/** The reader's changes, key by key, made to what somebody else saved. */
function onto(theirs: Json, base: Json, mine: Json): Json {
  const found = { ...theirs };
  for (const key of new Set([...Object.keys(base), ...Object.keys(mine)])) {
    if (pretty(base[key]) === pretty(mine[key])) continue;
    if (!Object.hasOwn(mine, key)) delete found[key];
    else if (isObject(mine[key]) && isObject(theirs[key]))
      found[key] = onto(theirs[key], isObject(base[key]) ? base[key] : {}, mine[key]);
    else found[key] = mine[key];
  }
  return found;
}

export type Saved = (answer: Answer<{ settings: Json }>) => Settings;
export const settingsIn: Saved = ({ body, etag }) => ({ value: body.settings, etag });

/** The schema that binds settings, and what a tenant's own people may write of them. */
export const readSchema = (options: Options): Promise<Answer<SettingsSchema>> =>
  call("getSettingsSchema", undefined, options);

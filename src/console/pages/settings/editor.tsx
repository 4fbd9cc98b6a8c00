import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { SettingsSchema } from "../../../client/api.ts";
import { type Answer, call, type Options, Refused } from "../../api.ts";
import { mergePatch, pretty } from "../../diff.ts";
import { dropDraft, keepDraft, takeDraft } from "../../draft.ts";
import { useAction } from "../../parts/action.ts";
import { Diff } from "../../parts/diff.tsx";
import { Failure } from "../../parts/failure.tsx";
import { FieldRefusals } from "../../parts/fields.tsx";
import { Field, useRefusals } from "../../parts/form.tsx";
import { say, visible } from "../../parts/text.tsx";
import { useUnsaved } from "../../parts/unsaved.ts";
import { Conflict } from "./conflict.tsx";
import { type Json, parseSettings } from "./json.ts";
import type { Schema } from "./schema.ts";
import { SchemaForm } from "./schema-form.tsx";

export interface Settings {
  value: Json;
  etag: string | null;
}

interface Props {
  /** The tenant whose settings they are. */
  of: string;
  now: Settings;
  schema: Schema | null;
  /** Top-level keys that the reader may write; null: all. */
  writable: readonly string[] | null;
  /** Replaces the whole, if it is still that of the tag. The page goes by the answer. */
  save: (patch: Json | undefined, whole: Json, etag: string | null) => Promise<Settings>;
  /** What somebody else has saved meanwhile. The page goes by it. */
  read: () => Promise<Settings>;
}

/** Settings as a form where there is a schema, else as JSON. What changes is shown before it is saved. */
export function SettingsEditor({ of, now, schema, writable, save, read }: Props) {
  const [draft] = useState(() => takeDraft(of));
  // What somebody else saved meanwhile is met when it is saved.
  const [base, setBase] = useState<Settings>(
    draft ? { value: JSON.parse(draft.before) as Json, etag: draft.etag } : now,
  );
  const [text, setText] = useState(draft?.text ?? pretty(now.value));
  const [reviewing, setReviewing] = useState(false);
  const [theirs, setTheirs] = useState<Settings | null>(null);
  const [raw, setRaw] = useState(schema === null);
  const action = useAction();
  const { form, whole, refusals } = useRefusals(reviewing ? undefined : action.error);
  const parsed = parseSettings(text);
  const fault = typeof parsed === "string" ? parsed : undefined;
  const value = typeof parsed === "string" ? null : parsed;
  const before = pretty(base.value);
  const changed = value === null ? text !== before : pretty(value) !== before;
  useUnsaved(changed ? "the changed settings" : null);
  // Not after the drawing: a reload right after the last key must find it.
  useLayoutEffect(() => {
    if (changed) keepDraft({ of, text, before, etag: base.etag });
    else dropDraft();
  }, [changed, text, before]);
  useEffect(() => dropDraft, []);
  // Shows what was read again, unless something is typed. An effect after the drawing would overwrite the first key.
  useLayoutEffect(() => {
    if (changed || theirs) return;
    setBase(now);
    setText(pretty(now.value));
  }, [now.etag]);

  const store = () =>
    action.run(async () => {
      try {
        const found = await save(mergePatch(base.value, value!), value!, base.etag);
        setBase(found);
        setText(pretty(found.value));
        setReviewing(false);
        say("The settings are saved");
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 412) {
          // The refusal is shown at its control.
          if (schema && !raw && error instanceof Refused && error.problem.errors) setReviewing(false);
          throw error;
        }
        setTheirs(await read());
      }
    });

  if (theirs)
    return (
      <Conflict
        base={base.value}
        theirs={theirs.value}
        mine={value!}
        take={next => {
          setBase(theirs);
          setText(pretty(next));
          setTheirs(null);
          if (next === theirs.value) setReviewing(false);
        }}
      />
    );

  return (
    <section class="panel" aria-label="Settings">
      <div class="head">
        <h2>{reviewing ? "What changes" : "Settings"}</h2>
        {schema && !reviewing && (
          <button type="button" class="quiet" aria-pressed={raw} onClick={() => setRaw(!raw)}>
            {raw ? "As a form" : "As JSON"}
          </button>
        )}
      </div>
      {reviewing && value ? (
        <>
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
          ref={form}
          onSubmit={event => {
            event.preventDefault();
            action.clear();
            setReviewing(true);
          }}
        >
          {draft && changed && <p class="note warn">You had typed this and not saved it.</p>}
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
            <FieldRefusals.Provider value={refusals}>
              <SchemaForm
                of="settings"
                schema={schema}
                value={value}
                writable={writable}
                onChange={next => setText(pretty(next))}
              />
            </FieldRefusals.Provider>
          )}
          {fault && (
            <p class="note bad" role="alert">
              {visible(fault)}
            </p>
          )}
          {whole && <Failure error={action.error} />}
          <div class="buttons">
            <button type="submit" class="primary" disabled={!changed || fault !== undefined}>
              Review the change
            </button>
            {changed && (
              <button type="button" onClick={() => setText(before)}>
                Undo
              </button>
            )}
            {!changed && <span class="dim">Nothing is changed yet.</span>}
          </div>
        </form>
      )}
    </section>
  );
}

/** The schema that binds settings, and what a tenant's own people may write of them. */
export const readSchema = (options: Options): Promise<Answer<SettingsSchema>> =>
  call("getSettingsSchema", undefined, options);

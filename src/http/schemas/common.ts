import { type Static, type TSchema, Type } from "typebox";
import { EXAMPLE_ID } from "../../values/example.ts";
import { LONGEST_SLUG, SLUG_PATTERN } from "../../values/slug.ts";
import { VISIBLE_PATTERN } from "../../values/visible.ts";

// For validators of other languages too: some match the whole text with a pattern, some do not support \p.
/** A token's `sub` or `iss`: no control characters, so that a log prints it on one line. */
export const PRINTABLE_PATTERN = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";

export const UUID_PATTERN = "^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
export const IDEMPOTENCY_KEY_PATTERN = "^[\\x20-\\x7e]{8,255}$";

export const Slug = Type.String({
  pattern: SLUG_PATTERN,
  minLength: 1,
  maxLength: LONGEST_SLUG,
  examples: ["acme"],
});
const nameLike = (example: string) =>
  Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: VISIBLE_PATTERN,
    description: "Has a character that shows; stored in NFC, and the length counts code points of that form",
    examples: [example],
  });
export const Name = nameLike("Acme Corp");
export const PersonName = nameLike("Ada");
export const JsonObject = Type.Object(
  {},
  { additionalProperties: true, examples: [{ plan: "team", seats: 25 }] },
);
export const Uuid = Type.String({ format: "uuid", examples: [EXAMPLE_ID] });
/** In a request; a Timestamp of a response has the format that every client knows. */
export const Instant = Type.String({
  format: "instant",
  description: "With a time zone: `Z` or an offset",
  examples: ["2099-12-31T23:59:59Z"],
});
export const Timestamp = Type.String({ format: "date-time", examples: ["2026-11-20T12:00:00.000000Z"] });
export const Email = Type.String({
  format: "email-address",
  maxLength: 320,
  description: "Its domain has two labels or more",
  examples: ["ada@acme.com"],
});
export const Reason = Type.String({
  minLength: 1,
  maxLength: 500,
  pattern: VISIBLE_PATTERN,
  format: "faithful-text",
  description: "Why; stands in the event, for operators only",
  examples: ["Contract ended, ticket 4711"],
});
export const Text = (example: string) => Type.String({ examples: [example] });
export const Nullable = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: "null" }] });
export const MemberRole = Type.Enum(["owner", "admin", "member"], { title: "MemberRole" });
/** How a token names a person. */
export const identity = {
  auth_subject: Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: PRINTABLE_PATTERN,
    description: "The `sub` of the new member's token",
  }),
  auth_provider: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: PRINTABLE_PATTERN,
      description: "The `iss` of that token; the caller's own by default",
    }),
  ),
  email: Type.Optional(Email),
  display_name: Type.Optional(PersonName),
};
const FieldError = Type.Object({ field: Type.String(), message: Type.String() }, { title: "FieldError" });

/** A query that an operation has no parameters for is refused. */
export const NoParameters = Type.Object({}, { additionalProperties: false });

/** The body of every error. */
export const ErrorBody = Type.Object(
  {
    error: Type.String(),
    detail: Type.String(),
    request_id: Type.Optional(Type.String()),
    errors: Type.Optional(Type.Array(FieldError)),
    multi_tenant_mode: Type.Optional(Type.Boolean()),
    provided_tenant: Type.Optional(Type.String()),
  },
  { title: "ErrorBody" },
);

/** What `app.cursor_of` and `app.tenant_cursor` make; the second may carry a name of 255 characters. */
export const CURSOR_PATTERN = "^[A-Za-z0-9_-]{1,1500}$";

export const Page = {
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: "Length of a page" }),
  cursor: Type.Optional(
    Type.String({
      pattern: CURSOR_PATTERN,
      description: "From the Link header of the page before",
    }),
  ),
};

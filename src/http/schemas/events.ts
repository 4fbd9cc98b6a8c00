import { type Static, Type } from "typebox";
import {
  CURSOR_PATTERN,
  MemberRole,
  Nullable,
  Page,
  Slug,
  Text,
  Timestamp,
  UUID_PATTERN,
  Uuid,
} from "./common.ts";

/** As the constraint tenant_events_known has them. */
const EVENT_TYPES = [
  "tenant.created",
  "tenant.registered",
  "tenant.imported",
  "tenant.replaced",
  "tenant.approved",
  "tenant.rejected",
  "tenant.suspended",
  "tenant.resumed",
  "tenant.updated",
  "tenant.deletion_scheduled",
  "tenant.restored",
  "tenant.deleted",
  "member.added",
  "member.joined",
  "member.role_changed",
  "member.removed",
  "member.left",
  "invitation.created",
  "invitation.accepted",
  "invitation.revoked",
  "key.created",
  "key.revoked",
] as const;

const EventType = Type.Enum([...EVENT_TYPES], { title: "EventType" });

const Parameters = {
  limit: Page.limit,
  after: Type.Optional(
    Type.String({
      pattern: CURSOR_PATTERN,
      description: "The `cursor` of an event or a page: what comes after it",
    }),
  ),
  order: Type.Optional(
    Type.Enum(["at", "-at"], { description: "`-at`: the newest first; a stream begins with the next event" }),
  ),
  type: Type.Optional(EventType),
};

export const ListTenantEvents = Type.Object(Parameters, { additionalProperties: false });
export type ListTenantEvents = Static<typeof ListTenantEvents>;

export const ListEvents = Type.Object(
  {
    ...Parameters,
    tenant_id: Type.Optional(Type.String({ pattern: UUID_PATTERN, description: "One tenant" })),
  },
  { additionalProperties: false },
);
export type ListEvents = Static<typeof ListEvents>;

export const Event = Type.Object(
  {
    cursor: Text("MSA4MTIgMQ"),
    type: EventType,
    at: Timestamp,
    tenant_id: Uuid,
    tenant_slug: Slug,
    tenant_name: Text("Acme Corp"),
    actor: Nullable(Type.Object({ auth_provider: Text("jwt"), auth_subject: Text("alice") })),
    target_id: Nullable(Uuid),
    changed: Nullable(Type.Array(Text("name"))),
    role: Nullable(MemberRole),
    role_before: Nullable(MemberRole),
    reason: Nullable(Type.String()),
    request_id: Nullable(Type.String()),
  },
  { title: "Event" },
);
export type Event = Static<typeof Event>;

export const EventPage = Type.Object(
  {
    events: Type.Array(Event),
    cursor: Type.String({ description: "As `after` it gives the events that are new then" }),
  },
  { title: "EventPage" },
);
export type EventPage = Static<typeof EventPage>;

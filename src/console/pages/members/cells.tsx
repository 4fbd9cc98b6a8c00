import type { Member } from "../../../client/api.ts";
import { Copy, Name, visible } from "../../parts/text.tsx";
import { nameOf } from "./of.ts";

export const Who = ({ member, self }: { member: Member; self: boolean }) => (
  <span>
    <b>
      <Name>{nameOf(member)}</Name>
    </b>
    {self && <span class="dim"> (you)</span>}
    {member.email && member.display_name && (
      <span class="dim line">
        <Name>{member.email}</Name>
      </span>
    )}
  </span>
);

/** The provider is shown unless it is that of tokens without an issuer. */
export const Identity = ({ member: { auth_subject, auth_provider } }: { member: Member }) => (
  <>
    <Copy label="subject">{auth_subject}</Copy>
    {auth_provider !== "jwt" && (
      <code class="dim" title={`Provider: ${visible(auth_provider)}`}>
        {visible(auth_provider)}
      </code>
    )}
  </>
);

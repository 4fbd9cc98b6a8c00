import type { MemberRole } from "../../../client/api.ts";

/** What each role of a person may do, in words. */
const MAY: Record<MemberRole, string> = {
  member: "works with what the organization has, and sees who belongs",
  admin: "also manages members, invitations, API keys and any settings that are left to the organization",
  owner: "is an admin who also makes and removes owners",
};

/** A role, beside what each may do. */
export function RoleChoice({
  roles,
  may = MAY,
  first,
  current,
  onChange,
}: {
  roles: readonly MemberRole[];
  may?: Partial<Record<MemberRole, string>>;
  /** The one that is chosen at first. */
  first: MemberRole;
  /** The one that the person has. */
  current?: MemberRole;
  onChange?: (role: MemberRole) => void;
}) {
  return (
    <fieldset class="choices">
      <legend>Role</legend>
      {roles.map(one => (
        <label key={one} class="choice">
          <input
            type="radio"
            name="role"
            value={one}
            defaultChecked={one === first}
            onChange={() => onChange?.(one)}
          />
          <span>
            <b>{one}</b> {may[one]}
            {one === current && <span class="dim"> (now)</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

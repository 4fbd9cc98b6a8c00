import type { MemberRole } from "../../../client/api.ts";

/** A role, beside what each may do. */
export function RoleChoice({
  roles,
  may,
  first,
  current,
  onChange,
}: {
  roles: readonly MemberRole[];
  may: Partial<Record<MemberRole, string>>;
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

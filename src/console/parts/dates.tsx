import { Time } from "./text.tsx";

export const Dates = ({ tenant }: { tenant: { created_at: string; updated_at: string } }) => (
  <>
    <dt>Created</dt>
    <dd>
      <Time at={tenant.created_at} />
    </dd>
    <dt>Last changed</dt>
    <dd>
      <Time at={tenant.updated_at} />
    </dd>
  </>
);

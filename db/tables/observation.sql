-- The types that checks of the audit return.
create type audit.observation as (severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text);
create type audit.outcome as (
  "check" text, relation text, checked bigint, errors bigint, warnings bigint, infos bigint, kept audit.observation[]
);
comment on type audit.observation is
$$One object that a check looked at. detail is null where the object is in order, so that the same rows count what was examined
and what was found.$$;
comment on type audit.outcome is
  'One check on one relation: rows examined, findings by severity, and the thousand worst findings.';

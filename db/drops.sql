-- Objects of an earlier release that this one no longer has, by name: functions of a product may be in the same schemas. A line may
-- be removed once every database has its release.

-- Of builds before 0.1.0: no mode.
drop function if exists api.ensure_default_tenant(text, text);

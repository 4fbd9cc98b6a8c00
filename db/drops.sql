-- What an earlier release installed and this one no longer has: drop … if exists, one line each. Never what this list does not name:
-- functions of a product may be in the same schemas. A line goes when every database has had its release.
drop function if exists api.get_schema_version(), api.get_readiness(text), app.is_behind(text);
drop function if exists api.get_setup_status(text, text, text, text, text, text, text, text[]);
drop function if exists audit.accept(text);

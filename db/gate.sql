-- Run after migrations, by .gmrc: fails when a schema check of the audit finds an error.
select audit.require_isolation();

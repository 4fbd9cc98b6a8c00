create or replace view audit.server_settings as
select w.severity, null as relation, s.name as object, format('%s is %s: %s', s.name, s.reset_val, w.why) as detail,
  case s.source when 'client' then '-- this connection asks for it: leave it out of the address''s options, and of PGOPTIONS'
    else format('alter system set %s = %s; -- or the provider''s parameters; then: select pg_reload_conf()', s.name, w.good) end as remedy
from (values
  ('session_replication_role', 'origin', 'error', 'foreign keys and triggers are not run'),
  ('row_security', 'on', 'warning', 'who is under a policy gets errors instead of rows'),
  ('lo_compat_privileges', 'off', 'error', 'everybody reads every large object'),
  ('log_parameter_max_length_on_error', '0', 'info', 'values of tenants'' rows go into the server''s log')
) w (name, good, severity, why)
join pg_settings s on s.name = w.name
where s.reset_val <> w.good
union all
select 'info', null, 'log_parameter_max_length',
  format('statements are logged with their values, of tenants'' rows too: %s', string_agg(l.name || ' is ' || l.reset_val, ', ')),
  'alter system set log_parameter_max_length = 0; -- or in the provider''s parameter group; then select pg_reload_conf()'
from pg_settings s
join pg_settings l on l.name = 'log_statement' and l.reset_val in ('mod', 'all') or l.name ~ '^log_min_duration_' and l.reset_val <> '-1'
  or l.name = 'log_transaction_sample_rate' and l.reset_val <> '0' or l.name in ('auto_explain.log_min_duration', 'pgaudit.log_parameter')
    and l.reset_val not in ('-1', 'off')
where s.name = 'log_parameter_max_length' and s.reset_val <> '0'
having count(*) > 0
union all
select 'error', null, m.name[1], format('sessions begin with %s = %s: one that says nothing of its tenant works in that', m.name[1],
    current_setting(m.name[1], true)),
  format('-- in postgresql.conf, the provider''s parameter group, or this connection''s options: alter system reset %s', m.name[1])
from audit.profile p
cross join lateral (select distinct x from regexp_matches(p.principals, 'set\s+(?:local\s+)?([a-z_]+\.[a-z_]+)', 'gi') x) m (name)
where current_setting(m.name[1], true) <> '';
comment on view audit.server_settings is
$$error: Settings of the server that switch keys and triggers or the protection of large objects off, or put every session into a tenant.
warning: row_security is off. info: Statements are logged with tenants' values.
Why: They hold in every database and for every role.
Fix: Reset them.$$;

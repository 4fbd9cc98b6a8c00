-- For tms_registrar; runs as tms_auditor, who may read the results.
set local role tms_auditor;
create or replace function control.audit_page(p_limit int, p_cursor text, out body json, out next_cursor text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_skip constant int := coalesce(substring(p_cursor from '^[1-9][0-9]{0,7}$')::int, 0);
begin
  if p_cursor is not null and v_skip = 0 then
    perform app.refuse(422, 'Validation failed', 'The cursor was not made by this service', 'bad_cursor',
      '{"errors": [{"field": "cursor", "message": "was not made by this service"}]}');
  end if;
  select json_build_object(
      'run', (select json_build_object('run_id', run_id, 'started_at', app.iso_time(started_at), 'finished_at', app.iso_time(finished_at),
                'result', result, 'tenant', tenant, 'family', family, 'checks', checks, 'rows_checked', rows_checked,
                'errors', errors, 'warnings', warnings, 'infos', infos, 'not_run', not_run)
              from audit.last_run),
      'findings', coalesce(json_agg(json_build_object('check', f."check", 'category', f.category, 'severity', f.severity,
          'tenant_id', f.tenant_id, 'relation', f.relation, 'row', f."row", 'detail', f.detail, 'remedy', f.remedy, 'run_id', f.run_id)
          order by f.k) filter (where f.k <= p_limit), '[]'),
      'trend', coalesce((select json_agg(json_build_object('run_id', run_id, 'started_at', app.iso_time(started_at),
                  'finished_at', app.iso_time(finished_at), 'result', result, 'errors', errors, 'warnings', warnings) order by run_id desc)
                from (select * from audit.trend order by run_id desc limit 20) t), '[]')),
    case when count(*) > p_limit then v_skip + p_limit end
  into body, next_cursor
  from (select *, row_number() over () as k from (select * from audit.findings offset v_skip limit p_limit + 1) o) f;
end
$$;
comment on function control.audit_page(int, text) is
$$The last finished run of the audit, a page of the open findings, and the last twenty runs: {run, findings, trend}. Raises TM422.$$;
revoke all on function control.audit_page(int, text) from public;
grant execute on function control.audit_page(int, text) to tms_registrar;
reset role;

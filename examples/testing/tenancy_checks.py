"""Assertions for a pytest suite with psycopg 2 or 3. Each one fails if it could check nothing."""
import os, re, shlex, subprocess

TENANCY = shlex.split(os.environ.get("TENANCY", "npx tenancy"))
LEFT = """
select case when current_user <> session_user then 'is still ' || current_user end,
  (select 'has ' || string_agg(name || ' = ' || current_setting(name, true), ', ')
   from unnest('{app.tenant_id,app.proof,app.actor,app.maintenance}'::text[]) name where current_setting(name, true) <> ''),
  (select 'has the temporary ' || string_agg(relname, ', ') from pg_class
   where relnamespace = pg_my_temp_schema() and relkind in ('r', 'v', 'm', 'S', 'p')),
  (select 'holds ' || count(*) || ' advisory locks' from pg_locks
   where locktype = 'advisory' and pid = pg_backend_pid() having count(*) > 0)"""


def assert_isolated(url, relation=None, *options):
    """Runs the audit's proof on one relation, or on all that have tenants' rows. Options are those of the command, such as --seed."""
    one = ["--prove", relation] if relation else []
    command = [*TENANCY, "audit", "--database", url, "--format", "tap", "--writes", *one, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    claims = re.findall(r"^(?:not )?ok .*(?:\n  ---\n  message: .*)?", done.stdout, re.M)
    assert claims, f"Nothing was proved: {done.stderr or 'the database has no relation of tenants'}"
    bad = [claim for claim in claims if claim.startswith("not ok") or "# SKIP" in claim]
    assert not bad, "\n".join(bad)


def assert_pool_clean(connections):
    """Pass every idle connection of the pool, also after requests that failed: the next request would find what is left there."""
    assert connections, "The pool has no connection, so nothing was checked: serve a request of your backend first"
    for connection in connections:
        assert connection.info.transaction_status == 0, "A connection is in a transaction"
        with connection.cursor() as cursor:
            cursor.execute(LEFT)
            left = [what for what in cursor.fetchone() if what]
        connection.rollback()
        assert not left, f"A connection {'; '.join(left)}"

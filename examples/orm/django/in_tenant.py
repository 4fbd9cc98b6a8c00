"""Django: atomic() in the caller's tenant, with a proof if there is a secret (docs/guides/context.md)."""
import hashlib, hmac, os, time
from contextlib import contextmanager
from django.db import connection, transaction


def proof(kind, *values):
    head = f"{kind}.{int(time.time()) + 30}"
    signed = ",".join([head, *("-" if v is None else f"{len(v.encode())}:{v}" for v in values)])
    key = hashlib.sha256(os.environ["SERVICE_TENANT_CONTEXT_SECRET"].encode()).digest()
    return f"{head}.{hmac.new(key, signed.encode(), 'sha256').hexdigest()}"


@contextmanager
def in_tenant(slug, subject, provider="jwt"):
    if not slug:
        raise RuntimeError("no tenant is named")
    # durable: refused inside another atomic(), so not nested, and ATOMIC_REQUESTS stays off
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("set local role tms_app")
        if os.environ.get("SERVICE_TENANT_CONTEXT_SECRET"):
            caller = proof("caller", slug, provider, subject, None, None)
            cursor.execute("select set_config('app.proof', %s, true)", [caller])
        enter = "select from app.enter_tenant(slug => %s, provider => %s, subject => %s)"
        cursor.execute(enter, [slug, provider, subject])
        yield  # models and cursors of this thread; a slow call belongs between two of these, not inside one

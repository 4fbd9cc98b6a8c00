"""SQLAlchemy: a transaction in the caller's tenant, with a proof if there is a secret (docs/guides/context.md)."""
import hashlib, hmac, os, time
from contextlib import contextmanager
from contextvars import ContextVar
from sqlalchemy import create_engine, text

_open = ContextVar("_open", default=False)


def connect(url):
    return create_engine(url, pool_size=4)


def proof(kind, *values):
    head = f"{kind}.{int(time.time()) + 30}"
    signed = ",".join([head, *("-" if v is None else f"{len(v.encode())}:{v}" for v in values)])
    key = hashlib.sha256(os.environ["SERVICE_TENANT_CONTEXT_SECRET"].encode()).digest()
    return f"{head}.{hmac.new(key, signed.encode(), 'sha256').hexdigest()}"


@contextmanager
def in_tenant(engine, slug, subject, provider="jwt"):
    if not slug or _open.get():
        raise RuntimeError("no tenant is named" if not slug else "a tenant's transaction is open already")
    token = _open.set(True)
    try:
        with engine.begin() as tx:  # commits, or rolls back at an exception
            tx.execute(text("set local role tms_app"))
            if os.environ.get("SERVICE_TENANT_CONTEXT_SECRET"):
                caller = proof("caller", slug, provider, subject, None, None)
                tx.execute(text("select set_config('app.proof', :p, true)"), {"p": caller})
            enter = "select from app.enter_tenant(slug => :s, provider => :p, subject => :u)"
            tx.execute(text(enter), {"s": slug, "p": provider, "u": subject})
            yield tx  # a slow call belongs between two of these, not inside one
    finally:
        _open.reset(token)

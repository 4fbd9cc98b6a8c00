-- Who answers for what a check cannot judge. From outside the client fills this, from the repository's file and from the manifest that it
-- compared. Where the table is stored, the gate asks it, and a client does not: what is stored cannot vouch for itself.
create table audit.vouched (
  kind text not null check (kind in ('function', 'unique key')),
  object text not null,
  hash text,
  reason text not null,
  primary key (kind, object)
);
comment on table audit.vouched is
$$What was reviewed: a function, or a unique key over all tenants, whose audit.hash_of() is hash; object is its name for people, the hash
decides. Without a hash: a function of the release, by its name.$$;

#!/bin/sh
# Starts a Citus cluster for tests: a coordinator and two workers on 127.0.0.1, from an installed Postgres with Citus. Prints what to
# export for `npm run test:citus`. As root the servers run as the user postgres.
#   deploy/citus/cluster.sh start ~/citus     (ports 5500 to 5502; PORT=6500 chooses others)
#   deploy/citus/cluster.sh stop ~/citus      (also removes the folder)
# PG_CONFIG names the pg_config of the Postgres that has Citus.
set -eu

usage() {
  echo "usage: $0 start|stop FOLDER" >&2
  exit 2
}
[ $# = 2 ] || usage
folder=$2
[ "${folder#/}" != "$folder" ] || folder=$PWD/$folder
port=${PORT:-5500}
nodes='coordinator worker-1 worker-2'
pg_config=${PG_CONFIG:-pg_config}
bin=$("$pg_config" --bindir)

if [ "$(id -u)" = 0 ]; then
  as() { runuser -u postgres -- "$@"; }
else
  as() { "$@"; }
fi

start() {
  if [ ! -e "$("$pg_config" --pkglibdir)/citus.so" ]; then
    echo "$pg_config has no Citus: install it for this Postgres, or name another with PG_CONFIG" >&2
    exit 1
  fi
  if [ -e "$folder" ]; then
    echo "$folder exists: stop that cluster first, or name another folder" >&2
    exit 1
  fi
  mkdir -p "$folder"
  chmod 700 "$folder"
  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  (umask 077 && echo "$password" >"$folder/password" && echo "*:*:*:*:$password" >"$folder/pgpass")
  [ "$(id -u)" != 0 ] || chown -R postgres: "$folder"
  cd "$folder"
  # The nodes connect to each other with this file. All roles of the cluster have this password.
  export PGPASSFILE="$folder/pgpass"
  urls=
  for node in $nodes; do
    as "$bin/initdb" --username=postgres --auth=scram-sha-256 --pwfile="$folder/password" --encoding=UTF8 --locale=C --no-sync \
      -D "$folder/$node" >/dev/null
    # Moving a shard copies it by logical replication. The last setting exists since the minor releases of August 2026; others refuse it.
    as tee -a "$folder/$node/postgresql.conf" >/dev/null <<EOF
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_preload_libraries = 'citus'
wal_level = logical
max_connections = 200
fsync = off
citus.shard_count = 8
EOF
    if as "$bin/postgres" -D "$folder/$node" -C output_plugin_libraries >/dev/null 2>&1; then
      echo "output_plugin_libraries = 'pgoutput, test_decoding, citus'" | as tee -a "$folder/$node/postgresql.conf" >/dev/null
    fi
    as "$bin/pg_ctl" start --wait -D "$folder/$node" -l "$folder/$node.log" >/dev/null
    urls="$urls${urls:+ }postgres://postgres:$password@127.0.0.1:$port/postgres"
    port=$((port + 1))
  done
  echo "export TEST_CITUS_URLS='$urls'"
}

stop() {
  [ -e "$folder/pgpass" ] || usage
  cd /
  for node in $nodes; do
    as "$bin/pg_ctl" stop --mode=immediate -D "$folder/$node" >/dev/null || true
  done
  rm -r "$folder"
}

case $1 in
  start) start ;;
  stop) stop ;;
  *) usage ;;
esac

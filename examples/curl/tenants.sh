#!/bin/sh
# The life of a tenant, with curl. Paste the variables that `npm run demo` prints, then:
#   export URL OPERATOR ALICE CAROL; sh examples/curl/tenants.sh
set -eu
: "${URL:=http://127.0.0.1:3000}" "${OPERATOR:?an operator token}" "${ALICE:?a member token}" "${CAROL:?a token of somebody new}"
json='Content-Type: application/json'

echo '# Create a tenant; a repeat with the same key answers the first result again'
curl -fsSw '\n' "$URL/api/setup/tenant" -H "Authorization: Bearer $OPERATOR" -H "$json" -H 'Idempotency-Key: example-umbrella' \
  -d '{"name": "Umbrella", "slug": "umbrella", "settings": {"plan": "team"}, "include_sample_data": true}'
curl -fsSw '\n' "$URL/api/setup/tenant" -H "Authorization: Bearer $OPERATOR" -H "$json" -H 'Idempotency-Key: example-umbrella' \
  -d '{"name": "Umbrella", "slug": "umbrella", "settings": {"plan": "team"}, "include_sample_data": true}'

echo '# Find it, read it with its ETag, change only that version of it'
id=$(curl -fsS "$URL/api/setup/tenants?search=umbrella" -H "Authorization: Bearer $OPERATOR" |
  sed 's/.*"tenant_id" *: *"\([0-9a-f-]*\)".*/\1/')
etag=$(curl -fsS -D - -o /dev/null "$URL/api/setup/tenant/$id" -H "Authorization: Bearer $OPERATOR" |
  tr -d '\r' | sed -n 's/^etag: //p')
curl -fsSw '\n' -X PUT "$URL/api/setup/tenant/$id" -H "Authorization: Bearer $OPERATOR" -H "$json" -H "If-Match: $etag" \
  -d '{"name": "Umbrella Corporation"}'

echo '# The same ETag again: somebody has changed the tenant since, so 412'
curl -sSw '\n' -X PUT "$URL/api/setup/tenant/$id" -H "Authorization: Bearer $OPERATOR" -H "$json" -H "If-Match: $etag" \
  -d '{"name": "Umbrella Inc."}'

echo '# Suspend, resume, delete'
curl -fsSw '\n' -X POST "$URL/api/setup/tenant/$id/suspend" -H "Authorization: Bearer $OPERATOR"
curl -fsSw '\n' -X POST "$URL/api/setup/tenant/$id/resume" -H "Authorization: Bearer $OPERATOR"
curl -fsSw '\n' -X DELETE "$URL/api/setup/tenant/$id" -H "Authorization: Bearer $OPERATOR"

echo '# Somebody new asks whether registration is open, and registers'
curl -fsSw '\n' "$URL/api/tenants/registration/status" -H "Authorization: Bearer $CAROL"
curl -sSw '\n' "$URL/api/tenants/register" -H "Authorization: Bearer $CAROL" -H "$json" \
  -d '{"organization_name": "Hooli", "organization_slug": "hooli", "admin_email": "carol@hooli.example"}'

echo '# A member reads the own tenant, adds a colleague, and is refused elsewhere: 403'
curl -fsSw '\n' "$URL/api/tenants/current" -H "Authorization: Bearer $ALICE" -H 'X-Tenant: acme'
curl -sSw '\n' "$URL/api/tenants/members" -H "Authorization: Bearer $ALICE" -H 'X-Tenant: acme' -H "$json" \
  -d '{"auth_subject": "dora", "email": "dora@acme.example", "role": "member"}'
curl -fsSw '\n' "$URL/api/boards?limit=5" -H "Authorization: Bearer $ALICE" -H 'X-Tenant: acme'
curl -fsSw '\n' "$URL/graphql" -H "Authorization: Bearer $ALICE" -H 'X-Tenant: acme' -H "$json" \
  -d '{"query": "{ tenant { name } boards(limit: 5) { title } }"}'
curl -sSw '\n' "$URL/api/boards" -H "Authorization: Bearer $ALICE" -H 'X-Tenant: globex'

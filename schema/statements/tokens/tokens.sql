select name, encode(hash, 'hex') as hash, to_json(roles)::text as roles, to_json(scopes)::text as scopes,
  to_json(quotas)::text as quotas, created_at, created_by, revoked_at
from cairn.token
order by created_at, name

-- True if the login owns Cairn's schema or anything in it, is a member of one of its roles, or may look into it.
select exists (select from pg_roles
               where rolname in ('cairn_app', 'cairn_read', 'cairn_archive')
                 and pg_has_role(session_user, oid, 'member'))
       or exists (select from pg_namespace
                  where nspname = 'cairn'
                    and (pg_has_role(session_user, nspowner, 'member')
                         or has_schema_privilege(session_user, oid, 'usage')
                         or has_schema_privilege(session_user, oid, 'create')))
       or exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where n.nspname = 'cairn' and pg_has_role(session_user, c.relowner, 'member'))

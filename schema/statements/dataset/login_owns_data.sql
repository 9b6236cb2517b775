-- True if the login, or a role that it may become, owns this database or a schema, a table or anything else in it.
select exists (select from pg_roles r join pg_shdepend d on d.refclassid = 'pg_authid'::regclass and d.refobjid = r.oid
                 join pg_database b on b.datname = current_database()
               where d.deptype = 'o' and pg_has_role(session_user, r.oid, 'member')
                 and (d.dbid = b.oid and d.classid <> 'pg_default_acl'::regclass
                      or d.classid = 'pg_database'::regclass and d.objid = b.oid))

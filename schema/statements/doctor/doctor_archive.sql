-- The role that may remove a history, whether this login may take it on, who may that must not, how many runs are
-- archived and how many erased, and the large values of both that are still there.
select to_regrole('cairn_archive') is not null,
  to_regrole('cairn_archive') is not null and pg_has_role(current_user, to_regrole('cairn_archive')::oid, 'member'),
  coalesce((select string_agg(w.role, ', ' order by w.role)
            from (values ('cairn_app'), ('cairn_read')) as w (role)
            where to_regrole(w.role) is not null and to_regrole('cairn_archive') is not null
              and pg_has_role(w.role, to_regrole('cairn_archive')::oid, 'member')), ''),
  (select count(*) from cairn.tombstone where erased_by = ''),
  (select count(*) from cairn.tombstone where erased_by <> ''),
  (select count(*) from cairn.erasing)

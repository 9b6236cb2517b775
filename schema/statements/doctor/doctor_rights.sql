-- Rights on events that a role has and must not have.
select w.role, to_regrole(w.role) is not null,
  coalesce((select string_agg(p.privilege, ', ' order by p.privilege)
            from (values ('delete'), ('truncate'), ('update')) as p (privilege)
            where to_regrole(w.role) is not null
              and has_table_privilege(w.role, 'cairn.event', p.privilege)), '')
from (values ('cairn_app'), ('cairn_read')) as w (role)
order by w.role

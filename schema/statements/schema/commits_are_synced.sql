-- Commits reach the disk before they are acknowledged, whatever a role's or a database's settings say; a stronger
-- setting stays, and so do those that are weaker for replicas alone.
select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'

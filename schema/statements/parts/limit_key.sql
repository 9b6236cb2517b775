-- The key of a job of the run k.run_id in the queue k.queue, as the queue's limits name it: a tag, or a place in the
-- run's input; the empty text where the run has none there; null for a queue without keys. A key too long for the index
-- is known by its digest. (jsonb takes no NUL.)
    select case when octet_length(v.value) <= 200 then v.value else 'md5:' || md5(v.value) end
    from (select coalesce(
            case when l.key ->> 'tag' is not null then
              (select r.tags ->> (l.key ->> 'tag') from cairn.run r where r.shard = $1::int and r.run_id = k.run_id)
            else
              (select case when position('\u0000' in e.payload) = 0
                           then e.payload::jsonb -> 'input' #>> (l.key ->> 'path')::text[] end
               from cairn.event e where e.shard = $1::int and e.run_id = k.run_id and e.seq = 1)
            end, '') as value
          from (select q.limits::jsonb -> 'key' as key from cairn.queue q
                where q.name = k.queue and q.limits like '%"key":%'
                for key share) l) v

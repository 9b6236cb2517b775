delete from cairn.start_key k
using unnest($1::text[], $2::text[]) as gone (graph, key)
where k.graph = gone.graph and k.key = gone.key

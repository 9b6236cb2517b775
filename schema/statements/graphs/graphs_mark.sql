-- Another number when a graph was added or a name moved to another version. Reads no text.
select coalesce(bit_xor(hashtextextended(name || ' ' || version || ' ' || current::text, 0)), 0)
from cairn.graph

select status, waiting, count(*)
from cairn.run
group by status, waiting

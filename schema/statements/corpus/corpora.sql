select corpus, count(distinct source), count(*), sum(length(text))
from cairn.passage group by corpus order by corpus

select session, count(*) from cairn.job where session is not null group by session

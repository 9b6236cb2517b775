-- A restored past begins again without its sessions; forget_holds comes before.
with forgotten as (
  delete from cairn.worker returning session
)
select count(*) as sessions from forgotten

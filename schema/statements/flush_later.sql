-- In a claim of free queues: if the server crashes before it is on disk, the job is simply claimed again, and what is
-- done under the lost claim is fenced off. Commits of events never say this.
set local synchronous_commit = off

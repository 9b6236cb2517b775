#include "storage/postgres/claims/claim_transaction.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

void send_heads_query(PgConnection& connection, const ClaimRequest& request, const std::vector<HeldJob>& jobs) {
  PgArray runs(PgType::uuid);
  std::set<RunId> added;
  for (const HeldJob& held : jobs)
    if (added.insert(held.run).second) runs.add(held.run);
  PgParameters parameters;
  parameters.add(request.shard).add(std::move(runs)).add(request.short_history_max);
  connection.send(statement("claimed"), parameters);
}

void receive_heads(PgConnection& connection, ClaimedBatch& batch) {
  ClaimedHeads read = read_claimed_heads(connection.receive());
  batch.histories = std::move(read.histories);
  for (HeldJob& held : batch.jobs)
    if (const auto head = read.heads.find(held.run); head != read.heads.end()) held.run_head = head->second;
}

// Another claim of the same session may have got the job since, with the next epoch as well, if this one was rolled
// back; it began at another moment, and so did the time that the step has. Steps whose time is not limited show no
// difference: those are taken for another's, and a session gives up what it holds and does not know of.
bool is_claimed_as(const FoundJob& found, const HeldJob& held) {
  return found.session == held.session && found.epoch == held.epoch && found.deadline_us == held.deadline_us &&
         held.deadline_us != never_us;
}

// After a COMMIT whose answer was lost: the jobs that are held as we claimed them. Read under lock, because the server
// may still be carrying out that COMMIT.
ClaimedBatch still_ours(PgConnection& connection, const ClaimRequest& request, const std::vector<HeldJob>& claimed) {
  PgArray runs(PgType::uuid), branches(PgType::int4);
  for (const HeldJob& held : claimed) {
    runs.add(held.run);
    branches.add(held.job.branch);
  }
  connection.begin_pipeline();
  connection.send(statement("lock_jobs"),
                  PgParameters().add(request.shard).add(std::move(runs)).add(std::move(branches)));
  send_heads_query(connection, request, claimed);
  connection.sync();
  ClaimedBatch ours;
  for (const auto& [place, job] : read_found_jobs(connection.receive(), claimed.size())) {
    if (is_claimed_as(job, claimed[place])) ours.jobs.push_back(claimed[place]);
  }
  receive_heads(connection, ours);
  connection.finish();
  return ours;
}

}  // namespace

// The claimed runs' heads and COMMIT are one round trip more. The jobs are known before COMMIT is sent: if its answer
// is lost, the next attempt finds out whether they are ours. A claim that took nothing has written at most what the
// next one writes again: permits that are retired, whose turn it is.
ClaimAttempt claim_in_transaction(Placements& placements, const ClaimRequest& request,
                                  const std::function<ClaimAttempt(PgConnection&)>& claim) {
  std::vector<HeldJob> in_doubt;
  return placements.run(request.shard, [&](PgConnection& connection) -> ClaimAttempt {
    if (!in_doubt.empty()) {
      ClaimedBatch ours = still_ours(connection, request, in_doubt);
      if (!ours.jobs.empty()) return ours;
      in_doubt.clear();
    }
    connection.begin_pipeline();
    connection.send(begin_statement());
    ClaimAttempt batch = claim(connection);
    if (!batch) return std::nullopt;
    check_claimed(request, batch->jobs);
    // The heads are read after the claim, by a newer snapshot: a head is never older than the job it comes with, so a
    // stale cached state is always recognized.
    batch->jobs.empty() ? connection.send(statement("wait_for_no_disk"))
                        : send_heads_query(connection, request, batch->jobs);
    connection.send(commit_statement());
    in_doubt = batch->jobs;
    connection.sync();
    if (!batch->jobs.empty()) receive_heads(connection, *batch);
    connection.finish();
    return batch;
  });
}

ClaimedBatch claim_by(Placements& placements, const ClaimRequest& request, const ClaimStatement& claim,
                      ReadClaimed read) {
  return *claim_in_transaction(placements, request, [&](PgConnection& connection) {
    connection.send(statement(claim.name), claim.parameters);
    connection.sync();
    connection.receive();  // of BEGIN
    return ClaimedBatch{read(connection.receive()), {}};
  });
}

void begin_lock(PgConnection& connection) {
  connection.execute("BEGIN");
  connection.query(statement("wait_for_no_disk"));
}

void append(ClaimedBatch& to, ClaimedBatch&& more) {
  std::move(more.jobs.begin(), more.jobs.end(), std::back_inserter(to.jobs));
  std::move(more.histories.begin(), more.histories.end(), std::back_inserter(to.histories));
  std::move(more.no_one_waits.begin(), more.no_one_waits.end(), std::back_inserter(to.no_one_waits));
}

}  // namespace cairn

#include "storage/postgres/claims/unlimited_claims.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/commit_rows.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

bool contains(const std::vector<RunId>& runs, const RunId& run) {
  return std::find(runs.begin(), runs.end(), run) != runs.end();
}

// Receives the first answer of a claim of unlimited queues. False: one of them is limited after all, and nothing was
// claimed.
bool are_unlimited(PgConnection& connection) {
  try {
    connection.receive();
    return true;
  } catch (const PostgresError& refused) {
    if (refused.sqlstate() != not_as_expected) throw;
  }
  connection.finish_or_fault();
  connection.execute("ROLLBACK");
  return false;
}

// For each queue its known priorities, each with the place where its scan starts, and the gaps between them, where the
// statement finds unknown ones. A scan from the beginning is given the known priorities too: otherwise it would walk
// their first entries twice, once to find the priority and once to find jobs.
PgParameters scan_parameters(const ClaimRequest& request, const std::vector<std::string>& order,
                             const ScanMarks::Starts& starts, ScanFrom from) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int32_t>::min() - std::int64_t{1};
  constexpr std::int64_t highest = std::numeric_limits<std::int32_t>::max() + std::int64_t{1};
  PgArray queue(PgType::text), priority(PgType::int4), run_at(PgType::int8), run(PgType::uuid);
  PgArray gap_queue(PgType::text), above(PgType::int8), below(PgType::int8);
  for (const std::string& name : order) {
    std::int64_t last = lowest;
    const auto add_gap = [&](std::int64_t up_to) {
      gap_queue.add(name);
      above.add(last);
      below.add(up_to);
    };
    if (const auto levels = starts.find(name); levels != starts.end()) {
      for (const auto& [level, start] : levels->second) {
        queue.add(name);
        priority.add(level);
        run_at.add(start.first);
        run.add(start.second);
        add_gap(level);
        last = level;
      }
    }
    add_gap(highest);
  }
  PgParameters scope;
  scope.add(request.shard).add(request.limit);
  PgParameters parameters = claim_parameters(std::move(scope), request);
  parameters.add(std::move(queue)).add(std::move(priority)).add(std::move(run_at)).add(std::move(run));
  parameters.add(std::move(gap_queue)).add(std::move(above)).add(std::move(below));
  parameters.add(from == ScanFrom::everywhere ? std::numeric_limits<std::int32_t>::max() : std::int32_t{1});
  parameters.add(id_array(request.not_of));
  return parameters;
}

}  // namespace

ClaimAttempt UnlimitedClaims::claim(const ClaimRequest& request) {
  if (request.limit <= 0 || request.queues.empty()) return ClaimedBatch{};
  if (!request.only_runs.empty()) return claim_of_runs(request);
  // Read by every claim, used or not: one that scans everywhere finds the jobs of the earlier notifications as well.
  const std::optional<NotifiedJob> job = parts_.notified.only_one(request.shard);
  if (job && request.notified_only && !contains(request.not_of, job->run)) {
    ClaimAttempt claimed = claim_notified(request, *job);
    if (!claimed || !claimed->jobs.empty()) return claimed;
  }
  const ScanFrom usual = marks_.usual(request);
  ClaimAttempt claimed = scan(request, usual);
  if (!claimed || usual != ScanFrom::marks) return claimed;
  ClaimRequest rest = request;
  rest.limit -= static_cast<std::int32_t>(claimed->jobs.size());
  const ScanFrom wider = marks_.wider(request.shard);
  if (rest.limit <= 0 || wider == ScanFrom::marks) return claimed;
  if (ClaimAttempt more = scan(rest, wider)) append(*claimed, *std::move(more));
  return claimed;
}

ClaimAttempt UnlimitedClaims::claim_notified(const ClaimRequest& request, const NotifiedJob& job) {
  PgParameters scope;
  scope.add(request.shard).add(job.run).add(job.branch).add(text_array(request.queues));
  ClaimAttempt claimed = execute(request, {"claim_hinted", claim_parameters(std::move(scope), request)});
  if (claimed) marks_.raise(request, claimed->jobs);
  return claimed;
}

ClaimAttempt UnlimitedClaims::claim_of_runs(const ClaimRequest& request) {
  return execute(request, {"claim_of_runs", claim_of_runs_parameters(request)});
}

ClaimAttempt UnlimitedClaims::scan(const ClaimRequest& request, ScanFrom from) {
  const TimeUs began_us = steady_us();
  const ScanMarks::Starts starts = marks_.starts(request, from);
  const std::vector<std::string> order = parts_.rotation.turned(request.queues);
  ClaimAttempt claimed = execute(request, {"claim", scan_parameters(request, order, starts, from)});
  if (!claimed) return claimed;
  if (from != ScanFrom::marks) marks_.record(request, from, steady_us() - began_us, claimed->jobs.size());
  marks_.raise(request, claimed->jobs);
  return claimed;
}

ClaimAttempt UnlimitedClaims::execute(const ClaimRequest& request, const ClaimStatement& claim) {
  const PgParameters queues = PgParameters().add(text_array(request.queues));
  return claim_in_transaction(parts_.placements, request, [&](PgConnection& connection) -> ClaimAttempt {
    connection.send(statement("begin_claim"), queues);
    connection.send(statement(claim.name), claim.parameters);
    connection.sync();
    connection.receive();  // of BEGIN
    if (!are_unlimited(connection)) {
      parts_.limits.record(request.queues, read_queue_limits(connection.query(statement("lock_queues"), queues)));
      return std::nullopt;
    }
    return ClaimedBatch{read_claimed_jobs(connection.receive()), {}};
  });
}

}  // namespace cairn

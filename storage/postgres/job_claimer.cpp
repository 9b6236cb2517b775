#include "storage/postgres/job_claimer.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

#include "storage/clock.hpp"
#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/commit_rows.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

constexpr std::int64_t slow_us = 20'000;           // a scan from the beginning that takes longer is slow
constexpr int slow_in_a_row = 2;                   // one slow scan may be noise
constexpr std::int64_t scan_every_us = 2'000'000;  // how often each wider scan runs
constexpr std::int64_t scan_share = 50;            // and at most this part of the time it takes
constexpr std::int64_t scan_pause_max_us = 120'000'000;
constexpr std::int64_t commit_lag_us = 250'000;  // a row may be committed so much later than its run_at
constexpr std::int64_t minute_us = 60'000'000;
constexpr std::size_t levels_max = 100;  // priorities remembered of a queue; with more, they are found again by scans

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

using Mark = std::pair<TimeUs, RunId>;
constexpr Mark lowest_mark{std::numeric_limits<TimeUs>::min(), RunId{}};
Mark newest_mark(const ClaimRequest& request) { return {request.now_us - commit_lag_us, RunId{}}; }

void append(ClaimedBatch& to, ClaimedBatch&& more) {
  std::move(more.jobs.begin(), more.jobs.end(), std::back_inserter(to.jobs));
  std::move(more.histories.begin(), more.histories.end(), std::back_inserter(to.histories));
}

bool earlier(const HeldJob& a, const HeldJob& b) {
  return std::tie(a.job.priority, a.job.run_at_us, a.run, a.job.branch) <
         std::tie(b.job.priority, b.job.run_at_us, b.run, b.job.branch);
}

}  // namespace

ClaimedBatch JobClaimer::claim(const ClaimRequest& request) {
  ClaimedBatch all;
  ClaimRequest rest = request;
  const auto gain = [&](Attempt claimed) {
    if (!claimed) return false;
    rest.limit -= static_cast<std::int32_t>(claimed->jobs.size());
    append(all, *std::move(claimed));
    return true;
  };
  // Ends: each round that fails has learnt of a limited queue (record_limited), and the next one splits it off.
  for (bool is_known = false; !is_known;) {
    Split queues = split(rest);
    if (queues.limited_first) is_known = gain(claim_limited(queues.limited));
    queues.unlimited.limit = rest.limit;
    is_known = gain(claim_unlimited(queues.unlimited));
    queues.limited.limit = rest.limit;
    if (is_known && !queues.limited_first) gain(claim_limited(queues.limited));
  }
  CHECK(std::ssize(all.jobs) <= std::max(request.limit, 0));
  std::sort(all.jobs.begin(), all.jobs.end(), earlier);
  return all;
}

// The two kinds take turns at being first, so that neither starves the other.
JobClaimer::Split JobClaimer::split(const ClaimRequest& request) {
  Split queues{request, request, false};
  const std::lock_guard lock(mutex_);
  if (limited_.empty()) {
    queues.limited.queues.clear();
    return queues;
  }
  const auto is_limited = [this](const std::string& queue) { return limited_.contains(queue); };
  std::erase_if(queues.unlimited.queues, is_limited);
  std::erase_if(queues.limited.queues, [&](const std::string& queue) { return !is_limited(queue); });
  queues.limited_first = limited_first_ = !limited_first_;
  return queues;
}

JobClaimer::Attempt JobClaimer::claim_unlimited(const ClaimRequest& request) {
  if (request.limit <= 0 || request.queues.empty()) return ClaimedBatch{};
  if (!request.only_runs.empty()) return claim_of_runs(request);
  // Read by every claim, used or not: one that scans everywhere finds the jobs of the earlier notifications as well.
  const std::optional<NotifiedJob> job = notified_.only_one(request.shard);
  if (job && request.notified_only && !contains(request.not_of, job->run)) {
    Attempt claimed = claim_notified(request, *job);
    if (!claimed || !claimed->jobs.empty()) return claimed;
  }
  const ScanFrom usual = usual_scan(request);
  Attempt claimed = scan(request, usual);
  if (!claimed || usual != ScanFrom::marks) return claimed;
  ClaimRequest rest = request;
  rest.limit -= static_cast<std::int32_t>(claimed->jobs.size());
  const ScanFrom wider = wider_scan(request.shard);
  if (rest.limit <= 0 || wider == ScanFrom::marks) return claimed;
  if (Attempt more = scan(rest, wider)) append(*claimed, *std::move(more));
  return claimed;
}

JobClaimer::Attempt JobClaimer::claim_notified(const ClaimRequest& request, const NotifiedJob& job) {
  PgParameters scope;
  scope.add(request.shard).add(job.run).add(job.branch).add(text_array(request.queues));
  Attempt claimed = execute({"claim_hinted", claim_parameters(std::move(scope), request)}, request);
  if (claimed) raise_marks(request, claimed->jobs);
  return claimed;
}

JobClaimer::Attempt JobClaimer::claim_limited(const ClaimRequest& request) {
  if (request.limit <= 0 || request.queues.empty()) return ClaimedBatch{};
  using Kind = Statement::Kind;
  const bool is_of_runs = !request.only_runs.empty();
  ClaimRequest turned = request;
  turned.queues = rotated(request.queues);
  PgParameters scope;
  scope.add(turned.shard).add(text_array(turned.queues)).add(turned.limit);
  PgParameters parameters = claim_parameters(std::move(scope), turned);
  parameters.add(id_array(is_of_runs ? wanted_runs(turned) : turned.not_of));
  if (!placements_.are_distributed())
    return execute({is_of_runs ? "claim_limited_of_runs" : "claim_limited", std::move(parameters), Kind::limited},
                   turned);
  return claim_across(
      turned, {is_of_runs ? "claim_limited_of_runs_given" : "claim_limited_given", std::move(parameters), Kind::given});
}

// In a cluster. The queues' rows are locked in one place, and their permits counted on all nodes, while the jobs are
// taken on one. If the connection with the lock is lost between the last look at it and the claim's COMMIT, a claim of
// another process may count without these jobs: the one way in which a limit can be passed.
JobClaimer::Attempt JobClaimer::claim_across(const ClaimRequest& request, Statement claim) {
  const PgParameters queues = PgParameters().add(text_array(request.queues));
  return placements_.whole().run([&](PgConnection& lock) -> Attempt {
    lock.execute("BEGIN");
    const PgResult settings = lock.query(statement("lock_queues"), queues);
    record_limited(request.queues, settings);
    placements_.query_each("retire_permits", queues);
    Statement with_rooms{claim.name, PgParameters(claim.parameters).add(rooms(settings, request.queues)), claim.kind};
    Attempt claimed = execute(with_rooms, request);
    lock.execute("COMMIT");
    return claimed;
  });
}

// How many more jobs each of the queues may hold, in their order.
PgArray JobClaimer::rooms(const PgResult& settings, const std::vector<std::string>& queues) {
  std::map<std::string, std::int64_t> held;
  for (const PgResult& part : placements_.query_each("permit_counts", PgParameters().add(text_array(queues))))
    for (int row = 0; row < part.rows(); ++row) held[std::string(part.text(row, 0))] += part.int8(row, 1);
  constexpr std::int64_t unlimited = std::numeric_limits<std::int32_t>::max();
  std::map<std::string, std::int64_t> room;  // of those that have a limit still
  for (const QueueSettings& queue : read_queue_settings(settings))
    room[queue.name] = queue.paused ? 0 : queue.concurrency.value_or(unlimited) - held[queue.name];
  PgArray rooms(PgType::int4);
  for (const std::string& queue : queues) {
    const auto found = room.find(queue);
    rooms.add(static_cast<std::int32_t>(found == room.end() ? unlimited
                                                            : std::clamp<std::int64_t>(found->second, 0, unlimited)));
  }
  return rooms;
}

JobClaimer::Attempt JobClaimer::claim_of_runs(const ClaimRequest& request) {
  return execute({"claim_of_runs", claim_of_runs_parameters(request)}, request);
}

JobClaimer::Attempt JobClaimer::scan(const ClaimRequest& request, ScanFrom from) {
  const std::int64_t began_us = steady_us();
  Attempt claimed = execute({"claim", scan_parameters(request, from)}, request);
  if (!claimed) return claimed;
  if (from != ScanFrom::marks) record_scan(request, from, steady_us() - began_us, claimed->jobs.size());
  raise_marks(request, claimed->jobs);
  return claimed;
}

// For each queue its known priorities, each with the place where its scan starts, and the gaps between them, where the
// statement finds unknown ones. A scan from the beginning is given the known priorities too: otherwise it would walk
// their first entries twice, once to find the priority and once to find jobs.
PgParameters JobClaimer::scan_parameters(const ClaimRequest& request, ScanFrom from) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int32_t>::min() - std::int64_t{1};
  constexpr std::int64_t highest = std::numeric_limits<std::int32_t>::max() + std::int64_t{1};
  PgArray queue(PgType::text), priority(PgType::int4), run_at(PgType::int8), run(PgType::uuid);
  PgArray gap_queue(PgType::text), above(PgType::int8), below(PgType::int8);
  const auto marks = marks_of(request.shard);
  for (const std::string& name : rotated(request.queues)) {
    std::int64_t last = lowest;
    const auto add_gap = [&](std::int64_t up_to) {
      gap_queue.add(name);
      above.add(last);
      below.add(up_to);
    };
    if (const auto levels = marks.find(name); levels != marks.end()) {
      for (const auto& [level, mark] : levels->second) {
        const Mark start = from == ScanFrom::marks ? mark : std::min(mark, earliest(request, from));
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

JobClaimer::Mark JobClaimer::earliest(const ClaimRequest& request, ScanFrom from) {
  return from == ScanFrom::minute ? Mark{request.now_us - minute_us, RunId{}} : lowest_mark;
}

// Two round trips: the claim, then the claimed runs' heads and COMMIT. The jobs are known before COMMIT is sent: if its
// answer is lost, the next attempt finds out whether they are ours, so that no job stays held by a worker that does not
// know of it.
JobClaimer::Attempt JobClaimer::execute(const Statement& claim, const ClaimRequest& request) {
  using Kind = Statement::Kind;
  const PgParameters queues = PgParameters().add(text_array(request.queues));
  std::vector<HeldJob> in_doubt;
  return placements_.run(request.shard, [&](PgConnection& connection) -> Attempt {
    if (!in_doubt.empty()) {
      ClaimedBatch ours = still_ours(connection, request, in_doubt);
      if (!ours.jobs.empty()) return ours;
      in_doubt.clear();
    }
    connection.begin_pipeline();
    connection.send(begin_statement());
    if (claim.kind == Kind::limited) {
      connection.send(statement("lock_queues"), queues);
      connection.send(statement("retire_permits"), queues);
    } else if (claim.kind == Kind::unlimited) {
      connection.send(statement("begin_claim"), queues);
    }
    connection.send(statement(claim.name), claim.parameters);
    connection.sync();
    connection.receive();
    if (claim.kind == Kind::limited) {
      record_limited(request.queues, connection.receive());
      connection.receive();
    } else if (claim.kind == Kind::unlimited && !are_unlimited(connection)) {
      record_limited(request.queues, connection.query(statement("lock_queues"), queues));
      return std::nullopt;
    }
    ClaimedBatch batch;
    batch.jobs = read_claimed_jobs(connection.receive());
    for (const HeldJob& held : batch.jobs) CHECK(held.session == request.session);  // claimed for us, see still_ours()
    // The heads are read after the claim, by a newer snapshot: a head is never older than the job it comes with, so a
    // stale cached state is always recognized.
    if (!batch.jobs.empty()) send_heads_query(connection, request, batch.jobs);
    connection.send(commit_statement());
    in_doubt = batch.jobs;
    connection.sync();
    if (!batch.jobs.empty()) receive_heads(connection, batch);
    connection.finish();
    return batch;
  });
}

// After a COMMIT whose answer was lost: the jobs that are held as we claimed them. Read under lock, because the server
// may still be carrying out that COMMIT.
ClaimedBatch JobClaimer::still_ours(PgConnection& connection, const ClaimRequest& request,
                                    const std::vector<HeldJob>& claimed) {
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
  for (const auto& [place, job] : read_found_jobs(connection.receive())) {
    const HeldJob& held = claimed[place];
    if (job.session == held.session && job.epoch == held.epoch) ours.jobs.push_back(held);
  }
  receive_heads(connection, ours);
  connection.finish();
  return ours;
}

void JobClaimer::record_limited(const std::vector<std::string>& asked, const PgResult& settings) {
  const std::vector<QueueSettings> limited = read_queue_settings(settings);
  const std::lock_guard lock(mutex_);
  for (const std::string& queue : asked) limited_.erase(queue);
  for (const QueueSettings& queue : limited) limited_.insert(queue.name);
}

// Each claim begins with another queue, so that at equal priority none is served last for ever.
std::vector<std::string> JobClaimer::rotated(const std::vector<std::string>& queues) {
  std::vector<std::string> turned = queues;
  const std::lock_guard lock(mutex_);
  const auto first = static_cast<std::ptrdiff_t>(rotation_++ % queues.size());
  std::rotate(turned.begin(), turned.begin() + first, turned.end());
  return turned;
}

// A wider scan finds out where the free entries begin. If it found fewer jobs than it was asked for, no due row is left
// in front of it and the marks may go up to where late commits end; otherwise they go down to where it started.
void JobClaimer::record_scan(const ClaimRequest& request, ScanFrom from, std::int64_t took_us, std::size_t found) {
  const bool took_all = found < static_cast<std::size_t>(request.limit);
  const std::lock_guard lock(mutex_);
  Marks& marks = marks_[request.shard];
  LastScan& scan = from == ScanFrom::everywhere ? marks.everywhere : marks.minute;
  scan.pause_us = std::min(took_us * scan_share, scan_pause_max_us);
  scan.ended_us = marks.minute.ended_us = steady_us();  // a scan from the beginning has covered the last minute too
  if (from == ScanFrom::everywhere) marks.slow_scans = took_us > slow_us ? marks.slow_scans + 1 : 0;
  for (const std::string& queue : request.queues) {
    const auto levels = marks.by_queue.find(queue);
    if (levels == marks.by_queue.end()) continue;
    if (levels->second.size() > levels_max) levels->second.clear();
    for (auto& [priority, mark] : levels->second)
      mark = took_all ? newest_mark(request) : std::min(mark, earliest(request, from));
  }
}

// No mark passes newest_mark(): rows that are due after it may still be committed.
void JobClaimer::raise_marks(const ClaimRequest& request, const std::vector<HeldJob>& jobs) {
  const std::lock_guard lock(mutex_);
  Marks& marks = marks_[request.shard];
  marks.claimed += static_cast<std::int64_t>(jobs.size());
  for (const HeldJob& held : jobs) {
    Mark& mark = marks.by_queue[held.job.queue].try_emplace(held.job.priority, lowest_mark).first->second;
    mark = std::max(mark, std::min(Mark{held.job.run_at_us, held.run}, newest_mark(request)));
  }
}

// Marks save a scan the dead index entries of claimed jobs, so they are used when there are many of these or scans are
// slow. Rows that lie before a mark are found by the wider scans, which are therefore never left out for long.
JobClaimer::ScanFrom JobClaimer::usual_scan(const ClaimRequest& request) {
  const std::lock_guard lock(mutex_);
  Marks& marks = marks_[request.shard];
  const std::int64_t now_us = steady_us();
  const auto is_overdue = [&](const LastScan& scan) {
    return now_us > scan.ended_us + std::max(scan.pause_us, scan_every_us);
  };
  if (now_us > marks.claimed_since_us + scan_every_us) {
    marks.claimed = 0;
    marks.claimed_since_us = now_us;
  }
  const bool is_known = std::any_of(request.queues.begin(), request.queues.end(),
                                    [&](const std::string& queue) { return marks.by_queue.contains(queue); });
  const bool uses_marks = marks.claimed >= many_ || marks.slow_scans >= slow_in_a_row;
  if (!is_known || !uses_marks || is_overdue(marks.everywhere)) return ScanFrom::everywhere;
  return is_overdue(marks.minute) ? ScanFrom::minute : ScanFrom::marks;
}

// The scan to add when the marks gave too few jobs; `marks` if it is too early for a wider one.
JobClaimer::ScanFrom JobClaimer::wider_scan(Shard shard) {
  const std::lock_guard lock(mutex_);
  const Marks& marks = marks_[shard];
  const auto may_run = [](const LastScan& scan) { return steady_us() >= scan.ended_us + scan.pause_us; };
  if (may_run(marks.everywhere)) return ScanFrom::everywhere;
  return may_run(marks.minute) ? ScanFrom::minute : ScanFrom::marks;
}

std::map<std::string, JobClaimer::Levels> JobClaimer::marks_of(Shard shard) {
  const std::lock_guard lock(mutex_);
  return marks_[shard].by_queue;
}

}  // namespace cairn

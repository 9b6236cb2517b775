#include "storage/postgres/job_claimer.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

#include "storage/clock.hpp"
#include "storage/postgres/commit_rows.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

constexpr std::int64_t slow_us = 20'000;     // what a scan everywhere may take before it counts as slow
constexpr int slow_in_a_row = 2;             // one may have waited for the machine
constexpr std::int64_t scan_share = 50;      // where marks are used, each wider scan may take that part of the time
constexpr std::int64_t scan_us = 2'000'000;  // and is taken that often
constexpr std::int64_t scan_max_us = 120'000'000;
constexpr std::int64_t marks_lag_us = 250'000;  // a row may be committed that much later than its run_at
constexpr std::int64_t minute_us = 60'000'000;
constexpr std::size_t levels_max = 100;  // known ones of a queue; with more they are found anew

PgArray texts(const std::vector<std::string>& values) {
  PgArray array(PgType::text);
  for (const std::string& value : values) array.add(value);
  return array;
}

std::vector<HeldJob> read_claimed(const PgResult& rows) {
  std::vector<HeldJob> jobs;
  for (int row = 0; row < rows.rows(); ++row) jobs.push_back(read_held_job(rows, row));
  return jobs;
}

// False: some of the queues are limited that were thought free, and nothing was claimed.
bool all_unlimited(PgConnection& connection) {
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

void send_claimed(PgConnection& connection, const ClaimRequest& request, const std::vector<HeldJob>& jobs) {
  PgArray runs(PgType::uuid);
  std::set<RunId> named;
  for (const HeldJob& held : jobs)
    if (named.insert(held.run).second) runs.add(held.run);
  connection.send(statement("claimed"),
                  PgParameters().add(request.shard).add(std::move(runs)).add(request.short_history_max));
}

using Mark = std::pair<TimeUs, RunId>;
constexpr Mark lowest_mark{std::numeric_limits<TimeUs>::min(), RunId{}};
Mark newest_mark(const ClaimRequest& request) { return {request.now_us - marks_lag_us, RunId{}}; }

template <class Value>
void append(std::vector<Value>& to, std::vector<Value>&& more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
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
    append(all.jobs, std::move(claimed->jobs));
    append(all.histories, std::move(claimed->histories));
    return true;
  };
  for (bool is_known = false; !is_known;) {
    Kinds of = kinds(rest);
    if (of.limited_first) is_known = gain(claim_limited(of.limited));
    of.unlimited.limit = rest.limit;
    is_known = gain(claim_unlimited(of.unlimited));
    of.limited.limit = rest.limit;
    if (is_known && !of.limited_first) gain(claim_limited(of.limited));
  }
  std::sort(all.jobs.begin(), all.jobs.end(), earlier);
  return all;
}

// Free and limited queues go first in turns, so that neither starves the other.
JobClaimer::Kinds JobClaimer::kinds(const ClaimRequest& request) {
  Kinds of{request, request, false};
  const std::lock_guard lock(mutex_);
  if (limited_.empty()) {
    of.limited.queues.clear();
    return of;
  }
  const auto is_limited = [this](const std::string& queue) { return limited_.contains(queue); };
  std::erase_if(of.unlimited.queues, is_limited);
  std::erase_if(of.limited.queues, [&](const std::string& queue) { return !is_limited(queue); });
  of.limited_first = limited_first_ = !limited_first_;
  return of;
}

// As claimed.sql, of these jobs or more.
void JobClaimer::read_runs_of(const PgResult& rows, ClaimedBatch& batch) {
  std::map<RunId, std::int64_t> heads;
  for (int row = 0; row < rows.rows(); ++row) {
    const RunId run = rows.uuid(row, 9);
    const bool is_first = heads.emplace(run, rows.int8(row, 10)).second;
    if (rows.is_null(row, 0)) continue;
    if (is_first) batch.histories.push_back({run, {}});
    batch.histories.back().events.push_back(read_event(rows, row));
  }
  for (HeldJob& held : batch.jobs)
    if (const auto head = heads.find(held.run); head != heads.end()) held.run_head = head->second;
}

JobClaimer::Attempt JobClaimer::claim_unlimited(const ClaimRequest& request) {
  if (request.limit <= 0 || request.queues.empty()) return ClaimedBatch{};
  if (!request.only_runs.empty()) return claim_of_runs(request);
  // Asked of every claim: one that looks everywhere answers the hints before it as well.
  if (const std::optional<NotifiedJob> job = notified_.only_one(request.shard); job && request.notified_only) {
    Attempt claimed = claim_notified(request, *job);
    if (!claimed || !claimed->jobs.empty()) return claimed;
  }
  const ScanFrom usual = usual_start(request);
  Attempt claimed = claim_from(request, usual);
  if (!claimed || usual != ScanFrom::marks) return claimed;
  ClaimRequest rest = request;
  rest.limit -= static_cast<std::int32_t>(claimed->jobs.size());
  const ScanFrom wider = wider_start(request.shard);
  if (rest.limit <= 0 || wider == ScanFrom::marks) return claimed;
  if (Attempt more = claim_from(rest, wider)) {
    append(claimed->jobs, std::move(more->jobs));
    append(claimed->histories, std::move(more->histories));
  }
  return claimed;
}

JobClaimer::Attempt JobClaimer::claim_notified(const ClaimRequest& request, const NotifiedJob& job) {
  PgParameters parameters;
  parameters.add(request.shard).add(job.run).add(job.branch).add(texts(request.queues)).add(request.now_us);
  parameters.add(request.session).add(request.default_timeout_ms).add(deadline_grace_ms);
  Attempt claimed = take("claim_hinted", parameters, request, false);
  if (claimed) raise_marks(request, claimed->jobs);
  return claimed;
}

JobClaimer::Attempt JobClaimer::claim_limited(const ClaimRequest& request) {
  if (request.limit <= 0 || request.queues.empty()) return ClaimedBatch{};
  PgParameters parameters;
  parameters.add(request.shard).add(texts(rotated(request.queues))).add(request.limit).add(request.now_us);
  parameters.add(request.session).add(request.default_timeout_ms).add(deadline_grace_ms);
  if (request.only_runs.empty()) return take("claim_limited", parameters, request, true);
  PgArray runs(PgType::uuid);
  for (const RunId& run : request.only_runs) runs.add(run);
  return take("claim_limited_of_runs", parameters.add(std::move(runs)), request, true);
}

JobClaimer::Attempt JobClaimer::claim_from(const ClaimRequest& request, ScanFrom from) {
  const std::int64_t began_us = steady_us();
  Attempt claimed = take("claim", starting(request, from), request, false);
  if (!claimed) return claimed;
  if (from != ScanFrom::marks) record_scan(request, from, steady_us() - began_us, claimed->jobs.size());
  raise_marks(request, claimed->jobs);
  return claimed;
}

// Known priorities serve a scan everywhere too: their first entries are walked once then, and not twice.
PgParameters JobClaimer::starting(const ClaimRequest& request, ScanFrom from) {
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
        queue.add(name);
        priority.add(level);
        const Mark start = from == ScanFrom::marks ? mark : std::min(mark, floor_of(request, from));
        run_at.add(start.first);
        run.add(start.second);
        add_gap(level);
        last = level;
      }
    }
    add_gap(highest);
  }
  PgParameters parameters;
  parameters.add(request.shard).add(request.limit).add(request.now_us).add(request.session);
  parameters.add(request.default_timeout_ms).add(deadline_grace_ms);
  parameters.add(std::move(queue)).add(std::move(priority)).add(std::move(run_at)).add(std::move(run));
  parameters.add(std::move(gap_queue)).add(std::move(above)).add(std::move(below));
  parameters.add(from == ScanFrom::everywhere ? std::numeric_limits<std::int32_t>::max() : std::int32_t{1});
  return parameters;
}

JobClaimer::Mark JobClaimer::floor_of(const ClaimRequest& request, ScanFrom from) {
  return from == ScanFrom::minute ? Mark{request.now_us - minute_us, RunId{}} : lowest_mark;
}

JobClaimer::Attempt JobClaimer::claim_of_runs(const ClaimRequest& request) {
  PgArray runs(PgType::uuid);
  for (const RunId& run : request.only_runs) runs.add(run);
  PgParameters parameters;
  parameters.add(request.shard).add(texts(request.queues)).add(request.limit).add(request.now_us);
  parameters.add(request.session).add(request.default_timeout_ms).add(deadline_grace_ms).add(std::move(runs));
  return take("claim_of_runs", parameters, request, false);
}

// The rows are known before COMMIT is sent: if its answer is lost, the next attempt finds out whether they are ours, so
// that no job is held by a worker that does not know of it.
JobClaimer::Attempt JobClaimer::take(std::string_view name, const PgParameters& parameters, const ClaimRequest& request,
                                     bool limited) {
  const PgParameters queues = PgParameters().add(texts(request.queues));
  std::vector<HeldJob> doubtful;
  return pool_.run([&](PgConnection& connection) -> Attempt {
    if (!doubtful.empty()) {
      ClaimedBatch landed = confirm(connection, request, doubtful);
      if (!landed.jobs.empty()) return landed;
      doubtful.clear();
    }
    connection.begin_pipeline();
    connection.send(begin_statement());
    connection.send(statement(limited ? "lock_queues" : "begin_claim"), queues);
    if (limited) connection.send(statement("retire_permits"), queues);
    connection.send(statement(name), parameters);
    connection.sync();
    connection.receive();
    if (limited) {
      learn(request.queues, connection.receive());
      connection.receive();
    } else if (!all_unlimited(connection)) {
      learn(request.queues, connection.query(statement("lock_queues"), queues));
      return std::nullopt;
    }
    ClaimedBatch batch;
    batch.jobs = read_claimed(connection.receive());
    if (!batch.jobs.empty()) send_claimed(connection, request, batch.jobs);
    connection.send(commit_statement());
    doubtful = batch.jobs;
    connection.sync();
    if (!batch.jobs.empty()) read_runs_of(connection.receive(), batch);
    connection.finish();
    return batch;
  });
}

// Those of the jobs that are held as we claimed them.
ClaimedBatch JobClaimer::confirm(PgConnection& connection, const ClaimRequest& request,
                                 const std::vector<HeldJob>& claimed) {
  PgArray runs(PgType::uuid), branches(PgType::int4);
  for (const HeldJob& held : claimed) {
    runs.add(held.run);
    branches.add(held.job.branch);
  }
  connection.begin_pipeline();
  connection.send(statement("lock_jobs"),
                  PgParameters().add(request.shard).add(std::move(runs)).add(std::move(branches)));
  send_claimed(connection, request, claimed);
  connection.sync();
  const PgResult rows = connection.receive();
  ClaimedBatch ours;
  for (int row = 0; row < rows.rows(); ++row) {
    const HeldJob& held = claimed[static_cast<std::size_t>(rows.int8(row, 0) - 1)];
    if (rows.int8(row, 1) == held.session && rows.int8(row, 2) == held.epoch) ours.jobs.push_back(held);
  }
  read_runs_of(connection.receive(), ours);
  connection.finish();
  return ours;
}

void JobClaimer::learn(const std::vector<std::string>& asked, const PgResult& settings) {
  const std::lock_guard lock(mutex_);
  for (const std::string& queue : asked) limited_.erase(queue);
  for (int row = 0; row < settings.rows(); ++row) limited_.emplace(settings.text(row, 0));
}

std::vector<std::string> JobClaimer::rotated(const std::vector<std::string>& queues) {
  std::vector<std::string> turned = queues;
  const std::lock_guard lock(mutex_);
  const auto first = static_cast<std::ptrdiff_t>(turn_++ % queues.size());
  std::rotate(turned.begin(), turned.begin() + first, turned.end());
  return turned;
}

// A wider scan tells anew where the free entries begin: if it took less than it might have, as near to now as a mark
// may be; else behind what it took.
void JobClaimer::record_scan(const ClaimRequest& request, ScanFrom from, std::int64_t took_us, std::size_t found) {
  const bool is_all = found < static_cast<std::size_t>(request.limit);
  const std::lock_guard lock(mutex_);
  Marks& marks = marks_[request.shard];
  Scan& scan = from == ScanFrom::everywhere ? marks.everywhere : marks.minute;
  scan.pause_us = std::min(took_us * scan_share, scan_max_us);
  scan.ended_us = marks.minute.ended_us = steady_us();
  if (from == ScanFrom::everywhere) marks.slow = took_us > slow_us ? marks.slow + 1 : 0;
  for (const std::string& queue : request.queues) {
    const auto levels = marks.by_queue.find(queue);
    if (levels == marks.by_queue.end()) continue;
    if (levels->second.size() > levels_max) levels->second.clear();
    for (auto& [priority, mark] : levels->second)
      mark = is_all ? newest_mark(request) : std::min(mark, floor_of(request, from));
  }
}

void JobClaimer::raise_marks(const ClaimRequest& request, const std::vector<HeldJob>& jobs) {
  const std::lock_guard lock(mutex_);
  Marks& marks = marks_[request.shard];
  marks.claimed += static_cast<std::int64_t>(jobs.size());
  for (const HeldJob& held : jobs) {
    Mark& mark = marks.by_queue[held.job.queue].try_emplace(held.job.priority, lowest_mark).first->second;
    mark = std::max(mark, std::min(Mark{held.job.run_at_us, held.run}, newest_mark(request)));
  }
}

JobClaimer::ScanFrom JobClaimer::usual_start(const ClaimRequest& request) {
  const std::lock_guard lock(mutex_);
  Marks& marks = marks_[request.shard];
  const std::int64_t now_us = steady_us();
  const auto is_overdue = [&](const Scan& scan) { return now_us > scan.ended_us + std::max(scan.pause_us, scan_us); };
  if (now_us > marks.claimed_since_us + scan_us) {
    marks.claimed = 0;
    marks.claimed_since_us = now_us;
  }
  const bool is_known = std::any_of(request.queues.begin(), request.queues.end(),
                                    [&](const std::string& queue) { return marks.by_queue.contains(queue); });
  const bool is_used = marks.claimed >= many_ || marks.slow >= slow_in_a_row;
  if (!is_known || !is_used || is_overdue(marks.everywhere)) return ScanFrom::everywhere;
  return is_overdue(marks.minute) ? ScanFrom::minute : ScanFrom::marks;
}

// Of a claim that finds too little at the marks; as marks: not yet.
JobClaimer::ScanFrom JobClaimer::wider_start(Shard shard) {
  const std::lock_guard lock(mutex_);
  const Marks& marks = marks_[shard];
  const auto is_due = [](const Scan& scan) { return steady_us() >= scan.ended_us + scan.pause_us; };
  if (is_due(marks.everywhere)) return ScanFrom::everywhere;
  return is_due(marks.minute) ? ScanFrom::minute : ScanFrom::marks;
}

std::map<std::string, JobClaimer::Levels> JobClaimer::marks_of(Shard shard) {
  const std::lock_guard lock(mutex_);
  return marks_[shard].by_queue;
}

}  // namespace cairn

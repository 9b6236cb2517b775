#include "storage/postgres/job_claimer.hpp"

#include <algorithm>
#include <array>
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

// A change of the limits, which may come from another process, is noticed after this.
constexpr std::int64_t held_back_max_us = 1'000'000;
constexpr std::int64_t repair_every_us = 10'000'000;
constexpr std::int32_t keys_min = 64;  // looked at by a claim

// Read by their places.
constexpr std::array<std::string_view, 2> rate_columns{"queue", "max"};
constexpr std::array<std::string_view, 2> permit_columns{"queue", "count"};
constexpr std::array<std::string_view, 2> turn_columns{"key", "served"};
constexpr std::array<std::string_view, 2> waiting_columns{"key", "waiting"};
constexpr std::array<std::string_view, 3> key_use_columns{"key", "held", "full_at"};
constexpr std::array<std::string_view, 6> budget_columns{"queue", "key", "unit", "per", "since", "used"};

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

// The kinds of queues take one statement each. They are served in the order of the rotation as well: a kind whose
// queues have jobs for every claim would leave nothing to the others.
JobClaimer::Attempt JobClaimer::claim_limited(ClaimRequest request) {
  if (request.limit <= 0 || request.queues.empty()) return ClaimedBatch{};
  const std::vector<std::string> order = rotated(request.queues);
  std::vector<std::string> counted = order, governed, keyed;
  take_governed(counted, governed, keyed);
  using Claim = Attempt (JobClaimer::*)(const ClaimRequest&);
  std::array<std::pair<std::vector<std::string>*, Claim>, 3> kinds = {{{&governed, &JobClaimer::claim_governed},
                                                                       {&keyed, &JobClaimer::claim_all_keyed},
                                                                       {&counted, &JobClaimer::claim_counted}}};
  const auto place = [&order](const auto& kind) {
    return kind.first->empty() ? order.end() : std::find(order.begin(), order.end(), kind.first->front());
  };
  std::sort(kinds.begin(), kinds.end(), [&](const auto& one, const auto& other) { return place(one) < place(other); });
  Attempt claimed = ClaimedBatch{};
  for (const auto& [queues, claim] : kinds) {
    ClaimRequest rest = request;
    rest.queues = std::move(*queues);
    rest.limit -= static_cast<std::int32_t>(claimed->jobs.size());
    if (rest.limit > 0 && !rest.queues.empty()) append(*claimed, *(this->*claim)(rest));
  }
  return claimed;
}

JobClaimer::Attempt JobClaimer::claim_all_keyed(const ClaimRequest& request) {
  Attempt claimed = ClaimedBatch{};
  ClaimRequest rest = request;
  for (const std::string& queue : request.queues) {
    rest.limit = request.limit - static_cast<std::int32_t>(claimed->jobs.size());
    if (rest.limit > 0) append(*claimed, claim_keyed(rest, queue));
  }
  return claimed;
}

JobClaimer::Attempt JobClaimer::claim_counted(const ClaimRequest& request) {
  const bool is_of_runs = !request.only_runs.empty();
  if (placements_.are_distributed())
    return claim_across(request, {is_of_runs ? "claim_limited_of_runs_given" : "claim_limited_given",
                                  limited_parameters(request), Statement::Kind::given});
  return execute(
      {is_of_runs ? "claim_limited_of_runs" : "claim_limited", limited_parameters(request), Statement::Kind::limited},
      request);
}

// Moves the governed queues to `governed`, or to `keyed` if they have keys; those that are held back by their rate go
// to none.
void JobClaimer::take_governed(std::vector<std::string>& queues, std::vector<std::string>& governed,
                               std::vector<std::string>& keyed) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_us = steady_us();
  std::erase_if(held_back_, [&](const auto& entry) { return entry.second <= now_us; });
  governed.clear();
  for (const std::string& queue : queues)
    if (governed_.contains(queue) && !held_back_.contains(queue))
      (keyed_.contains(queue) ? keyed : governed).push_back(queue);
  std::erase_if(queues, [&](const std::string& queue) { return governed_.contains(queue); });
}

void JobClaimer::limits_changed(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  held_back_.erase(queue);
}

JobClaimer::Attempt JobClaimer::claim_governed(const ClaimRequest& request) {
  const std::string_view name = request.only_runs.empty() ? "claim_limited_given" : "claim_limited_of_runs_given";
  if (placements_.are_distributed())
    return claim_across(request, {name, limited_parameters(request), Statement::Kind::given});
  return execute({name, limited_parameters(request), Statement::Kind::governed}, request);
}

// In a cluster. The queues' rows are locked in one place, and their use is found on all nodes, while the jobs are taken
// on one. If the connection with the lock is lost between the last look at it and the claim's COMMIT, a claim of
// another process may count without these jobs: the one way in which a limit can be passed.
JobClaimer::Attempt JobClaimer::claim_across(const ClaimRequest& request, Statement claim) {
  return placements_.whole().run([&](PgConnection& lock) -> Attempt {
    lock.execute("BEGIN");
    const Rooms rooms = find_rooms_across(lock, request.queues);
    Attempt claimed = execute({claim.name, with_rooms(claim.parameters, request.queues, rooms), claim.kind}, request);
    lock.execute("COMMIT");
    record_rooms(request.queues, rooms, claimed->jobs);
    return claimed;
  });
}

JobClaimer::Rooms JobClaimer::find_rooms_across(PgConnection& lock, const std::vector<std::string>& asked) {
  const PgParameters queues = PgParameters().add(text_array(asked));
  const PgResult limits = lock.query(statement("lock_queues"), queues);
  placements_.query_each("retire_permits", queues);
  Uses uses;
  for (const PgResult& part : placements_.query_each("permit_counts", queues)) uses.add_permits(part);
  for (const PgResult& part : placements_.query_each("queue_rates", queues)) add_rates(part, uses.by_queue);
  for (const PgResult& part : placements_.query_each("budget_uses", budgets_of_queues(asked)))
    add_budget_uses(part, false, uses.by_queue);
  return rooms_of(limits, uses, lock.query(statement("database_time")).int8(0, 0));
}

// --- starts of jobs that are held already ---------------------------------------------------------------------------

// It may be any shard's row: the greatest time of all counts.
JobClaimer::TakenStarts JobClaimer::starts_of(const std::string& queue, std::int64_t count, const PgResult& limits,
                                              const Uses& uses, TimeUs now_us) {
  constexpr Shard shard = 0;
  const std::vector<QueueLimits> found = read_queue_limits(limits);
  if (found.empty()) return {count};
  const auto use = uses.by_queue.find(queue);
  const QueueRoom room = room_of_held(found.front(), use == uses.by_queue.end() ? QueueUse{} : use->second, now_us);
  TakenStarts taken{std::min(count, room.free)};
  if (room.pace_us > 0 && taken.count > 0)
    taken.rate = PgParameters().add(shard).add(queue).add(room.full_at + taken.count * room.pace_us).add(now_us);
  return taken;
}

std::int64_t JobClaimer::take_starts(const std::string& queue, std::int64_t count) {
  if (placements_.are_distributed()) return take_starts_across(queue, count);
  const PgParameters queues = PgParameters().add(text_array(std::vector<std::string>{queue}));
  return placements_.whole().run([&](PgConnection& connection) {
    connection.begin_pipeline();
    connection.send(begin_statement());
    connection.send(statement("lock_queues"), queues);
    connection.send(statement("queue_rates"), queues);
    connection.send(statement("database_time"));  // when the lock is held: all starts are in its order
    connection.sync();
    connection.receive();  // of BEGIN
    const PgResult limits = connection.receive();
    Uses uses;
    add_rates(connection.receive(), uses.by_queue);
    const TakenStarts taken = starts_of(queue, count, limits, uses, connection.receive().int8(0, 0));
    if (taken.rate) connection.send(statement("take_starts"), *taken.rate);
    connection.send(commit_statement());
    connection.sync();
    connection.finish();
    return taken.count;
  });
}

std::int64_t JobClaimer::take_starts_across(const std::string& queue, std::int64_t count) {
  const PgParameters queues = PgParameters().add(text_array(std::vector<std::string>{queue}));
  return placements_.whole().run([&](PgConnection& lock) {
    lock.execute("BEGIN");
    const PgResult limits = lock.query(statement("lock_queues"), queues);
    Uses uses;
    for (const PgResult& part : placements_.query_each("queue_rates", queues)) add_rates(part, uses.by_queue);
    const TakenStarts taken = starts_of(queue, count, limits, uses, lock.query(statement("database_time")).int8(0, 0));
    if (taken.rate) placements_.query(0, "take_starts", *taken.rate);
    lock.execute("COMMIT");
    return taken.count;
  });
}

// --- queues with keys -----------------------------------------------------------------------------------------------

ClaimedBatch JobClaimer::claim_keyed(const ClaimRequest& request, const std::string& queue) {
  find_missing_keys(request.shard, queue);
  ClaimRequest one = request;
  one.queues = {queue};
  return placements_.are_distributed() ? claim_keyed_across(one, queue) : claim_keyed_here(one, queue);
}

// One portion: with each claim until all jobs were looked at under these limits, then every ten seconds. A failure is
// left to the next look, because the call may have claimed jobs already.
void JobClaimer::find_missing_keys(Shard shard, const std::string& queue) {
  KeySearch before;
  {
    const std::lock_guard lock(mutex_);
    KeySearch& search = key_searches_[{queue, shard}];
    if (const auto found = keyed_.find(queue); found != keyed_.end() && found->second != search.revision)
      search = {.revision = found->second};
    if (steady_us() < search.again_at_us) return;
    search.again_at_us = steady_us() + repair_every_us;
    before = search;
  }
  try {
    const KeyPortion portion =
        read_key_portion(placements_.query(shard, "key_jobs", key_parameters(shard, queue, true, before.after)));
    const std::lock_guard lock(mutex_);
    KeySearch& search = key_searches_[{queue, shard}];
    if (search.revision != before.revision) return;  // it has begun again
    search.after = portion.is_last ? JobPlace{} : portion.after;
    search.was_at_all = search.was_at_all || portion.is_last;
    if (!search.was_at_all) search.again_at_us = 0;
  } catch (const PostgresError&) {
  }
}

namespace {

std::map<std::string, std::int64_t> count_by_key(const PgResult& claimed) {
  std::map<std::string, std::int64_t> counts;
  const int key = claimed.column("limit_key");
  for (int row = 0; row < claimed.rows(); ++row) ++counts[std::string(claimed.text(row, key))];
  return counts;
}

std::string_view keyed_statement(const ClaimRequest& request) {
  return request.only_runs.empty() ? "claim_of_keys" : "claim_of_keys_of_runs";
}

}  // namespace

ClaimedBatch JobClaimer::claim_keyed_here(const ClaimRequest& request, const std::string& queue) {
  Rooms rooms;
  KeyPlan plan;
  std::map<std::string, std::int64_t> taken;
  const Attempt claimed = transact(request, [&](PgConnection& connection) -> Attempt {
    rooms = find_rooms(connection, request.queues);
    const auto ask = [&](std::string_view name, const PgParameters& parameters) {
      connection.send(statement(name), parameters);
      connection.sync();
      return connection.receive();
    };
    plan = plan_keys(request, queue, rooms, ask, [&](std::string_view name, const PgParameters& parameters) {
      std::vector<PgResult> uses;
      uses.push_back(ask(name, parameters));
      return uses;
    });
    taken.clear();
    if (plan.ring.keys.empty()) return ClaimedBatch{};
    const PgResult found = ask(keyed_statement(request), keyed_parameters(request, plan, rooms.left.at(queue)));
    taken = count_by_key(found);
    return ClaimedBatch{read_claimed_jobs(found), {}};
  });
  record_rooms(request.queues, rooms, claimed->jobs);
  record_plan(plan, taken);
  return *claimed;
}

ClaimedBatch JobClaimer::claim_keyed_across(const ClaimRequest& request, const std::string& queue) {
  return placements_.whole().run([&](PgConnection& lock) {
    lock.execute("BEGIN");
    const Rooms rooms = find_rooms_across(lock, request.queues);
    const auto ask = [&](std::string_view name, const PgParameters& parameters) {
      return placements_.query(request.shard, name, parameters);
    };
    const auto ask_each = [&](std::string_view name, const PgParameters& parameters) {
      return placements_.query_each(name, parameters);
    };
    const KeyPlan plan = plan_keys(request, queue, rooms, ask, ask_each);
    ClaimedBatch batch;
    if (!plan.ring.keys.empty())
      batch = *execute(
          {keyed_statement(request), keyed_parameters(request, plan, rooms.left.at(queue)), Statement::Kind::given},
          request);
    lock.execute("COMMIT");
    record_rooms(request.queues, rooms, batch.jobs);
    std::map<std::string, std::int64_t> all;  // as if each share had been taken: at worst it looks again too early
    for (const KeyShare& share : plan.shares) all[share.key] = share.count;
    record_plan(plan, all);
    return batch;
  });
}

// Empty without keys: the queue has none any more, or no job that is due.
JobClaimer::KeyPlan JobClaimer::plan_keys(const ClaimRequest& request, const std::string& queue, const Rooms& rooms,
                                          const Ask& ask, const AskEach& ask_each) {
  KeyPlan plan{.queue = queue, .limits = {}, .ring = {}, .rooms = {}, .shares = {}, .turn = {}, .now_us = rooms.now_us};
  const auto limits = rooms.limits.find(queue);
  if (limits == rooms.limits.end() || !limits->second.has_keys()) return plan;
  plan.limits = limits->second;
  const std::int64_t limit = std::min<std::int64_t>(request.limit, rooms.left.at(queue).free);
  if (limit <= 0) return plan;
  const PgParameters place = PgParameters().add(request.shard).add(queue);
  const PgResult turn = ask("key_turn", place);
  turn.expect_columns(turn_columns);
  if (turn.rows() > 0) plan.turn = {std::string(turn.text(0, 0)), turn.int8(0, 1)};
  const std::int32_t keys_max = std::max(keys_min, request.limit);
  const bool is_of_runs = !request.only_runs.empty();
  PgParameters which(place);
  if (is_of_runs)
    which.add(id_array(wanted_runs(request))).add(request.now_us).add(request.session);
  else
    which.add(plan.turn.key).add(keys_max).add(request.now_us).add(request.limit + 1).add(id_array(request.not_of));
  const PgResult waiting = ask(is_of_runs ? "waiting_keys_of_runs" : "waiting_keys", which);
  waiting.expect_columns(waiting_columns);
  for (int row = 0; row < waiting.rows(); ++row) {
    const std::string key(waiting.text(row, 0));
    const auto weight = plan.limits.weights.find(key);
    plan.ring.keys.push_back({key, waiting.int8(row, 1), 0, weight == plan.limits.weights.end() ? 1 : weight->second});
  }
  if (plan.ring.keys.empty()) return plan;
  find_key_rooms(plan, ask_each);
  plan.ring.is_whole = is_of_runs || std::ssize(plan.ring.keys) < keys_max;
  plan.shares = take_turns(plan.ring, limit, plan.turn);
  return plan;
}

void JobClaimer::find_key_rooms(KeyPlan& plan, const AskEach& ask_each) {
  std::vector<std::string> keys;
  for (const WaitingKey& one : plan.ring.keys) keys.push_back(one.key);
  std::map<std::string, QueueUse> uses;
  for (const PgResult& part : ask_each("key_uses", PgParameters().add(plan.queue).add(text_array(keys))))
    add_key_uses(part, uses);
  if (!plan.limits.key_budgets.empty())
    for (const PgResult& part : ask_each("budget_uses", budgets_of_keys(plan.queue, keys)))
      add_budget_uses(part, true, uses);
  const QueueLimits of_key = plan.limits.of_key();
  for (WaitingKey& one : plan.ring.keys) {
    plan.rooms[one.key] = room_of(of_key, uses[one.key], plan.now_us);
    one.room = plan.rooms[one.key].free;
  }
}

PgParameters JobClaimer::budgets_of_queues(const std::vector<std::string>& queues) {
  return PgParameters().add(text_array(queues)).add(text_array(std::vector<std::string>{""}));
}

PgParameters JobClaimer::budgets_of_keys(const std::string& queue, const std::vector<std::string>& keys) {
  std::vector<std::string> named;
  for (const std::string& key : keys) named.push_back("=" + key);
  return PgParameters().add(text_array(std::vector<std::string>{queue})).add(text_array(named));
}

void JobClaimer::add_budget_uses(const PgResult& rows, bool by_key, std::map<std::string, QueueUse>& uses) {
  rows.expect_columns(budget_columns);
  for (int row = 0; row < rows.rows(); ++row) {
    const auto unit = parse_budget_unit(rows.text(row, 2));
    const auto per = parse_budget_window(rows.text(row, 3));
    if (!unit || !per) continue;  // a newer release's
    const std::string of(by_key ? rows.text(row, 1).substr(1) : rows.text(row, 0));
    merge_use(uses[of].budgets, {*unit, *per, rows.int8(row, 4), rows.int8(row, 5)});
  }
}

void JobClaimer::add_key_uses(const PgResult& rows, std::map<std::string, QueueUse>& uses) {
  rows.expect_columns(key_use_columns);
  for (int row = 0; row < rows.rows(); ++row) {
    QueueUse& use = uses[std::string(rows.text(row, 0))];
    use.held += rows.int8(row, 1);
    if (!rows.is_null(row, 2)) use.full_at = std::max(use.full_at.value_or(rows.int8(row, 2)), rows.int8(row, 2));
  }
}

PgParameters JobClaimer::keyed_parameters(const ClaimRequest& request, const KeyPlan& plan, const QueueRoom& room) {
  PgParameters scope;
  scope.add(request.shard).add(plan.queue).add(request.limit);
  PgParameters parameters = claim_parameters(std::move(scope), request);
  parameters.add(id_array(request.only_runs.empty() ? request.not_of : wanted_runs(request)));
  PgArray keys(PgType::text), counts(PgType::int4), full_at(PgType::int8);
  for (const KeyShare& share : plan.shares) {
    keys.add(share.key);
    counts.add(static_cast<std::int32_t>(share.count));
    full_at.add(plan.rooms.at(share.key).full_at);
  }
  const std::int64_t key_pace_us = plan.limits.key_rate ? interval_us(*plan.limits.key_rate) : 0;
  parameters.add(std::move(keys)).add(std::move(counts)).add(std::move(full_at)).add(key_pace_us);
  parameters.add(room.full_at).add(room.pace_us).add(plan.limits.ageing_us).add(plan.limits.is_counted());
  return parameters.add(plan.now_us).add(plan.turn.key).add(plan.turn.served);
}

// Where keys that have jobs wait for their rate alone, others may go on: so the queue is not held back, but looked at.
void JobClaimer::record_plan(const KeyPlan& plan, const std::map<std::string, std::int64_t>& taken) {
  std::optional<TimeUs> next;
  for (const WaitingKey& one : plan.ring.keys) {
    const auto count = taken.find(one.key);
    const std::optional<TimeUs> until = held_back_until(plan.limits.of_key(), plan.rooms.at(one.key),
                                                        count == taken.end() ? 0 : count->second, plan.now_us);
    if (until && one.waiting > one.room) next = std::min(next.value_or(*until), *until);
  }
  if (next && wake_at_) wake_at_(steady_us() + std::max<TimeUs>(*next - plan.now_us, 0));
}

void JobClaimer::Uses::add_permits(const PgResult& rows) {
  rows.expect_columns(permit_columns);
  for (int row = 0; row < rows.rows(); ++row) by_queue[std::string(rows.text(row, 0))].held += rows.int8(row, 1);
}

void JobClaimer::add_rates(const PgResult& rows, std::map<std::string, QueueUse>& uses) {
  rows.expect_columns(rate_columns);
  for (int row = 0; row < rows.rows(); ++row) {
    std::optional<TimeUs>& full_at = uses[std::string(rows.text(row, 0))].full_at;
    full_at = std::max(full_at.value_or(rows.int8(row, 1)), rows.int8(row, 1));
  }
}

JobClaimer::Rooms JobClaimer::rooms_of(const PgResult& limits, const Uses& uses, TimeUs now_us) {
  Rooms rooms{{}, {}, now_us};
  for (QueueLimits& queue : read_queue_limits(limits)) {
    const auto use = uses.by_queue.find(queue.name);
    rooms.left[queue.name] = room_of(queue, use == uses.by_queue.end() ? QueueUse{} : use->second, now_us);
    rooms.limits[queue.name] = std::move(queue);
  }
  return rooms;
}

// After BEGIN. The clock is read when the locks are held, so that the starts of all claims are in its order.
JobClaimer::Rooms JobClaimer::find_rooms(PgConnection& connection, const std::vector<std::string>& queues) {
  const PgParameters parameters = PgParameters().add(text_array(queues));
  for (const std::string_view name : {"lock_queues", "retire_permits", "permit_counts", "queue_rates"})
    connection.send(statement(name), parameters);
  connection.send(statement("budget_uses"), budgets_of_queues(queues));
  connection.send(statement("database_time"));
  connection.sync();
  connection.receive();  // of BEGIN
  const PgResult limits = connection.receive();
  connection.receive();
  Uses uses;
  uses.add_permits(connection.receive());
  add_rates(connection.receive(), uses.by_queue);
  add_budget_uses(connection.receive(), false, uses.by_queue);
  return rooms_of(limits, uses, connection.receive().int8(0, 0));
}

// A queue that is not bound any more has room for any number.
PgParameters JobClaimer::with_rooms(PgParameters parameters, const std::vector<std::string>& queues,
                                    const Rooms& rooms) {
  PgArray free(PgType::int4), full_at(PgType::int8), pace(PgType::int8), ageing(PgType::int8),
      is_counted(PgType::boolean);
  for (const std::string& queue : queues) {
    const auto found = rooms.left.find(queue);
    const QueueLimits limits = found == rooms.left.end() ? QueueLimits{} : rooms.limits.at(queue);
    const QueueRoom room = found == rooms.left.end() ? room_of(limits, {}, rooms.now_us) : found->second;
    free.add(limits.has_keys() ? 0 : static_cast<std::int32_t>(room.free));  // the next claim goes key by key
    full_at.add(room.full_at);
    pace.add(room.pace_us);
    ageing.add(limits.ageing_us);
    is_counted.add(limits.is_counted());
  }
  parameters.add(std::move(free)).add(std::move(full_at)).add(std::move(pace));
  return parameters.add(std::move(ageing)).add(std::move(is_counted)).add(rooms.now_us);
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

// A transaction in which `claim` finds jobs and makes them ours, or finds that it must not (nothing). The claimed runs'
// heads and COMMIT are one round trip more. The jobs are known before COMMIT is sent: if its answer is lost, the next
// attempt finds out whether they are ours, so that no job stays held by a worker that does not know of it.
JobClaimer::Attempt JobClaimer::transact(const ClaimRequest& request,
                                         const std::function<Attempt(PgConnection&)>& claim) {
  std::vector<HeldJob> in_doubt;
  return placements_.run(request.shard, [&](PgConnection& connection) -> Attempt {
    if (!in_doubt.empty()) {
      ClaimedBatch ours = still_ours(connection, request, in_doubt);
      if (!ours.jobs.empty()) return ours;
      in_doubt.clear();
    }
    connection.begin_pipeline();
    connection.send(begin_statement());
    Attempt batch = claim(connection);
    if (!batch) return std::nullopt;
    for (const HeldJob& held : batch->jobs) CHECK(held.session == request.session);  // claimed for us: still_ours()
    // The heads are read after the claim, by a newer snapshot: a head is never older than the job it comes with, so a
    // stale cached state is always recognized.
    if (!batch->jobs.empty()) send_heads_query(connection, request, batch->jobs);
    connection.send(commit_statement());
    in_doubt = batch->jobs;
    connection.sync();
    if (!batch->jobs.empty()) receive_heads(connection, *batch);
    connection.finish();
    return batch;
  });
}

JobClaimer::Attempt JobClaimer::execute(const Statement& claim, const ClaimRequest& request) {
  using Kind = Statement::Kind;
  const PgParameters queues = PgParameters().add(text_array(request.queues));
  Rooms rooms;
  Attempt claimed = transact(request, [&](PgConnection& connection) -> Attempt {
    if (claim.kind == Kind::governed) {
      rooms = find_rooms(connection, request.queues);
      connection.send(statement(claim.name), with_rooms(claim.parameters, request.queues, rooms));
    } else {
      send_first(connection, claim, queues);
    }
    connection.sync();
    if (claim.kind != Kind::governed) connection.receive();  // of BEGIN
    if (claim.kind == Kind::limited) {
      record_limited(request.queues, read_queue_limits(connection.receive()));
      connection.receive();
    } else if (claim.kind == Kind::unlimited && !are_unlimited(connection)) {
      record_limited(request.queues, read_queue_limits(connection.query(statement("lock_queues"), queues)));
      return std::nullopt;
    }
    return ClaimedBatch{read_claimed_jobs(connection.receive()), {}};
  });
  if (claim.kind == Kind::governed) record_rooms(request.queues, rooms, claimed->jobs);
  return claimed;
}

// All that follows BEGIN in a claim of limited or of unlimited queues.
void JobClaimer::send_first(PgConnection& connection, const Statement& claim, const PgParameters& queues) {
  if (claim.kind == Statement::Kind::limited) {
    connection.send(statement("lock_queues"), queues);
    connection.send(statement("retire_permits"), queues);
  } else if (claim.kind == Statement::Kind::unlimited) {
    connection.send(statement("begin_claim"), queues);
  }
  connection.send(statement(claim.name), claim.parameters);
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

void JobClaimer::record_limited(const std::vector<std::string>& asked, const std::vector<QueueLimits>& limits) {
  const std::lock_guard lock(mutex_);
  for (const std::string& queue : asked) {
    limited_.erase(queue);
    governed_.erase(queue);
    keyed_.erase(queue);
  }
  for (const QueueLimits& queue : limits) {
    limited_.insert(queue.name);
    if (queue.is_governed()) governed_.insert(queue.name);
    if (queue.has_keys()) keyed_[queue.name] = queue.revision;
  }
}

// A claim that took all that a rate left looks again when there is more.
void JobClaimer::record_rooms(const std::vector<std::string>& asked, const Rooms& rooms,
                              const std::vector<HeldJob>& claimed) {
  std::vector<QueueLimits> all;
  std::optional<std::int64_t> wake_at;
  for (const auto& [name, limits] : rooms.limits) {
    all.push_back(limits);
    const auto is_of = [&queue = name](const HeldJob& held) { return held.job.queue == queue; };
    const auto taken = std::count_if(claimed.begin(), claimed.end(), is_of);
    const std::optional<TimeUs> until = held_back_until(limits, rooms.left.at(name), taken, rooms.now_us);
    if (!until) continue;
    const std::int64_t wait_us = std::clamp<std::int64_t>(*until - rooms.now_us, 0, held_back_max_us);
    const std::int64_t at_us = steady_us() + wait_us;
    wake_at = std::min(wake_at.value_or(at_us), at_us);
    const std::lock_guard lock(mutex_);
    held_back_[name] = at_us;
  }
  record_limited(asked, all);
  if (wake_at && wake_at_) wake_at_(*wake_at);
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

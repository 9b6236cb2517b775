#include "tests/faults/load.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "storage/server/cluster.hpp"
#include "tests/paths.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

constexpr std::chrono::seconds patience{120};
constexpr std::chrono::seconds window{2};
constexpr int windows = 3;                 // the rate is their median
constexpr TimeUs silence_us = 12'000'000;  // a session's time-to-live, and the longest pause between two sweeps
constexpr double rate_kept = 0.95;         // of the rate before the fault
constexpr int rate_tries = 2;              // a machine's pace changes from one minute to the next

TimeUs system_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// An attempt's end, as its event records it.
struct Ended {
  std::string run;
  std::int64_t step = 0;
  std::int64_t attempt = 0;
  std::string status;  // of a closed sub-goal; "" for a failed attempt
};

std::string list_of(const std::vector<std::string>& runs) {
  std::string list = "'{";
  for (const std::string& run : runs) list += (list.size() > 2 ? "," : "") + run;
  return list + "}'::uuid[]";
}

std::vector<Ended> read_ends(const std::string& dsn, const std::vector<std::string>& runs) {
  const PgResult rows =
      test::ask(dsn,
                "select run_id::text, coalesce(step, 0)::bigint, coalesce((payload->>'attempt')::bigint, 0), "
                "coalesce(payload->>'status', '') from cairn.events where type in ('sub_goal_closed', 'step_failed') "
                "and coalesce(payload->>'status', '') <> 'skipped' and run_id = any(" +
                    list_of(runs) + ")");
  std::vector<Ended> ends;
  for (int row = 0; row < rows.rows(); ++row)
    ends.push_back(
        {std::string(rows.text(row, 0)), rows.int8(row, 1), rows.int8(row, 2), std::string(rows.text(row, 3))});
  return ends;
}

// Its events, a line each.
std::string story_of(const std::string& dsn, const std::string& run) {
  const PgResult rows =
      test::ask(dsn,
                "select seq || ' at ' || (extract(epoch from at) * 1000000)::bigint || ' step ' || "
                "coalesce(step, 0) || ' ' || type || ' by ' || actor || ' commit ' || commit || ' ' || "
                "coalesce(left(payload::text, 200), '') from cairn.events where run_id = '" +
                    run + "' order by seq");
  std::string text;
  for (int row = 0; row < rows.rows(); ++row) text += std::string(rows.text(row, 0)) + "\n";
  return text;
}

// The moments at which steps were found to be lost, by the keys that their calls have.
std::multimap<std::string, TimeUs> read_losses(const std::string& dsn, const std::vector<std::string>& runs) {
  const PgResult rows =
      test::ask(dsn,
                "select e.run_id::text || '/' || e.step, (extract(epoch from e.at) * 1000000)::bigint "
                "from cairn.events e where e.type = 'step_failed' and e.payload->>'error' = 'lost' "
                "and e.run_id = any(" +
                    list_of(runs) + ")");
  std::multimap<std::string, TimeUs> losses;
  for (int row = 0; row < rows.rows(); ++row) losses.emplace(std::string(rows.text(row, 0)), rows.int8(row, 1));
  return losses;
}

std::map<std::string, std::string> read_statuses(const std::string& dsn, const std::vector<std::string>& runs) {
  const PgResult rows =
      test::ask(dsn, "select run_id::text, status from cairn.run where run_id = any(" + list_of(runs) + ")");
  std::map<std::string, std::string> statuses;
  for (int row = 0; row < rows.rows(); ++row) statuses[std::string(rows.text(row, 0))] = std::string(rows.text(row, 1));
  return statuses;
}

// A plan's sub-goals in four groups, in the order of their calls: one is called only after all of the group before it
// have succeeded.
std::map<std::string, int> groups_of(const std::vector<Execution>& calls) {
  std::map<std::string, int> groups;
  for (const Execution& one : calls) {
    constexpr int of_position[] = {0, 1, 1, 2, 3};
    const std::size_t position = std::min<std::size_t>(groups.size(), goals_per_plan - 1);
    groups.try_emplace(one.key, of_position[position]);
  }
  return groups;
}

// The next call of this worker, or of any.
std::optional<TimeUs> next_call(const std::vector<Execution>& ledger, TimeUs from,
                                std::optional<pid_t> worker = std::nullopt) {
  std::optional<TimeUs> next;
  for (const Execution& one : ledger)
    if (one.at >= from && (!worker || one.worker == *worker) && (!next || one.at < *next)) next = one.at;
  return next;
}

bool must_fail(const std::string& how) {
  static const std::set<std::string> ways = {"crash", "hang", "endless", "memory", "deep", "not_utf8", "large"};
  return ways.contains(how);
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

void accept_unsigned(const std::function<Arguments(Arguments)>& on, const std::set<std::string>& left) {
  const Ran before = cairn(on({"verify", "--all", "--json"}));
  for (const Json& finding : before.json().at("findings")) {
    EXPECT_EQ(finding.at("kind"), "unsigned") << finding;
    EXPECT_TRUE(finding.at("run").is_string() && left.contains(finding.at("run").get<std::string>())) << finding;
  }
  if (left.empty()) return;
  Arguments accept = {"verify"};
  accept.insert(accept.end(), left.begin(), left.end());
  accept.emplace_back("--accept");
  const Ran accepted = cairn(on(std::move(accept)));
  EXPECT_EQ(accepted.exit, 0) << accepted.out << accepted.err;
}

Json plan_of(const std::string& load, int number) {
  Json plan = {{"goal", load + " " + std::to_string(number)}, {"sub_goals", Json::array()}};
  const auto add = [&](const char* id, const std::vector<std::string>& after) {
    plan["sub_goals"].push_back({{"id", id}, {"tool", "note"}, {"inputs", {{"n", number}}}, {"after", after}});
  };
  add("a", {});
  add("b", {"a"});
  add("c", {"a"});
  add("d", {"b", "c"});
  add("e", {"d"});
  return plan;
}

std::vector<Execution> read_ledger(const std::filesystem::path& ledger) {
  std::vector<Execution> executions;
  std::istringstream text(read_file(ledger));
  for (Execution one; text >> one.key >> one.attempt >> one.at >> one.worker;) executions.push_back(one);
  return executions;
}

std::string cluster_dsn() { return cluster_dsn(directory() / "data"); }

std::string cluster_dsn(const std::filesystem::path& data) {
  const Result<Cluster> cluster = start_cluster(data.string());
  if (!cluster) throw std::runtime_error(cluster.error().message);
  return cluster->owner_dsn;
}

pid_t postmaster() {
  std::ifstream file(directory() / "data" / "data" / "postmaster.pid");
  pid_t pid = 0;
  file >> pid;
  if (pid <= 1) throw std::runtime_error("no server is running");
  return pid;
}

Load::Load(LoadOptions options) : options_(std::move(options)), ledger_(directory() / (options_.name + ".ledger")) {
  setenv("CAIRN_LOG", "info", 1);  // the log says how commits in doubt were resolved
  // One folder for each database: those who name the server and those who do not sign with one key.
  const std::string signed_in = options_.dsn.empty() && options_.data.empty() ? "embedded" : options_.name;
  const std::filesystem::path folder =
      options_.checkpoints.empty() ? directory() / (signed_in + "_checkpoints") : options_.checkpoints;
  setenv("CAIRN_CHECKPOINTS", folder.c_str(), 1);
  unsetenv("CAIRN_CHECKPOINT_MS");
  if (options_.checkpoint_ms > 0) setenv("CAIRN_CHECKPOINT_MS", std::to_string(options_.checkpoint_ms).c_str(), 1);
  write_tools();
  cairn_ok(with_dsn({"migrate"}));
  for (int i = 0; i < options_.workers; ++i) workers_.emplace_back(work(static_cast<std::size_t>(i)));
}

void Load::write_tools() {
  const auto tool = [&](int timeout_ms) {
    return Json{{"exec", {testing::note_program(), ledger_.string(), std::to_string(options_.work_ms)}},
                {"timeout_ms", timeout_ms}};
  };
  Json tools = {{"note", tool(10'000)}, {"poison", tool(2'000)}};
  tools["poison"]["limits"] = {{"memory_bytes", 256 << 20}};
  tools_ = write_file(options_.name + ".json", Json{{"tools", tools}}.dump());
}

Arguments Load::with_dsn(Arguments arguments) const {
  if (!options_.dsn.empty()) arguments.insert(arguments.end(), {"--dsn", options_.dsn});
  if (!options_.data.empty()) arguments.insert(arguments.end(), {"--data", options_.data.string()});
  return arguments;
}

std::string Load::database() const {
  if (!options_.data.empty()) return cluster_dsn(options_.data);
  return options_.dsn.empty() ? cluster_dsn() : options_.dsn;
}

Arguments Load::work(std::size_t n) const {
  Arguments arguments = {"work", "--tools", tools_, "--concurrency", "6", "--json"};
  if (options_.worker_dsns.empty()) return with_dsn(arguments);
  arguments.insert(arguments.end(), {"--dsn", options_.worker_dsns[n % options_.worker_dsns.size()]});
  return arguments;
}

void Load::replace_worker(std::size_t n) {
  const pid_t victim = worker(n).pid();
  strike({n}, [&] {
    worker(n).signal(SIGKILL);
    wait_until([&] { return worker(n).has_ended(); });
  });
  killed_.insert(victim);
  read_log(worker(n).err());
  worker(n) = Beside(work(n % workers_.size()));
}

void Load::kill_as_wished() const {
  const std::filesystem::path wishes = ledger_.string() + ".wishes";
  const std::filesystem::path taken = ledger_.string() + ".wishes.taken";
  std::error_code none;
  std::filesystem::rename(wishes, taken, none);
  if (none) return;
  std::ifstream file(taken);
  for (pid_t process = 0; file >> process;)
    if (process > 1) kill(process, SIGKILL);
}

Arguments Load::start_arguments(const Json& plan, const std::string& key) const {
  return with_dsn({"start", "plan_runner", "--input", plan.dump(), "--key", key, "--tag", "load=" + options_.name,
                   "--tools", tools_, "--json"});
}

std::string Load::start_under_key(const Json& plan) {
  const std::string key = options_.name + std::to_string(++keys_);
  const Arguments start = start_arguments(plan, key);
  Ran ran;
  const bool told = wait_until(
      [&] {
        ran = cairn(start);
        EXPECT_TRUE(ran.exit == 0 || ran.exit == 5) << ran.exit << " " << ran.err;
        return ran.exit == 0;
      },
      patience);
  EXPECT_TRUE(told) << ran.err;
  return told ? ran.json()["run"].get<std::string>() : "";
}

void Load::start_plan() { note_start(start_under_key(plan_of(options_.name, keys_))); }

void Load::start_plans(int count) {
  for (int i = 0; i < count; ++i) start_plan();
}

void Load::start_again(int times) {
  const Json plan = plan_of(options_.name, keys_);
  std::vector<Beside> clients;
  const std::string key = options_.name + std::to_string(keys_ + 1);
  for (int n = 1; n < times; ++n) clients.emplace_back(start_arguments(plan, key));
  const std::string run = start_under_key(plan);
  for (Beside& client : clients) EXPECT_TRUE(client.wait() != 0 || Json::parse(client.out())["run"] == run);
  note_start(run);
}

void Load::start_batch(int count) {
  std::string inputs;
  for (int i = 0; i < count; ++i) inputs += plan_of(options_.name, 1'000'000 * (batches_ + 1) + i).dump() + "\n";
  const std::string file = write_file(options_.name + std::to_string(++batches_) + ".jsonl", inputs);
  for (const Json& run :
       cairn_ok(with_dsn({"batch", "plan_runner", "--inputs", file, "--tools", tools_, "--json"})).lines())
    if (run.contains("run")) note_start(run["run"]);
}

void Load::start_poison(const std::string& how) {
  const Json goal = {{"id", "p"}, {"tool", "poison"}, {"inputs", {{"how", how}}}};
  poison_.push_back({how, start_under_key({{"goal", how}, {"sub_goals", {goal}}})});
}

bool Load::have_ended() const {
  for (const char* status : {"running", "paused"}) {
    const Ran ran = cairn(with_dsn({"runs", "--status", status, "--limit", "1", "--json"}));
    if (ran.exit != 0 || !ran.out.empty()) return false;
  }
  return true;
}

double Load::rate_between(TimeUs from, TimeUs until) const {
  int count = 0;
  for (const Execution& one : read_ledger(ledger_)) count += one.at >= from && one.at < until ? 1 : 0;
  return 1e6 * static_cast<double>(count) / static_cast<double>(until - from);
}

double Load::rate(std::chrono::seconds span) const {
  const TimeUs from = system_now();
  std::this_thread::sleep_for(span);
  return rate_between(from, system_now());
}

double Load::median_rate() const {
  std::vector<double> rates;
  for (int n = 0; n < windows; ++n) rates.push_back(rate(window));
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

void Load::measure_before() {
  if (!is_full()) return;
  start_batch(options_.batch);
  EXPECT_TRUE(wait_until([this] { return read_ledger(ledger_).size() > 20; }, patience));
  line_.before_per_s = median_rate();
}

// With as much work as before: what was started then may be about to end.
void Load::measure_after() {
  if (!is_full()) return;
  for (int tries = 0; tries < rate_tries && line_.after_per_s < rate_kept * line_.before_per_s; ++tries) {
    start_batch(options_.batch_after);
    line_.after_per_s = median_rate();
  }
}

void Load::measure_during(const std::function<void()>& fault, double kept_at_least) {
  const TimeUs from = system_now();
  fault();
  if (!is_full()) return;
  const TimeUs until = system_now();
  line_.during_s = static_cast<double>(until - from) / 1e6;
  line_.during_per_s = rate_between(from, until);
  EXPECT_GE(line_.during_per_s, kept_at_least * line_.before_per_s) << "the fault held up others";
}

double Load::step_p99_ms(std::chrono::seconds span, const std::function<void()>& beside) {
  const std::size_t first = runs_.size();
  for (const TimeUs until = system_now() + span.count() * 1'000'000; system_now() < until; beside()) start_plan();
  wait_until_ended();
  std::map<std::string, std::vector<TimeUs>> calls;
  for (const Execution& one : read_ledger(ledger_)) calls[one.key.substr(0, one.key.find('/'))].push_back(one.at);
  std::vector<TimeUs> gaps;
  for (std::size_t n = first; n < runs_.size(); ++n) {
    std::vector<TimeUs>& at = calls[runs_[n].run];
    std::sort(at.begin(), at.end());
    if (at.size() != goals_per_plan) continue;  // b and c are side by side
    gaps.insert(gaps.end(), {at[1] - at[0], at[3] - at[2], at[4] - at[3]});
  }
  std::sort(gaps.begin(), gaps.end());
  EXPECT_GT(gaps.size(), 20u);
  return gaps.empty() ? 0 : static_cast<double>(gaps[gaps.size() * 99 / 100]) / 1'000;
}

bool Load::has_said(const std::string& text) const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [&](const Beside& worker) { return worker.err().find(text) != std::string::npos; });
}

void Load::under(int times, std::chrono::milliseconds pause, const std::function<void()>& fault) {
  for (int n = 0; n < times; ++n) {
    start_plans(2);
    const std::size_t noted = outages_.size();
    fault();
    if (outages_.size() == noted) fault_ended();
    start_plan();
    std::this_thread::sleep_for(pause);
  }
}

void Load::fault_ended() { outages_.push_back({system_now(), system_now()}); }
void Load::fault_ended(std::chrono::system_clock::time_point began) {
  const auto since_epoch = began.time_since_epoch();
  outages_.push_back({system_now(), std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count()});
}

void Load::strike(const std::vector<std::size_t>& workers, const std::function<void()>& fault) {
  Outage outage;
  for (const std::size_t n : workers) outage.struck.insert(worker(n).pid());
  outage.counted_from = system_now();
  fault();
  outage.ended_at = system_now();
  outages_.push_back(std::move(outage));
}

std::vector<std::size_t> Load::all_workers() const {
  std::vector<std::size_t> all;
  for (std::size_t n = 0; n < workers_.size(); ++n) all.push_back(n);
  return all;
}

void Load::lose(Unwritten what, const std::function<void()>& fault) {
  const TimeUs from = system_now();
  fault();
  lapses_.push_back({what, from, system_now()});
}

void Load::outlive_primary(const std::function<void()>& silence, const std::function<void()>& promote,
                           const std::string& fault) {
  start_plans(6);
  measure_before();
  lose(Unwritten::claims, [&] {
    silence();
    std::this_thread::sleep_for(std::chrono::seconds(3));
    promote();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  });
  fault_ended();
  start_plans(3);
  measure_after();
  wait_until_ended();
  expect_nothing_lost_or_doubled(fault, 1);
}

// Claims are on disk within half a second, and a tool notes its call a moment after the claim.
bool Load::is_in_lapse(TimeUs at, Unwritten what) const {
  constexpr TimeUs before = 1'000'000;
  constexpr TimeUs after = 1'000'000;
  return std::any_of(lapses_.begin(), lapses_.end(), [&](const Lapse& lapse) {
    return (what == Unwritten::claims || lapse.what == what) && at >= lapse.from - before && at <= lapse.until + after;
  });
}

void Load::wait_until_ended() {
  EXPECT_TRUE(wait_until([this] { return have_ended(); }, patience)) << "the runs did not end";
}

void Load::drain_workers() {
  for (Beside& worker : workers_) {
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(), 0) << worker.err();
    std::istringstream lines(worker.out());
    for (std::string line; std::getline(lines, line);) line_.stale += Json::parse(line).value("stale", 0);
    read_log(worker.err());
  }
}

void Load::read_log(const std::string& text) {
  line_.landed += count_of(text, "had landed");
  line_.not_landed += count_of(text, "had not landed");
}

void Load::note_start(std::string run) { runs_.push_back({std::move(run), system_now()}); }

std::vector<std::string> Load::runs() const {
  std::vector<std::string> runs;
  for (const Start& start : runs_) runs.push_back(start.run);
  return runs;
}

// The last ten faults, by the microseconds from their end to `at`.
std::string Load::ended_before(TimeUs at) const {
  std::string text;
  for (std::size_t n = outages_.size(), count = 0; n > 0 && count < 10; --n) {
    if (outages_[n - 1].ended_at > at) continue;
    text += " " + std::to_string(at - outages_[n - 1].ended_at);
    ++count;
  }
  return text;
}

// An attempt's second execution has a reason if the first one's claim may have been lost.
void Load::count_executions(const std::vector<Execution>& ledger) {
  std::map<std::pair<std::string, int>, Execution> first;
  for (const Execution& one : ledger) {
    const auto [before, is_first] = first.emplace(std::pair(one.key, one.attempt), one);
    if (is_first || tried_again_.contains(one.key.substr(0, one.key.find('/')))) continue;
    ++line_.executed_twice;
    EXPECT_TRUE(is_in_lapse(before->second.at, Unwritten::claims))
        << one.key << ", attempt " << one.attempt << ", was executed twice: at " << before->second.at << " us by "
        << before->second.worker << " and at " << one.at << " us by " << one.worker << ", after faults"
        << ended_before(one.at) << "\n"
        << story_of(database(), one.key.substr(0, one.key.find('/')));
  }
}

void Load::compare() {
  const std::string dsn = database();
  const std::vector<Execution> ledger = read_ledger(ledger_);
  count_executions(ledger);
  std::map<std::string, int> steps_of_run;
  for (const Execution& one : ledger) ++steps_of_run[one.key.substr(0, one.key.find('/'))];
  std::map<std::string, int> closed;
  std::set<std::tuple<std::string, std::int64_t, std::int64_t>> ends;
  for (const Ended& one : read_ends(dsn, runs())) {
    if (!ends.emplace(one.run, one.step, one.attempt).second) ++line_.recorded_twice;
    if (one.status == "succeeded") ++closed[one.run];
  }
  const std::map<std::string, std::string> statuses = read_statuses(dsn, runs());
  for (const auto& [run, acknowledged_at] : runs_) {
    const auto status = statuses.find(run);
    if (status == statuses.end() && is_in_lapse(acknowledged_at, Unwritten::commits)) {
      gone_.push_back(run);
      continue;
    }
    if (status == statuses.end() || closed[run] != goals_per_plan) ++line_.lost;
    if (status != statuses.end() && status->second != "done") ++line_.harmed;
    EXPECT_GE(steps_of_run[run], status == statuses.end() ? 0 : goals_per_plan)
        << "closed without having been executed";
  }
  compare_poison(dsn);
  const std::vector<std::string> all = runs();
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size()) << "two keys, one run";
  EXPECT_EQ(line_.lost, 0);
  EXPECT_EQ(line_.harmed, 0);
  EXPECT_EQ(line_.recorded_twice, 0);
  measure_recoveries(ledger);
}

void Load::compare_poison(const std::string& dsn) const {
  if (poison_.empty()) return;
  std::vector<std::string> all;
  for (const Poison& one : poison_) all.push_back(one.run);
  std::map<std::string, std::string> statuses = read_statuses(dsn, all);
  for (const auto& [how, run] : poison_) {
    const std::string& status = statuses[run];
    EXPECT_TRUE(status == "failed" || (status == "done" && !must_fail(how))) << how << ", " << run << ": " << status;
  }
}

// Twice the time-to-live of a worker and the longest pause between two sweeps, beyond the fault's own time.
void Load::note_recovery(const Outage& outage, TimeUs next) {
  const TimeUs bound_us = outage.ended_at - outage.counted_from + 2 * silence_us, took_us = next - outage.counted_from;
  EXPECT_LE(took_us, bound_us) << "us, from a fault until work goes on";
  line_.recovery_ms.push_back(static_cast<double>(took_us) / 1'000);
}

void Load::measure_recoveries(const std::vector<Execution>& ledger) {
  bool has_struck = false;
  for (const Outage& one : outages_) {
    has_struck = has_struck || !one.struck.empty();
    if (!one.struck.empty()) {
      measure_struck(one, ledger);
      continue;
    }
    const std::optional<TimeUs> next = next_call(ledger, one.ended_at);
    EXPECT_TRUE(next) << "no call follows a fault";
    if (next) note_recovery(one, *next);
  }
  if (is_full() && has_struck) {
    EXPECT_FALSE(line_.recovery_ms.empty()) << "no worker that was struck held a step";
  }
}

// A step that such a worker was at: it is found to be lost, and others may have it; or the worker goes on, and calls
// another one.
void Load::measure_struck(const Outage& outage, const std::vector<Execution>& ledger) {
  const TimeUs work_us = TimeUs{1'000} * options_.work_ms;
  std::vector<std::string> all = runs();
  for (const Poison& one : poison_)
    if (!one.run.empty()) all.push_back(one.run);
  const std::multimap<std::string, TimeUs> losses = read_losses(database(), all);
  for (const Execution& held : ledger) {
    const TimeUs since_us = outage.counted_from - held.at;
    if (!outage.struck.contains(held.worker) || since_us < 0 || since_us >= work_us) continue;
    std::optional<TimeUs> next;
    if (!killed_.contains(held.worker)) next = next_call(ledger, outage.ended_at + 1, held.worker);
    const auto [begin, end] = losses.equal_range(held.key);
    for (auto loss = begin; loss != end; ++loss)
      if (loss->second >= outage.counted_from && (!next || loss->second < *next)) next = loss->second;
    if (next) note_recovery(outage, *next);  // else it came through, as all plans are done, and was that worker's last
  }
}

// Those that a killed worker had in its hands: nothing else of a run's end may lack a signature.
std::set<std::string> Load::left_unsigned() const {
  std::set<std::string> own, left;
  for (const Start& start : runs_) own.insert(start.run);
  for (const Poison& one : poison_)
    if (!one.run.empty()) left.insert(one.run);
  for (const Execution& one : read_ledger(ledger_)) {
    const std::string run = one.key.substr(0, one.key.find('/'));
    if (killed_.contains(one.worker) || !own.contains(run)) left.insert(run);
  }
  return left;
}

// A sub-goal is called once the commits of those before it are there. Where it was called in the first second of a
// lapse that lasts two at least, the worker has signed them; where one of those before it is executed again after the
// lapse, the database had forgotten its end.
std::set<std::string> Load::shortened() const {
  constexpr TimeUs signed_us = 1'000'000;
  std::map<std::string, std::vector<Execution>> calls;
  for (const Start& start : runs_) calls[start.run];
  for (const Execution& one : read_ledger(ledger_))
    if (const auto run = calls.find(one.key.substr(0, one.key.find('/'))); run != calls.end())
      run->second.push_back(one);
  std::set<std::string> found;
  for (const Lapse& lapse : lapses_) {
    if (lapse.what != Unwritten::commits || lapse.until - lapse.from < 2 * signed_us) continue;
    for (auto& [run, all] : calls) {
      std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
      std::map<std::string, int> groups = groups_of(all);
      int signed_group = 0;  // all before it
      for (const Execution& one : all)
        if (one.at <= lapse.from + signed_us) signed_group = std::max(signed_group, groups[one.key]);
      for (const Execution& one : all)
        if (one.at > lapse.until && groups[one.key] < signed_group) found.insert(run);
    }
  }
  for (const std::string& run : gone_) found.erase(run);
  return found;
}

void Load::check_database() const {
  const Ran runs = cairn_ok(with_dsn({"runs", "--tag", "load=" + options_.name, "--limit", "100000", "--json"}));
  EXPECT_EQ(runs.lines().size() + gone_.size(), static_cast<std::size_t>(keys_))
      << "a key that was used again made another run";
  EXPECT_EQ(cairn(with_dsn({"rebuild", "--check"})).exit, 0) << "rows differ from the history";
  if (!killed_.empty())
    accept_unsigned([this](Arguments arguments) { return with_dsn(std::move(arguments)); }, left_unsigned());
  const Ran verified = cairn(with_dsn({"verify", "--all"}));
  const bool lost_commits =
      std::any_of(lapses_.begin(), lapses_.end(), [](const Lapse& lapse) { return lapse.what == Unwritten::commits; });
  EXPECT_EQ(verified.exit, lost_commits ? 1 : 0) << verified.out << verified.err;
  for (const std::string& run : gone_) EXPECT_NE(verified.out.find(run), std::string::npos) << "not named: " << run;
  if (options_.checkpoint_ms == 0) return;
  const std::set<std::string> lacking = shortened();
  EXPECT_FALSE(lacking.empty()) << "no run has lost a signed event, as far as the ledger shows";
  for (const std::string& run : lacking)
    EXPECT_NE(verified.out.find(run), std::string::npos) << "it has lost signed events, and is not named: " << run;
}

void Load::expect_nothing_lost_or_doubled(const std::string& fault, int injected) {
  drain_workers();
  line_.fault = fault;
  line_.injected = injected;
  line_.acknowledged += static_cast<std::int64_t>(runs_.size() + poison_.size());
  line_.bystanders = static_cast<std::int64_t>(runs_.size());
  compare();
  line_.gone = static_cast<std::int64_t>(gone_.size());
  check_database();
  if (is_full()) {  // on a machine that does nothing else; a short look at a busy one says little of speed
    EXPECT_GE(line_.after_per_s, rate_kept * line_.before_per_s) << "slower after the fault than before";
  }
  add_line(std::move(line_));
}

}  // namespace cairn::program

#include "tests/faults/load.hpp"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <iomanip>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "storage/postgres/cluster.hpp"

namespace cairn::program {
namespace {

constexpr std::chrono::seconds patience{120};

// A diamond and its end: a, then b and c side by side, then d, then e.
std::string plan_text(int number) {
  Json plan = {{"goal", "plan " + std::to_string(number)}, {"sub_goals", Json::array()}};
  const auto add = [&](const char* id, const std::vector<std::string>& after) {
    plan["sub_goals"].push_back({{"id", id}, {"tool", "note"}, {"inputs", {{"n", number}}}, {"after", after}});
  };
  add("a", {});
  add("b", {"a"});
  add("c", {"a"});
  add("d", {"b", "c"});
  add("e", {"d"});
  return plan.dump();
}
constexpr int goals_per_plan = 5;

// The tool's program: writes down the step's key and the attempt in one line, then works for a while.
std::string note_script(const std::filesystem::path& ledger, const std::string& seconds) {
  return "document=$(cat)\n"
         "key=$(printf '%s' \"$document\" | sed 's/.*\"key\":\"\\([^\"]*\\)\".*/\\1/')\n"
         "attempt=$(printf '%s' \"$document\" | sed 's/.*\"attempt\":\\([0-9]*\\).*/\\1/')\n"
         "[ -n \"$key\" ] || exit 75\n"
         "echo \"$key $attempt\" >> " +
         ledger.string() + "\nsleep " + seconds + "\necho '{\"noted\": true}'\n";
}

std::map<std::string, int> read_ledger(const std::filesystem::path& ledger) {
  std::map<std::string, int> lines;
  std::istringstream text(read_file(ledger));
  for (std::string line; std::getline(text, line);) ++lines[line];
  return lines;
}

}  // namespace

std::string cluster_dsn() {
  const Result<Cluster> cluster = start_cluster((directory() / "data").string());
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

Load::Load(std::string name, int workers, std::string dsn, const std::string& seconds)
    : name_(std::move(name)), dsn_(std::move(dsn)), ledger_(directory() / (name_ + ".ledger")) {
  const Json tool = {{"exec", {"/bin/sh", write_file(name_ + ".sh", note_script(ledger_, seconds)).string()}}};
  tools_ = write_file(name_ + ".json", Json{{"tools", {{"note", tool}}}}.dump());
  cairn_ok({"migrate"});
  for (int i = 0; i < workers; ++i) workers_.emplace_back(work());
}

Arguments Load::work() const {
  Arguments arguments = {"work", "--tools", tools_, "--concurrency", "6", "--json"};
  if (!dsn_.empty()) arguments.insert(arguments.end(), {"--dsn", dsn_});
  return arguments;
}

void Load::replace_worker(std::size_t n) { worker(n) = Beside(work()); }

void Load::start_plan() {
  const std::string key = name_ + std::to_string(++keys_);
  Arguments start = {"start", "plan_runner",   "--input", plan_text(keys_), "--key", key,
                     "--tag", "load=" + name_, "--tools", tools_,           "--json"};
  if (!dsn_.empty()) start.insert(start.end(), {"--dsn", dsn_});
  Ran ran;
  const bool told = wait_until(
      [&] {
        ran = cairn(start);
        told_again_ += ran.exit == 0 ? 0 : 1;
        EXPECT_TRUE(ran.exit == 0 || ran.exit == 5) << ran.exit << " " << ran.err;
        return ran.exit == 0;
      },
      patience);
  ASSERT_TRUE(told) << ran.err;
  runs_.push_back(ran.json()["run"]);
}

void Load::start_plans(int count) {
  for (int i = 0; i < count; ++i) start_plan();
}

bool Load::have_ended() const {
  const Ran ran = cairn({"runs", "--tag", "load=" + name_, "--status", "running", "--limit", "1", "--json"});
  return ran.exit == 0 && ran.out.empty();
}

void Load::under(int times, std::chrono::milliseconds pause, const std::function<void()>& fault) {
  for (int n = 0; n < times; ++n) {
    start_plans(2);
    fault();
    std::this_thread::sleep_for(pause);
  }
}

void Load::wait_until_ended() {
  EXPECT_TRUE(wait_until([this] { return have_ended(); }, patience)) << "the runs did not end";
}

Load::Counted Load::count_events(const std::string& run) const {
  Counted counted;
  std::set<std::pair<std::int64_t, std::int64_t>> reported;
  std::set<std::string> closed;
  for (const Json& event : cairn_ok({"events", run, "--json"}).lines()) {
    const bool is_closed = event["type"] == "sub_goal_closed";
    const bool is_failed = event["type"] == "step_failed";
    if (!is_closed && !is_failed) continue;
    if (!reported.emplace(event["step"], event["attempt"]).second) ++counted.twice;
    if (is_failed) ++counted.lost_attempts;
    if (!is_closed) continue;
    ++counted.closed;
    if (!closed.insert(event["sub_goal"].get<std::string>()).second) ++counted.twice;
    EXPECT_EQ(event["status"], "succeeded") << event;
  }
  return counted;
}

void Load::expect_nothing_lost_or_doubled(const std::string& fault, int injected, Server server) {
  const auto took = std::chrono::steady_clock::now() - began_;
  for (Beside& worker : workers_) {
    worker.signal(SIGTERM);
    EXPECT_EQ(worker.wait(), 0);
    std::istringstream lines(worker.out());
    for (std::string line; std::getline(lines, line);) stale_ += Json::parse(line).value("stale", 0);
  }
  const std::map<std::string, int> noted = read_ledger(ledger_);
  std::map<std::string, int> steps_of_run;
  int executed_twice = 0;
  for (const auto& [line, count] : noted) {
    ++steps_of_run[line.substr(0, line.find('/'))];
    executed_twice += count > 1 ? 1 : 0;
  }
  int lost = 0;
  Counted all;
  EXPECT_EQ(std::set<std::string>(runs_.begin(), runs_.end()).size(), runs_.size()) << "two keys, one run";
  const std::size_t there = cairn_ok({"runs", "--tag", "load=" + name_, "--limit", "100000", "--json"}).lines().size();
  EXPECT_EQ(there, runs_.size()) << "a key that was used again made another run";
  for (const std::string& run : runs_) {
    const Json shown = cairn_ok({"show", run, "--json"}).json();
    EXPECT_EQ(shown["status"], "done") << run;
    const Counted counted = count_events(run);
    all.closed += counted.closed;
    all.twice += counted.twice;
    all.lost_attempts += counted.lost_attempts;
    lost += shown["status"] == "done" && counted.closed == goals_per_plan ? 0 : 1;
    EXPECT_GE(steps_of_run[run], goals_per_plan) << "closed without having been executed";
  }
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(all.twice, 0);
  EXPECT_LE(executed_twice, server == Server::forgets ? stale_ : 0) << "an attempt was executed twice";
  std::cout << "| " << std::left << std::setw(48) << fault << "| injected " << std::setw(4) << injected << "| runs "
            << std::setw(4) << runs_.size() << "| sub-goals " << std::setw(5) << all.closed << "| attempts lost "
            << std::setw(4) << all.lost_attempts << "| refused late " << std::setw(4) << stale_ << "| executed twice "
            << std::setw(4) << executed_twice << "| asked again " << std::setw(4) << told_again_
            << "| acknowledged lost " << lost << " | recorded twice " << all.twice << " | "
            << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms |" << std::endl;
}

}  // namespace cairn::program

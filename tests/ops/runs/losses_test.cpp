// Real workers that are killed: who is charged for it.
#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>

#include "tests/ops/program.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

// A graph of one step on a tool, in a queue of its own.
std::string tool_graph(const std::string& name, const Json& with, const Json& retry = Json::object()) {
  const Json graph = {
      {"name", name},
      {"start", "work"},
      {"limits", {{"steps", 10}}},
      {"nodes",
       {{"work",
         {{"do", "tool.call"}, {"queue", "losses"}, {"with", with}, {"retry", retry}, {"on", {{"ok", "finish"}}}}},
        {"finish", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file(name + ".json", graph.dump()).string()});
  return name;
}

std::string start(const std::string& graph) { return cairn_ok({"start", graph, "--json"}).json()["run"]; }
std::string status_of(const std::string& run) { return cairn_ok({"show", run, "--json"}).json()["status"]; }

int losses_of(const std::string& run) {
  int losses = 0;
  for (const Json& event : cairn_ok({"events", run, "--json"}).lines())
    losses += event["type"] == "step_failed" && event["error"] == "lost" ? 1 : 0;
  return losses;
}

std::size_t lines_in(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

bool has_exited(pid_t pid) {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0;
}

class Losses : public ::testing::Test {
 protected:
  Losses() {
    tools_ = write_file(
        "losses_tools.json",
        Json{{"tools",
              {{"slow",
                {{"exec",
                  {"/bin/sh", "-c", "cat > /dev/null; echo x >> " + ledger_.string() + "; sleep 0.6; echo '{}'"}}}},
               {"killer",  // a program may not signal its worker: the test does it
                {{"exec", {"/bin/sh", "-c", "cat > /dev/null; touch " + wish_.string() + "; sleep 20"}}}}}}}
            .dump());
  }
  Arguments work() const { return {"work", "--queue", "losses", "--tools", tools_.string(), "--json"}; }
  bool have_ended(const std::vector<std::string>& runs) const {
    return std::none_of(runs.begin(), runs.end(), [](const std::string& run) { return status_of(run) == "running"; });
  }

  const std::filesystem::path ledger_ = write_file("losses_ledger", "");
  const std::filesystem::path wish_ = directory() / "losses_wish";  // it is there: the worker is to be killed
  std::filesystem::path tools_;
};

TEST_F(Losses, A10_six_workers_that_are_killed_fail_none_of_ten_runs_whose_steps_did_nothing_wrong) {
  const std::string graph = tool_graph("deployed", {{"tool", "slow"}, {"inputs", Json::object()}});
  std::vector<std::string> runs;
  for (int n = 0; n < 10; ++n) runs.push_back(start(graph));
  for (int n = 0; n < 6; ++n) {
    const std::size_t before = lines_in(ledger_);
    Beside worker(work());
    ASSERT_TRUE(wait_until([&] { return lines_in(ledger_) > before; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // in the middle of it
    worker.signal(SIGKILL);
    worker.wait();
  }
  Beside worker(work());
  EXPECT_TRUE(wait_until([&] { return have_ended(runs); }));
  int losses = 0;
  for (const std::string& run : runs) {
    EXPECT_EQ(status_of(run), "done");
    losses += losses_of(run);
  }
  EXPECT_GE(losses, 10);
  EXPECT_LE(losses, 24) << "two each, and then one at a time";
}

TEST_F(Losses, A10_a_step_that_kills_its_workers_ends_and_those_beside_it_do_not) {
  const std::string killer =
      start(tool_graph("killing", {{"tool", "killer"}, {"inputs", Json::object()}}, {{"lost", 1}}));
  const std::string graph = tool_graph("beside", {{"tool", "slow"}, {"inputs", Json::object()}});
  const std::vector<std::string> beside = {start(graph), start(graph), start(graph)};
  int killed = 0;
  for (; killed < 20 && status_of(killer) == "running"; ++killed) {
    Beside worker(work());
    ASSERT_TRUE(wait_until([&] {
      if (std::filesystem::remove(wish_)) worker.signal(SIGKILL);
      return has_exited(worker.pid()) || status_of(killer) != "running";
    }));
  }
  EXPECT_EQ(status_of(killer), "failed");
  EXPECT_EQ(losses_of(killer), 4) << "two beside others, one that is allowed alone, and the one too many";
  Beside worker(work());
  EXPECT_TRUE(wait_until([&] { return have_ended(beside); }));
  for (const std::string& run : beside) {
    EXPECT_EQ(status_of(run), "done");
    EXPECT_LE(losses_of(run), 2);
  }
}

// The row of a worker that died, and what it held: its process is none, and its counter stands still.
void hold_by_a_dead_worker(int session, const std::string& run, const std::string& begun) {
  const std::string id = std::to_string(session);
  test::ask(owner_dsn(),
            "insert into cairn.worker (session, counter, started_at, beat_at, pid, host, queues, only_own, machine, "
            "alone, feeds, begun) values (" +
                id + ", 1, 1, 1, 1, 'gone', '{}', false, '', '', true, " + begun + ")");
  test::ask(owner_dsn(), "update cairn.job set session = " + id + ", epoch = 7 where run_id = '" + run + "'");
}

TEST_F(Losses, A10_a_step_that_may_not_be_lost_is_not_charged_before_it_has_begun) {
  const std::string graph = tool_graph("once", {{"tool", "slow"}, {"inputs", Json::object()}}, {{"lost", 0}});
  const std::string waited = start(graph), begun = start(graph), older = start(graph);
  hold_by_a_dead_worker(71, waited, "'{}'");
  hold_by_a_dead_worker(72, begun, "array['" + begun + " 1 1 7']");
  hold_by_a_dead_worker(73, older, "null");
  Beside worker(work());
  EXPECT_TRUE(wait_until([&] { return have_ended({waited, begun, older}); })) << worker.err();
  EXPECT_EQ(status_of(waited), "done");
  EXPECT_EQ(losses_of(waited), 0);
  EXPECT_EQ(status_of(begun), "failed");
  EXPECT_EQ(losses_of(begun), 1);
  EXPECT_EQ(status_of(older), "failed") << "that of a release that does not say";
  EXPECT_EQ(lines_in(ledger_), 1u);
}

}  // namespace
}  // namespace cairn::program

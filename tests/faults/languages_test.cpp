// Workers in Python and TypeScript while everything around them is killed: workers, `cairn serve`, the database. Each
// step counts once, and the history proves it.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "tests/faults/load.hpp"
#include "tests/faults/server.hpp"
#include "tests/ops/free_port.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

constexpr int runs_at_once = 40;
constexpr int rounds = 8;

const std::string python_worker = R"(
import os, time
from cairn import Worker

worker = Worker(queues=["py"], concurrency=8)

@worker.handler("py.count")
def count(settings, context):
    with open(os.environ["LEDGER"], "a") as ledger:
        ledger.write(f"{context.key} {context.attempt}\n")
    time.sleep(0.05)
    return {"counted": 1}

worker.run()
)";

const std::string node_worker = R"(
import { appendFileSync } from "node:fs";
import { Worker } from "cairn-client";

const worker = new Worker({ queues: ["ts"], concurrency: 8 });

worker.handler("ts.count", async (settings, context) => {
  appendFileSync(process.env.LEDGER, `${context.key} ${context.attempt}\n`);
  await new Promise((resolve) => setTimeout(resolve, 50));
  return { counted: 1 };
});

await worker.run();
)";

Json counting(const std::string& language, const std::string& next) {
  return {{"do", language + ".count"},
          {"queue", language},
          {"labels", {"ok"}},
          {"retry", {{"attempts", 1'000}, {"backoff_ms", 50}, {"max_ms", 500}}},
          {"on", {{"ok", next}}}};
}

// Four steps, of the two languages in turns.
const Json graph = {{"name", "languages"},
                    {"start", "a"},
                    {"limits", {{"steps", 20}}},
                    {"channels", {{"counted", {{"reducer", "sum"}}}}},
                    {"nodes",
                     {{"a", counting("py", "b")},
                      {"b", counting("ts", "c")},
                      {"c", counting("py", "d")},
                      {"d", counting("ts", "end")},
                      {"end", {{"end", {{"status", "done"}, {"output", {{"counted", {{"$", "counted"}}}}}}}}}}}};

class Crowd {
 public:
  explicit Crowd(OwnServer& server) : server_(server), dsn_(server.dsn()), ledger_(directory() / "languages.ledger") {
    const fs::path place = directory() / "node";
    fs::create_directories(place / "node_modules");
    const std::string unpack = "tar -xzf " + testing::source_dir() + "/build/typescript/cairn-client-*.tgz -C " +
                               (place / "node_modules").string() + " && mv " +
                               (place / "node_modules/package").string() + " " +
                               (place / "node_modules/cairn-client").string();
    const Ran ran = run_program("/bin/sh", {"-c", unpack});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    python_ = write_file("languages.py", python_worker);
    node_ = write_file("node/languages.mjs", node_worker);
    cairn_ok({"migrate", "--dsn", dsn_});
    begin_serving();
    cairn_ok({"graph", "add", write_file("languages.json", graph.dump()), "--dsn", dsn_});
    for (int n = 0; n < 2; ++n) {
      workers_.push_back(begin_working(true));
      workers_.push_back(begin_working(false));
    }
  }

  void start_runs(int round) const {
    std::string inputs;
    for (int n = 0; n < runs_at_once; ++n)
      inputs += "{\"round\": " + std::to_string(round) + ", \"n\": " + std::to_string(n) + "}\n";
    cairn_ok({"batch", "languages", "--inputs", write_file("languages.jsonl", inputs), "--dsn", dsn_, "--no-work"});
  }

  void kill_something(int n) {
    if (n % 4 == 0) {
      server_.kill_at_once();
      server_.start();
    } else if (n % 4 == 2) {
      serving_.signal(SIGKILL);
      serving_.wait();
      begin_serving();
    } else {
      const std::size_t at = static_cast<std::size_t>(n / 2) % workers_.size();
      workers_[at].signal(SIGKILL);
      workers_[at] = begin_working(at % 2 == 0);
    }
  }

  std::vector<Json> runs(const std::string& status) const {
    return cairn({"runs", "--graph", "languages", "--status", status, "--limit", "5000", "--dsn", dsn_, "--json"})
        .lines();
  }

  // How often each attempt was called, by the step's key.
  std::map<std::string, std::map<int, int>> executed() const {
    std::ifstream file(ledger_);
    std::map<std::string, std::map<int, int>> keys;
    int attempt = 0;
    for (std::string key; file >> key >> attempt;) ++keys[key][attempt];
    return keys;
  }

  const std::string& dsn() const { return dsn_; }
  std::string logs() const {
    std::string all = serving_.err();
    for (const Beside& worker : workers_) all += worker.err();
    return all;
  }

 private:
  void begin_serving() {
    serving_ = Beside({"serve", "--json", "--listen", "127.0.0.1:" + port_, "--dsn", dsn_});
    EXPECT_TRUE(test::wait_until([&] { return serving_.out().ends_with('\n'); })) << serving_.err();
  }
  Beside begin_working(bool is_python) const {
    Arguments words = {"CAIRN_URL=http://127.0.0.1:" + port_, "LEDGER=" + ledger_,
                       "PYTHONPATH=" + testing::source_dir() + "/workers/clients/python"};
    words.push_back(is_python ? "python3" : "node");
    words.push_back(is_python ? python_ : node_);
    return {"/usr/bin/env", words};
  }

  OwnServer& server_;
  const std::string dsn_, ledger_, port_ = free_port();
  std::string python_, node_;
  Beside serving_{"/bin/true", {}};
  std::vector<Beside> workers_;
};

// The crowd's line of the table: rates and recovery are measured where all workers are of one kind.
void add_line_of(const Crowd& crowd, std::size_t started, std::size_t done) {
  FaultLine line;
  line.fault = "SIGKILL of workers in Python and TypeScript, of `cairn serve` before them, of the server";
  line.injected = rounds;
  line.acknowledged = line.bystanders = static_cast<std::int64_t>(started);
  line.lost = static_cast<std::int64_t>(started - std::min(started, done));
  line.harmed = static_cast<std::int64_t>(crowd.runs("failed").size() + crowd.runs("aborted").size());
  line.recorded_twice =
      test::ask_number(crowd.dsn(),
                       "select count(*) from (select run_id, step, payload->>'attempt' from cairn.events where type in "
                       "('step_succeeded', 'step_failed') group by 1, 2, 3 having count(*) > 1) twice");
  for (const auto& [key, attempts] : crowd.executed())
    for (const auto& [attempt, times] : attempts) line.executed_twice += times - 1;
  EXPECT_EQ(line.recorded_twice, 0);
  EXPECT_EQ(line.harmed, 0);
  add_line(std::move(line));
}

TEST(Faults, workers_of_two_languages_lose_nothing_while_all_around_them_is_killed) {
  OwnServer server("languages");
  Crowd crowd(server);
  std::size_t started = 0;
  for (int round = 0; round < rounds; ++round, started += runs_at_once) {
    const std::size_t before = crowd.executed().size();
    crowd.start_runs(round);
    EXPECT_TRUE(test::wait_until([&] { return crowd.executed().size() > before + 10; })) << crowd.logs();
    crowd.kill_something(round);
  }
  EXPECT_TRUE(test::wait_until([&] { return crowd.runs("running").empty() && !crowd.runs("done").empty(); }))
      << crowd.logs();
  const std::vector<Json> done = crowd.runs("done");
  EXPECT_EQ(done.size(), started);
  for (const Json& row : done) {
    const Json run = cairn_ok({"show", row.at("run").get<std::string>(), "--dsn", crowd.dsn(), "--json"}).json();
    EXPECT_EQ(run["output"]["counted"], 4) << run;
  }
  EXPECT_GE(crowd.executed().size(), started * 4) << "each step was executed";
  for (const Json& row : crowd.runs("running"))
    ADD_FAILURE() << cairn({"explain", row.at("run").get<std::string>(), "--dsn", crowd.dsn()}).out;
  std::set<std::string> runs;
  for (const Json& row : done) runs.insert(row.at("run").get<std::string>());
  accept_unsigned([&](Arguments arguments) { return on(crowd.dsn(), std::move(arguments)); }, runs);
  const Ran verified = cairn({"verify", "--all", "--dsn", crowd.dsn()});
  EXPECT_EQ(verified.exit, 0) << verified.out << verified.err;
  add_line_of(crowd, started, done.size());
}

}  // namespace
}  // namespace cairn::program

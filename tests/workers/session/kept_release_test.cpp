// The newest release that is kept whole, tests/golden/release_35: a database that it made, with runs in each state, the
// states that it folded, and the statements that its workers send. CAIRN_UPDATE_GOLDEN=1 makes what is missing, with
// the program of that schema alone; no file of it is ever edited.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <stdexcept>

#include "engine/embedded.hpp"
#include "engine/run_json.hpp"
#include "storage/migration/migrator.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/schema.hpp"
#include "storage/postgres/statements.hpp"
#include "storage/server/cluster_parts.hpp"
#include "tests/paths.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/waiting.hpp"
#include "tests/workers/session/released_database.hpp"
#include "workers/client.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

constexpr int kept_schema = 35;
constexpr SessionId killed_session = 77;

// A question with a time, a choice, two branches of which one waits, and a call.
constexpr const char* kept_graph = R"({"name": "order", "start": "ask_size", "limits": {"steps": 20},
  "budgets": {"tries": {"cap": 2}}, "channels": {"notes": {"reducer": "append"}}, "nodes": {
    "ask_size": {"ask": {"kind": "question", "prompt": "Which size?", "schema": {"enum": ["small", "large"]},
                         "default": "small"}, "expires_ms": 315360000000, "into": "size",
                 "on": {"answered": "choose", "expired": "none"}},
    "choose": {"do": "data.pick", "with": {"value": "$size"}, "labels": ["small", "large"],
               "on": {"small": ["make", "rest"], "large": ["make", "rest"]}},
    "make": {"do": "tool.call", "with": {"tool": "echo", "inputs": {"size": "$size"}, "into": "cup"},
             "spends": "tries", "retry": {"attempts": 3, "backoff_ms": 500},
             "on": {"ok": "both", "error": "both", "exhausted": "both"}},
    "rest": {"wait": {"ms": 3000}, "on": {"fired": "both"}},
    "both": {"do": "data.set", "with": {"set": {"notes": ["together"]}}, "join": true, "on": {"ok": "plan"}},
    "plan": {"call": "plan_runner", "into": "served", "on": {"done": "served", "failed": "none"},
             "with": {"goal": "cup", "sub_goals": [{"id": "s", "tool": "echo", "inputs": {"of": "$size"}}]}},
    "served": {"end": {"status": "done", "output": {"cup": "$cup", "notes": "$notes", "served": "$served"}}},
    "none": {"end": {"status": "failed", "reason": "No coffee today."}}}})";

fs::path kept_folder() {
  return fs::path(testing::source_dir()) / "tests/golden" / ("release_" + std::to_string(kept_schema));
}

RunId start_kept(Client& client, const std::string& state, const std::string& graph, const std::string& input) {
  StartRun start;
  start.graph = graph;
  start.input = Json::parse(input);
  start.tags = {{"state", state}};
  const Result<Started> started = client.start(std::move(start), "");
  if (!started) throw std::runtime_error(started.error().message);
  return started->run;
}

void work_until_reached(Store& store, Catalogue& with, const std::function<bool()>& is_reached) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  WorkerOptions options;
  options.until = [&] { return is_reached() || std::chrono::steady_clock::now() > limit; };
  Worker(store, with, options).run();
  ASSERT_TRUE(is_reached());
}

std::int64_t jobs_of_run(const std::string& dsn, const RunId& run, const std::string& more) {
  return ask_number(dsn, "select count(*) from cairn.job where run_id = '" + to_string(run) + "' and " + more);
}

// As a worker leaves its step that is killed.
void hold_kept(Store& store, const RunId& run) {
  SessionRow session;
  session.id = killed_session;
  session.host = "host";
  session.pid = 12;
  session.queues = {"default"};
  session.started_at = store.database_time();
  store.sessions().open(session);
  ClaimRequest request;
  request.queues = session.queues;
  request.session = session.id;
  request.default_timeout_ms = 600'000;
  request.only_runs = {run};
  ASSERT_TRUE(wait_until([&] {
    request.now_us = store.database_time();
    return store.claim(request).jobs.size() == 1;
  }));
}

// Runs in each state: ended, failed, with a question, in a wait, held by a worker that was killed, and not begun.
void make_kept_runs(const std::string& dsn) {
  const auto store = released::open_store(dsn);
  const auto with = released::catalogue();
  Client client(*store, *with, "test");
  client.load_graphs();
  ASSERT_TRUE(client.add_graph(Json::parse(kept_graph)));
  start_kept(client, "done", "plan_runner", R"({"goal": "done", "sub_goals": [
      {"id": "a", "tool": "echo", "inputs": {"x": 1}},
      {"id": "b", "tool": "echo", "inputs": {"y": {"from_sub_goal": "a", "slot": "x"}}}]})");
  start_kept(client, "failed", "plan_runner", R"({"goal": "failed", "sub_goals": [
      {"id": "a", "tool": "fail", "inputs": {"message": "broken", "times": 99}},
      {"id": "b", "tool": "echo", "inputs": {"y": {"from_sub_goal": "a", "slot": "x"}}}]})");
  start_kept(client, "waiting", "order", "{}");
  const RunId timer = start_kept(client, "timer", "order", "{}");
  const RunId held = start_kept(client, "held", "order", "{}");
  work_until_reached(*store, *with, [&] {
    return ask_number(dsn, "select count(*) from cairn.run where status in ('done', 'failed')") == 2 &&
           ask_number(dsn, "select count(*) from cairn.question") == 3;
  });
  ASSERT_TRUE(client.command(timer, Answer{"", "large", "user:ann", {}}));
  work_until_reached(*store, *with, [&] {
    return jobs_of_run(dsn, timer, "queue = 'cairn.timer'") == 1 && jobs_of_run(dsn, timer, "true") == 1;
  });
  ASSERT_TRUE(client.command(held, Answer{"", "small", "user:ann", {}}));
  hold_kept(*store, held);
  start_kept(client, "queued", "plan_runner", R"({"goal": "queued", "sub_goals": [
      {"id": "q", "tool": "echo", "inputs": {"n": 3}}]})");
}

std::string in_shell_quotes(std::string text) {
  for (std::size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 4))
    text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

// As pg_dump writes it, without its comments and without what only psql or a newer server knows.
void write_kept_database(const std::string& dsn, const fs::path& file) {
  const Result<fs::path> programs = programs_for(0);
  ASSERT_TRUE(programs) << programs.error().message;
  const fs::path whole = fs::path(scratch_directory()) / "kept_release.sql";
  const std::string command = in_shell_quotes((*programs / "pg_dump").string()) +
                              " --schema=cairn --inserts --no-owner --no-privileges --no-comments "
                              "--no-unlogged-table-data --file=" +
                              in_shell_quotes(whole.string()) + " " + in_shell_quotes(dsn);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream in(whole, std::ios::binary);
  std::ofstream out(file, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    const bool is_left_out = line.empty() || line.starts_with("--") || line.starts_with("\\restrict") ||
                             line.starts_with("\\unrestrict") || line.starts_with("SET transaction_timeout");
    if (!is_left_out) out << line << '\n';
  }
}

// Those that a plain server prepares, without what the benchmark and operators send.
void write_kept_statements(const std::string& dsn, const fs::path& statements) {
  static const std::set<std::string> left_out = {"bench", "cluster", "doctor", "dataset", "parts", "schema"};
  Administration database(dsn, "test");
  fs::create_directories(statements);
  for (const EmbeddedFile& file : schema_files()) {
    const fs::path path(file.name);
    if (!file.name.starts_with("statements/") || left_out.contains(path.parent_path().filename())) continue;
    const std::string& text = statement(path.stem().string()).text;
    try {
      database.execute("PREPARE " + path.stem().string() + " AS\n" + text);
    } catch (const PostgresError&) {
      continue;  // a lock, a role, a setting
    }
    std::ofstream(statements / (path.stem().string() + ".sql.golden"), std::ios::binary) << text;
  }
}

std::string database_of_kept_release() {
  const std::string dsn = new_empty_database();
  Administration(dsn, "test").execute(released::read_file(kept_folder() / "database.sql.golden"));
  return dsn;
}

// But for what is computed from the clock or from the place in a queue.
Json kept_states(Store& store, Client& client) {
  Json states = Json::object();
  for (const auto& [name, row] : released::runs_by_state(store)) {
    const Result<RunState> state = client.state(row.id);
    EXPECT_TRUE(state) << name << " " << state.error().message;
    if (!state) continue;
    states[name] = state_json(*state);
    for (Json& step : states[name]["steps"]) step.erase("waits_for");
    released::expect_chain_holds(store, row);
  }
  return states;
}

void write_kept_states() {
  const std::string dsn = database_of_kept_release();
  const auto store = released::open_store(dsn);
  const auto with = released::catalogue();
  Client client(*store, *with, "test");
  client.load_graphs();
  std::ofstream(kept_folder() / "states.json") << kept_states(*store, client).dump(1) << "\n";
}

class KeptRelease : public ::testing::Test {
 protected:
  // Its states are written last: with them it is whole.
  static void SetUpTestSuite() {
    if (std::getenv("CAIRN_UPDATE_GOLDEN") == nullptr || fs::exists(kept_folder() / "states.json")) return;
    ASSERT_EQ(newest_schema(), kept_schema) << "Only a program of that schema can make its release.";
    fs::create_directories(kept_folder());
    const std::string dsn = new_database(1);
    make_kept_runs(dsn);
    if (::testing::Test::HasFatalFailure()) return;
    write_kept_database(dsn, kept_folder() / "database.sql.golden");
    write_kept_statements(dsn, kept_folder() / "statements");
    if (!::testing::Test::HasFatalFailure()) write_kept_states();
  }
  void SetUp() override {
    ASSERT_TRUE(fs::exists(kept_folder() / "states.json"))
        << kept_folder() << " is missing; CAIRN_UPDATE_GOLDEN=1 makes it with a program of that schema";
  }
};

TEST_F(KeptRelease, its_database_is_migrated_and_its_histories_fold_to_the_same_states) {
  const std::string dsn = database_of_kept_release();
  const Result<MigrateReport> report = migrate(dsn, 0);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->from, kept_schema);
  EXPECT_EQ(report->to, newest_schema());
  const auto store = released::open_store(dsn);
  const auto with = released::catalogue();
  Client client(*store, *with, "test");
  client.load_graphs();
  const Json states = kept_states(*store, client);
  EXPECT_EQ(states.size(), 6u);
  EXPECT_EQ(states, Json::parse(released::read_file(kept_folder() / "states.json")));
}

TEST_F(KeptRelease, its_runs_go_on_to_their_end) {
  const std::string dsn = database_of_kept_release();
  ASSERT_TRUE(migrate(dsn, 0));
  const auto store = released::open_store(dsn);
  const auto with = released::catalogue();
  Client client(*store, *with, "test");
  client.load_graphs();
  ASSERT_TRUE(client.command(released::runs_by_state(*store).at("waiting").id, Answer{"", "small", "user:ann", {}}));
  released::work_until_ended(*store, *with);
  const std::map<std::string, RunRow> ended = released::runs_by_state(*store);
  for (const char* name : {"done", "waiting", "timer", "held", "queued"})
    EXPECT_EQ(to_string(ended.at(name).status), "done") << name << " " << ended.at(name).reason;
  EXPECT_EQ(to_string(ended.at("failed").status), "failed");
  EXPECT_EQ(client.state(ended.at("timer").id)->output["cup"], (Json{{"size", "large"}}));
  EXPECT_EQ(client.state(ended.at("held").id)->output["cup"], (Json{{"size", "small"}}));
  for (const auto& [name, row] : ended) released::expect_chain_holds(*store, row);
}

TEST_F(KeptRelease, each_of_its_statements_is_still_understood) {
  EXPECT_GT(released::expect_prepared(kept_folder() / "statements"), 100);
}

}  // namespace
}  // namespace cairn::test

// A database that the first release made, with runs under way, is upgraded: its runs continue where they were, and a
// worker of that release may still be at work. tests/golden/release_1 holds what it wrote and the statements it sends.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <map>

#include "engine/run_json.hpp"
#include "storage/chain.hpp"
#include "storage/migration/migrator.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/paths.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/waiting.hpp"
#include "tests/workers/session/released_database.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/ids.hpp"
#include "workers/models/models.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

using released::catalogue;
using released::expect_chain_holds;
using released::open_store;
using released::read_file;
using released::runs_by_state;
using released::work_until_ended;

const fs::path folder = fs::path(testing::source_dir()) / "tests/golden/release_1";

std::string old_database() {
  const std::string dsn = new_empty_database();
  Administration(dsn, "test").execute(read_file(folder / "database.sql.golden"));
  return dsn;
}

PgArray texts(std::initializer_list<std::string_view> words) {
  PgArray array(PgType::text);
  for (const std::string_view word : words) array.add(word);
  return array;
}

TEST(Upgrade, a_database_of_the_first_release_wants_to_be_migrated_first) {
  const std::string dsn = old_database();
  const Result<std::unique_ptr<Store>> store = open_postgres_store({.dsn = dsn});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::not_found);
  EXPECT_NE(store.error().message.find("migrate"), std::string::npos) << store.error().message;
  const Result<MigrateReport> report = migrate(dsn, 0);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->from, 1);
  EXPECT_EQ(report->to, newest_schema());
  EXPECT_EQ(migrate(dsn, 0)->from, newest_schema());
}

TEST(Upgrade, histories_of_the_first_release_fold_to_the_same_states) {
  const std::string dsn = old_database();
  ASSERT_TRUE(migrate(dsn, 0));
  const auto store = open_store(dsn);
  const auto with = catalogue();
  Client client(*store, *with, "test");
  client.load_graphs();
  Json states = Json::object();
  for (const auto& [name, row] : runs_by_state(*store)) {
    const Result<RunState> state = client.state(row.id);
    ASSERT_TRUE(state) << name << " " << state.error().message;
    states[name] = state_json(*state);
    for (Json& step : states[name]["steps"]) step.erase("waits_for");  // what is shown besides, since later
    for (const char* later : {"input", "tags", "started_at", "updated_at", "parent", "continues", "key"})
      EXPECT_EQ(states[name].erase(later), 1u) << later;
    // Always there now, and null where there is none: then it was "" in a run that is done, and absent in an open one.
    if (Json& reason = states[name]["reason"]; reason.is_null() && is_ended(state->status))
      reason = "";
    else if (reason.is_null())
      states[name].erase("reason");
    expect_chain_holds(*store, row);
  }
  EXPECT_EQ(states.size(), 6u);
  const fs::path golden = folder / "states.json";
  if (std::getenv("CAIRN_UPDATE_GOLDEN") != nullptr && !fs::exists(golden))
    std::ofstream(golden) << states.dump(1) << "\n";
  EXPECT_EQ(states, Json::parse(read_file(golden)));
}

TEST(Upgrade, runs_of_the_first_release_go_on_to_their_end) {
  const std::string dsn = old_database();
  ASSERT_TRUE(migrate(dsn, 0));
  const auto store = open_store(dsn);
  const auto with = catalogue();
  Client client(*store, *with, "test");
  client.load_graphs();
  const RunId waiting = runs_by_state(*store).at("waiting").id;
  work_until_ended(*store, *with);
  ASSERT_TRUE(client.command(waiting, Answer{"", "small", "user:ann", {}}));
  work_until_ended(*store, *with);
  const std::map<std::string, std::string> expected = {{"done", "done"},  {"failed", "failed"}, {"waiting", "done"},
                                                       {"timer", "done"}, {"held", "done"},     {"queued", "done"}};
  const std::map<std::string, RunRow> ended = runs_by_state(*store);
  for (const auto& [name, status] : expected) {
    EXPECT_EQ(to_string(ended.at(name).status), status) << name << " " << ended.at(name).reason;
    expect_chain_holds(*store, ended.at(name));
  }
  EXPECT_EQ(client.state(ended.at("timer").id)->output["cup"], (Json{{"size", "large"}}));
  EXPECT_EQ(client.state(ended.at("held").id)->output["results"]["z"], (Json{{"n", 2}}));
}

// Twice in a row: a call that works, one that fails and one that is none, then a word.
std::unique_ptr<Model> two_rounds() {
  const Json calls = Json::parse(R"({"role": "assistant", "content": null, "tool_calls": [
      {"id": "a", "function": {"name": "echo", "arguments": "{\"content\": \"hello\"}"}},
      {"id": "b", "function": {"name": "fail", "arguments": "{\"message\": \"broken\", \"times\": 9}"}},
      {"id": "c", "function": {"name": "echo", "arguments": "{bad"}}]})");
  const Json word = {{"role", "assistant"}, {"content", "What else?"}};
  return make_scripted_model(
      {{"replies", {{{"reply", calls}}, {{"reply", word}}, {{"reply", calls}}, {{"reply", word}}}}});
}

void expect_two_rounds(const Json& messages) {
  ASSERT_EQ(messages.size(), 12u);
  for (const std::size_t round : {0u, 6u}) {
    EXPECT_EQ(messages[round], (Json{{"role", "user"}, {"content", round == 0 ? "Go." : "Again."}}));
    EXPECT_EQ(messages[round + 2],
              (Json{{"role", "tool"}, {"tool_call_id", "a"}, {"name", "echo"}, {"content", "hello"}}));
    EXPECT_EQ(messages[round + 3]["content"], "Error: broken");
    EXPECT_EQ(messages[round + 4]["content"],
              "Error: Expected the arguments to be JSON, but found invalid literal at byte 2.");
    EXPECT_EQ(messages[round + 5]["content"], "What else?");
  }
}

RunId waiting_conversation(Client& client, Store& store, Catalogue& with) {
  StartRun start;
  start.graph = "tool_agent";
  start.input = Json::parse(R"({"messages": [{"role": "user", "content": "Go."}]})");
  with.model = two_rounds();
  const Result<Started> started = client.start(std::move(start), "");
  if (!started) throw std::runtime_error(started.error().message);
  work_until_ended(store, with);
  return started->run;
}

void expect_it_goes_on(Client& client, Store& store, Catalogue& with, const RunId& run) {
  for (const Json& answer : {Json("Again."), Json{{"end", true}}}) {
    ASSERT_TRUE(client.command(run, Answer{"", answer, "user:ann", {}}));
    work_until_ended(store, with);
  }
  const Result<RunState> state = client.state(run);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->status, RunStatus::done) << state->reason;
  expect_two_rounds(state->output["messages"]);
}

TEST(Upgrade, conversations_under_the_first_graph_of_tool_agent_go_on_and_new_ones_begin_under_its_successor) {
  const std::string dsn = old_database();
  ASSERT_TRUE(migrate(dsn, 0));
  const auto store = open_store(dsn);
  const auto with = catalogue();
  const std::vector<GraphRef> ours = std::exchange(with->graphs, {});  // so that the release's own are in force
  Client before(*store, *with, "test");
  before.load_graphs();
  const std::string first = before.graphs().current("tool_agent")->version;
  const RunId stays = waiting_conversation(before, *store, *with);

  with->graphs = ours;
  Client client(*store, *with, "test");
  client.load_graphs();
  const std::string second = client.graphs().current("tool_agent")->version;
  EXPECT_NE(first, second);
  expect_it_goes_on(client, *store, *with, stays);
  EXPECT_EQ(client.state(stays)->graph->version, first);

  const RunId fresh = waiting_conversation(client, *store, *with);
  EXPECT_EQ(client.state(fresh)->graph->version, second);
  expect_it_goes_on(client, *store, *with, fresh);
  EXPECT_EQ(client.state(fresh)->output, client.state(stays)->output);
}

TEST(Upgrade, a_conversation_under_the_first_graph_of_tool_agent_can_be_moved_to_its_successor) {
  const std::string dsn = old_database();
  ASSERT_TRUE(migrate(dsn, 0));
  const auto store = open_store(dsn);
  const auto with = catalogue();
  const std::vector<GraphRef> ours = std::exchange(with->graphs, {});
  Client before(*store, *with, "test");
  before.load_graphs();
  const RunId moved = waiting_conversation(before, *store, *with);

  with->graphs = ours;
  Client client(*store, *with, "test");
  client.load_graphs();
  const std::string second = client.graphs().current("tool_agent")->version;
  const Result<Done> done = client.command(moved, MoveRun{second});
  ASSERT_TRUE(done) << done.error().message;
  expect_it_goes_on(client, *store, *with, moved);
  EXPECT_EQ(client.state(moved)->graph->version, second);
}

// As a worker of release 9 leaves what it frees: its statements do not know the column `offered`.
TEST(Upgrade, A18_D7_a_job_that_was_freed_by_an_older_worker_is_found) {
  const std::string dsn = new_database(1);
  const auto store = open_store(dsn);
  const auto with = catalogue();
  Client client(*store, *with, "test");
  client.load_graphs();
  StartRun start;
  start.graph = "plan_runner";
  start.input = Json::parse(R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {}}]})");
  const Result<Started> started = client.start(std::move(start), "");
  ASSERT_TRUE(started) << started.error().message;
  ask(dsn, "update cairn.job set offered = false, session = null");
  EXPECT_EQ(ask_number(dsn, "select count(*) from cairn.job where not offered"), 1);
  work_until_ended(*store, *with);
  EXPECT_EQ(client.state(started->run)->status, RunStatus::done);
}

// The statements of release 9 that free and take jobs, sent while this program is at work.
TEST(Upgrade, A18_statements_of_release_9_beside_this_program_strand_nothing) {
  const std::string dsn = new_database(1);
  const auto store = open_store(dsn);
  const auto with = catalogue();
  Client client(*store, *with, "test");
  client.load_graphs();
  std::vector<RunId> runs;
  for (int n = 0; n < 4; ++n) {
    StartRun start;
    start.graph = "plan_runner";
    start.input = Json::parse(R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {}},
                                   {"id": "b", "tool": "echo", "inputs": {}}]})");
    const Result<Started> started = client.start(std::move(start), "");
    ASSERT_TRUE(started) << started.error().message;
    runs.push_back(started->run);
  }
  PgConnection older({dsn, "release 9", false});
  const auto text = [](const std::string& name) {
    return read_file(fs::path(testing::source_dir()) / "tests/golden/release_9/statements" / (name + ".sql.golden"));
  };
  // It takes two of the jobs that this program offered, and hands them back; a third has a dead holder.
  for (const std::size_t n : {0u, 1u}) {
    const HeldJob offered = store->jobs().of(runs[n]).front();
    PgParameters one;
    one.add(0).add(runs[n]).add(offered.job.branch).add(texts({offered.job.queue})).add(never_us - 1);
    one.add(std::int64_t{9}).add(std::int64_t{0}).add(std::int64_t{0});
    ASSERT_EQ(older.query({"claim_hinted", text("claim_hinted")}, one).rows(), 1);
  }
  ask(dsn, "update cairn.job set offered = false where session = 9");
  ask(dsn, "update cairn.job set offered = false, session = 9, epoch = epoch + 1 where run_id = '" +
               to_string(runs[2]) + "'");
  for (const HeldJob& held : store->sessions().held_by(9, 10, {})) {
    PgArray run(PgType::uuid), branch(PgType::int4), session(PgType::int8), epoch(PgType::int8), step(PgType::int4);
    run.add(held.run);
    branch.add(held.job.branch);
    session.add(held.session);
    epoch.add(held.epoch);
    step.add(held.job.step);
    PgParameters held_by_it;
    held_by_it.add(0).add(std::move(run)).add(std::move(branch)).add(std::move(session)).add(std::move(epoch));
    older.query({"release_jobs", text("release_jobs")}, held_by_it.add(std::move(step)).add(std::int64_t{0}));
  }
  EXPECT_GE(ask_number(dsn, "select count(*) from cairn.job where not offered and session is null"), 3);
  work_until_ended(*store, *with);
  for (const RunId& run : runs) EXPECT_EQ(client.state(run)->status, RunStatus::done) << to_string(run);
}

TEST(Upgrade, A18_each_statement_of_release_9_is_still_understood) {
  EXPECT_GT(released::expect_prepared(fs::path(testing::source_dir()) / "tests/golden/release_9/statements"), 40);
}

TEST(Upgrade, each_statement_of_the_first_release_is_still_understood) {
  EXPECT_GT(released::expect_prepared(folder / "statements"), 40);
}

// A program of the first release: it starts copies of the run that it left queued, and reads, by its own statements.
class FirstRelease {
 public:
  explicit FirstRelease(const std::string& dsn) : connection_({dsn, "release 1"}) {
    const PgResult row = connection_.query(
        {"sample",
         "select r.graph, r.version, e.at, e.type, e.version, e.step, e.actor, e.payload, j.queue "
         "from cairn.run r join cairn.event e using (shard, run_id) join cairn.job j using (shard, run_id) "
         "where r.tags ->> 'state' = 'queued'"});
    EXPECT_EQ(row.rows(), 1);
    graph_ = row.text(0, 0);
    version_ = row.text(0, 1);
    started_ = {1,
                row.int8(0, 2),
                row.int2(0, 3),
                row.int2(0, 4),
                row.int4(0, 5),
                std::string(row.text(0, 6)),
                std::string(row.text(0, 7))};
    queue_ = row.text(0, 8);
  }

  // Returns once it is committed.
  RunId start() {
    const RunId run = new_run_id();
    const std::int64_t commit = ++commits_;
    const Hash hash = chain_next(chain_start(run, version_), 0, run, started_, commit);
    connection_.execute("BEGIN");
    EXPECT_EQ(send("insert_runs", row_of_run(run, hash)).rows(), 1);
    send("insert_events", row_of_event(run, hash, commit));
    send("offer_jobs", row_of_job(run));
    connection_.execute("COMMIT");
    return run;
  }

  void read(const RunId& run) {
    PgParameters newest;
    newest.add_null(PgType::text).add_null(PgType::text).add_null(PgType::boolean).add(std::int64_t{0}).add(10);
    EXPECT_GT(send("runs", newest).rows(), 0);
    EXPECT_EQ(send("events", PgParameters().add(0).add(run).add(std::int64_t{0}).add(10)).rows(), 1);
  }

 private:
  template <class... Values>
  static PgArray one(PgType type, const Values&... values) {
    PgArray array(type);
    (array.add(values), ...);
    return array;
  }

  PgResult send(const std::string& name, const PgParameters& parameters) {
    return connection_.query({name, read_file(folder / "statements" / (name + ".sql.golden"))}, parameters);
  }

  PgParameters row_of_run(const RunId& run, const Hash& hash) const {
    PgParameters row;
    row.add(0).add(one(PgType::uuid, run)).add(one(PgType::boolean, false)).add(one(PgType::int8, std::int64_t{1}));
    for (int times = 0; times < 2; ++times) row.add(one(PgType::int8, started_.at_us));
    for (int others = 0; others < 2; ++others) row.add(one(PgType::uuid, std::optional<RunId>()));
    row.add(one(PgType::bytes, hash)).add(texts({"running"})).add(texts({graph_})).add(texts({version_}));
    return row.add(texts({""})).add(texts({R"({"load": "1"})"}));
  }

  PgParameters row_of_event(const RunId& run, const Hash& hash, std::int64_t commit) const {
    PgParameters row;
    row.add(0).add(commit).add(one(PgType::uuid, run)).add(one(PgType::int8, started_.seq));
    row.add(one(PgType::int8, started_.at_us)).add(one(PgType::int2, started_.type));
    row.add(one(PgType::int2, started_.version)).add(one(PgType::int4, started_.step)).add(one(PgType::bytes, hash));
    return row.add(texts({started_.actor})).add(texts({started_.payload}));
  }

  PgParameters row_of_job(const RunId& run) const {
    PgParameters row;
    row.add(0).add(one(PgType::uuid, run));
    for (const int column : {1, 1, 1, 0}) row.add(one(PgType::int4, column));  // branch, step, attempt, priority
    row.add(one(PgType::int8, started_.at_us)).add(one(PgType::int8, std::int64_t{1} << 20));
    return row.add(one(PgType::int8, std::int64_t{0})).add(texts({queue_}));
  }

  PgConnection connection_;
  std::string graph_;
  std::string version_;
  EventRow started_;
  std::string queue_;
  std::int64_t commits_ = 1'000'000;
};

// One thread of that program, until the migration is over and it has started some runs since.
std::vector<RunId> load_of_first_release(const std::string& dsn, const std::atomic<bool>& is_over) {
  constexpr int afterwards = 10;
  FirstRelease program(dsn);
  std::vector<RunId> started;
  for (int left = afterwards; left > 0; left -= is_over ? 1 : 0) {
    started.push_back(program.start());
    program.read(started.back());
  }
  return started;
}

TEST(Upgrade, under_the_load_of_the_first_release_nothing_is_lost_and_nothing_is_stuck) {
  const std::string dsn = old_database();
  std::atomic<bool> is_over{false};
  std::vector<std::future<std::vector<RunId>>> load;
  for (int thread = 0; thread < 2; ++thread)
    load.push_back(std::async(std::launch::async, load_of_first_release, dsn, std::cref(is_over)));
  EXPECT_TRUE(wait_until([&] { return ask_number(dsn, "select count(*) from cairn.run") > 10; }));
  const Result<MigrateReport> report = migrate(dsn, 0);
  is_over = true;
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->to, newest_schema());
  std::vector<RunId> started;
  for (auto& one : load)
    for (const RunId& run : one.get()) started.push_back(run);
  EXPECT_GE(started.size(), 20u);
  const auto store = open_store(dsn);
  const auto with = catalogue();
  Client client(*store, *with, "test");
  client.load_graphs();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  WorkerOptions options;
  options.until = [&] {
    return ask_number(dsn, "select count(*) from cairn.run where tags ? 'load' and status = 'running'") == 0 ||
           std::chrono::steady_clock::now() > limit;
  };
  Worker(*store, *with, options).run();
  for (const RunId& run : started) {
    const std::optional<RunRow> row = store->run(run);
    ASSERT_TRUE(row) << to_string(run);
    EXPECT_EQ(row->status, RunStatus::done) << to_string(run) << " " << row->reason;
    expect_chain_holds(*store, *row);
  }
}

}  // namespace
}  // namespace cairn::test

// Runs leave the database for files when their graph's "keep" has passed: each once, whichever processes are there, and
// however one of them ends.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <gtest/gtest.h>

#include "ops/keeping/keeper.hpp"
#include "ops/keeping/overdue.hpp"
#include "ops/service/database.hpp"
#include "tests/ops/audit/emptied_database.hpp"
#include "tests/ops/synced_paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

class Keep : public EmptiedDatabase {
 protected:
  void SetUp() override {
    EmptiedDatabase::SetUp();
    execute("update cairn.graph set current = false where text like '%\"keep\"%'");
    folder_ = directory() / ("kept" + std::to_string(count_));
  }

  static std::string add_graph(const std::string& name, const std::string& more) {
    cairn_ok({"graph", "add",
              write_file(name + ".json", R"({"name": ")" + name + R"(", "start": "end", "limits": {"steps": 9}, )" +
                                             more + R"("nodes": {"end": {"end": "done"}}})")});
    return name;
  }

  static std::vector<std::string> start(const std::string& graph, int count) {
    std::string inputs;
    for (int n = 0; n < count; ++n) inputs += "{\"n\": " + std::to_string(++inputs_) + "}\n";
    cairn_ok({"batch", graph, "--inputs", write_file(graph + ".jsonl", inputs), "--wait"});
    std::vector<std::string> runs;
    for (const Json& run : cairn_ok({"runs", "--graph", graph, "--limit", "1000", "--json"}).lines())
      runs.push_back(run["run"]);
    return runs;
  }

  // As if so many seconds had passed for the runs of a graph.
  void age(const std::string& graph, int seconds) {
    const std::string by = std::to_string(seconds) + "000000";
    execute("update cairn.run set started_at = started_at - " + by + ", updated_at = updated_at - " + by +
            " where graph = '" + graph + "'");
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (!fs::exists(folder_)) return found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file() && entry.path().extension() == ".zst") found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  bool is_any_under_way() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.path().parent_path().filename() == "removing") return true;
    return false;
  }
  // The runs of all files together, each of which is sound.
  std::vector<std::string> runs_in_files() const {
    std::vector<std::string> runs;
    for (const fs::path& file : files()) {
      ExportTaker taker;
      taker.run = [&](const RunState& state, const Hash&) {
        runs.push_back(to_string(state.id));
        return Status(Done{});
      };
      const Status read =
          ExportAudit(
              file.string(), [&](const Finding& finding) { ADD_FAILURE() << file << " " << finding.says; },
              std::move(taker))
              .run();
      EXPECT_TRUE(read) << read.error().message;
    }
    std::sort(runs.begin(), runs.end());
    return runs;
  }

  // A process that may archive. Each has its own: they share nothing but the database and the folder.
  struct Process {
    explicit Process(const std::string& dsn, const fs::path& folder)
        : store(*open_store(dsn)),
          key(*open_signing_key(*checkpoint_options({"", (directory() / "data").string()}))),
          keeper(*store, dsn, key, folder.string()) {}
    std::unique_ptr<Store> store;
    SigningKey key;
    Keeper keeper;
  };
  Process process() const { return Process(dsn_, folder_); }

  bool ask_whether_any_is_left() { return text("select exists (select from cairn.run)::text") == "true"; }

  fs::path folder_;
  static inline int inputs_ = 0;  // no two alike: the same input again starts nothing
};

TEST_F(Keep, runs_go_into_files_when_the_time_of_their_graph_has_passed) {
  std::vector<std::string> old = start(add_graph("keep_hour", R"("keep": "1h", )"), 25);
  start(add_graph("keep_all", ""), 3);
  age("keep_hour", 3'601);
  start("keep_hour", 30);
  Process one = process();
  const Result<KeepPass> first = one.keeper.pass(20);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->has_more);
  EXPECT_EQ(first->removed, 20);
  const Result<KeepPass> second = one.keeper.pass(20);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(second->has_more);
  EXPECT_EQ(second->removed, 5);
  EXPECT_EQ(one.keeper.pass(20)->removed, 0);
  std::sort(old.begin(), old.end());
  EXPECT_EQ(runs_in_files(), old);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(count("tombstone"), "25");
  EXPECT_EQ(count("run"), "33");
  EXPECT_FALSE(is_any_under_way());
  EXPECT_EQ(cairn_ok({"verify", "--all", "--json"}).json()["findings"], Json::array());
}

TEST_F(Keep, several_processes_write_no_run_twice_and_lose_none) {
  std::vector<std::string> old = start(add_graph("keep_second", R"("keep": "1s", )"), 60);
  age("keep_second", 2);
  std::atomic<int> passes_of_others = 0;
  const auto work = [&] {
    Process one = process();
    while (ask_whether_any_is_left()) {
      const Result<KeepPass> pass = one.keeper.pass(7);
      if (!pass) return pass.error().message;
      passes_of_others += pass->is_another_at_it ? 1 : 0;
    }
    return std::string();
  };
  std::vector<std::future<std::string>> processes;
  for (int n = 0; n < 3; ++n) processes.push_back(std::async(std::launch::async, work));
  for (auto& one : processes) EXPECT_EQ(one.get(), "");
  std::sort(old.begin(), old.end());
  EXPECT_EQ(runs_in_files(), old) << "each once";
  EXPECT_EQ(count("tombstone"), "60");
  EXPECT_TRUE(runs_left().empty());
}

TEST_F(Keep, a_file_whose_runs_were_not_removed_is_gone_on_with) {
  const std::vector<std::string> old = start(add_graph("keep_second", R"("keep": "1s", )"), 5);
  age("keep_second", 2);
  execute(
      "create function public.no_more() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$");
  execute("create trigger no_more before delete on cairn.event execute function public.no_more()");
  {
    Process interrupted = process();
    EXPECT_ANY_THROW((void)interrupted.keeper.pass());
  }
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(is_any_under_way());
  EXPECT_EQ(runs_left().size(), old.size());
  execute("drop trigger no_more on cairn.event");
  execute("drop function public.no_more");
  Process next = process();
  const Result<KeepPass> pass = next.keeper.pass();
  ASSERT_TRUE(pass) << pass.error().message;
  EXPECT_EQ(pass->removed, 5);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_FALSE(is_any_under_way());
  EXPECT_TRUE(runs_left().empty());
}

// Each run is in the database or in one file: a complete one would else have runs that go into another file later.
TEST_F(Keep, a_file_under_way_is_finished_when_its_policy_is_longer_or_gone_and_no_other_run_goes) {
  for (const char* policy : {R"("keep": "365d", )", R"("description": "It keeps all.", )"}) {
    start(add_graph("keep_second", R"("keep": "1s", )"), 5);
    age("keep_second", 2);
    execute(
        "create function public.no_more() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end "
        "$$");
    execute("create trigger no_more before delete on cairn.event execute function public.no_more()");
    {
      Process interrupted = process();
      EXPECT_ANY_THROW((void)interrupted.keeper.pass());
    }
    execute("drop trigger no_more on cairn.event");
    execute("drop function public.no_more");
    ASSERT_TRUE(is_any_under_way());
    start(add_graph("keep_second", policy), 1);
    age("keep_second", 2);
    ASSERT_EQ(runs_left().size(), 6u);
    const Result<KeepPass> pass = process().keeper.pass();
    ASSERT_TRUE(pass) << pass.error().message;
    EXPECT_EQ(pass->removed, 5) << policy;
    EXPECT_EQ(runs_left().size(), 1u) << policy;
    EXPECT_FALSE(is_any_under_way());
    execute("truncate cairn.run, cairn.event, cairn.job");  // the one that stayed
  }
  EXPECT_EQ(runs_in_files().size(), 10u);
}

// A file system may lose the name of a folder with all that is in it, if only the folder itself was synced.
TEST_F(Keep, each_folder_that_is_made_and_the_entry_of_a_file_are_on_disk_before_a_run_is_removed) {
  start(add_graph("keep_second", R"("keep": "1s", )"), 2);
  age("keep_second", 2);
  execute(
      "create function public.no_more() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$");
  execute("create trigger no_more before delete on cairn.event execute function public.no_more()");
  folder_ = folder_ / "not" / "there";
  const fs::path of_database = folder_ / text("select id::text from cairn.identity");
  Process one = process();
  forget_synced_paths();
  EXPECT_ANY_THROW((void)one.keeper.pass());
  const std::set<std::string> synced = synced_paths();
  execute("drop trigger no_more on cairn.event");
  execute("drop function public.no_more");
  ASSERT_EQ(files().size(), 1u);
  const fs::path entry = of_database / "removing" / (files().front().filename().string() + ".path");
  std::vector<fs::path> expected = {of_database / "keep_second", entry, entry.parent_path(), of_database};
  for (fs::path above = of_database.parent_path(); above != directory(); above = above.parent_path())
    expected.push_back(above);
  expected.push_back(directory());
  for (const fs::path& path : expected) EXPECT_TRUE(synced.contains(fs::canonical(path).string())) << path;
  EXPECT_TRUE(synced.contains(fs::canonical(files().front()).string() + ".part"));
}

TEST_F(Keep, a_file_under_way_that_is_damaged_is_named_and_keeps_no_other_run) {
  start(add_graph("keep_second", R"("keep": "1s", )"), 2);
  age("keep_second", 2);
  const fs::path of_database = folder_ / text("select id::text from cairn.identity");
  fs::create_directories(of_database / "removing");
  std::ofstream(of_database / "damaged.jsonl.zst") << "no archive";
  std::ofstream(of_database / "removing" / "damaged.jsonl.zst.path") << "damaged.jsonl.zst";
  const Result<KeepPass> pass = process().keeper.pass();
  ASSERT_FALSE(pass);
  EXPECT_EQ(pass.error().code, Code::corrupt) << pass.error().message;
  EXPECT_TRUE(runs_left().empty());
  EXPECT_TRUE(fs::exists(of_database / "damaged.jsonl.zst"));
}

// Its files lie where the entries of files under way do, and their first lines may be longer than a name.
TEST_F(Keep, a_graph_may_be_named_removing) {
  start(add_graph("removing", R"("keep": "1s", )"), 2);
  age("removing", 2);
  EXPECT_EQ(process().keeper.pass()->removed, 2);
  const fs::path of_database = folder_ / text("select id::text from cairn.identity");
  std::ofstream(of_database / "removing" / "like_a_file_of_it") << std::string(300, 'a');
  start("removing", 1);
  age("removing", 2);
  const Result<KeepPass> next = process().keeper.pass();
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->removed, 1);
  EXPECT_EQ(runs_in_files().size(), 3u);
}

TEST_F(Keep, what_an_open_run_refers_to_waits_and_is_looked_at_again) {
  const std::string earlier = start(add_graph("keep_second", R"("keep": "1s", )"), 1).front();
  cairn_ok({"graph", "add", write_file("keep_ask.json", ask_graph("keep_ask"))});
  const std::string open = cairn_ok({"start", "keep_ask", "--continues", earlier, "--wait", "--json"}).json()["run"];
  age("keep_second", 2);
  EXPECT_EQ(process().keeper.pass()->removed, 0);
  RunArchive archive(dsn_);
  Process one = process();
  KeepPolicies policies(*one.store);
  EXPECT_EQ(overdue_graphs(*one.store, archive, policies.current(), 0), std::vector<std::string>());
  cairn_ok({"answer", open, "--value", "\"east\"", "--wait"});
  EXPECT_EQ(overdue_graphs(*one.store, archive, policies.current(), 0), std::vector<std::string>{"keep_second"});
  EXPECT_EQ(process().keeper.pass()->removed, 1);
}

// Its file had the name of the run that stays, and the next file the same: it was taken for one to go on with.
TEST_F(Keep, a_run_that_must_stay_keeps_no_later_run_of_its_graph) {
  const std::string stays = start(add_graph("keep_second", R"("keep": "1s", )"), 1).front();
  cairn_ok({"graph", "add", write_file("keep_ask.json", ask_graph("keep_ask"))});
  const std::string open = cairn_ok({"start", "keep_ask", "--continues", stays, "--wait", "--json"}).json()["run"];
  start("keep_second", 1);
  age("keep_second", 2);
  EXPECT_EQ(process().keeper.pass()->removed, 1);
  start("keep_second", 1);
  age("keep_second", 2);
  const Result<KeepPass> second = process().keeper.pass();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->removed, 1);
  EXPECT_EQ(files().size(), 2u);
  cairn_ok({"answer", open, "--value", "\"east\"", "--wait"});
  EXPECT_EQ(process().keeper.pass()->removed, 1);
  EXPECT_EQ(files().size(), 3u);
  EXPECT_EQ(runs_in_files().size(), 3u);
  EXPECT_EQ(text("select count(*)::text from cairn.run where graph = 'keep_second'"), "0");
}

TEST_F(Keep, large_values_go_with_a_later_pass_unless_another_run_has_them) {
  add_graph("keep_second", R"("keep": "1s", )");
  add_graph("keep_all", "");
  const auto start_with = [](const std::string& graph, char letter) {
    const std::string input = Json{{"note", std::string(40'000, letter)}}.dump();
    cairn_ok({"start", graph, "--wait", "--input", "@" + write_file("keep_large.json", input).string()});
  };
  start_with("keep_second", 'a');
  start_with("keep_second", 'b');
  start_with("keep_all", 'b');
  ASSERT_EQ(text("select count(distinct hash)::text from cairn.blob"), "2");
  age("keep_second", 2);
  const Result<KeepPass> first = process().keeper.pass();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->removed, 2);
  EXPECT_EQ(first->values, 0) << "a step may have put the same one lately";
  execute("update cairn.blob set put_at = put_at - 2 * 3600000000");
  EXPECT_EQ(process().keeper.pass()->values, 1);
  EXPECT_EQ(count("erasing"), "0");
  EXPECT_EQ(text("select count(*)::text from cairn.blob where bytes like '%aaa%'"), "0");
  EXPECT_EQ(text("select count(*)::text from cairn.blob where bytes like '%bbb%'"), "1");
  EXPECT_EQ(cairn_ok({"verify", "--all", "--json"}).json()["findings"], Json::array());
  cairn_ok({"import", files().front().string()});
  EXPECT_EQ(text("select count(*)::text from cairn.blob where bytes like '%aaa%'"), "1");
  EXPECT_EQ(cairn_ok({"verify", "--all", "--json"}).json()["findings"], Json::array());
}

TEST_F(Keep, a_search_for_large_values_that_failed_is_not_made_again_at_once) {
  const std::string input = Json{{"note", std::string(40'000, 'a')}}.dump();
  cairn_ok({"start", add_graph("keep_second", R"("keep": "1s", )"), "--wait", "--input",
            "@" + write_file("keep_large.json", input).string()});
  age("keep_second", 2);
  EXPECT_EQ(process().keeper.pass()->removed, 1);
  execute("update cairn.blob set put_at = put_at - 2 * 3600000000");
  execute(
      "create function public.no_more() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$");
  execute("create trigger no_more before delete on cairn.blob execute function public.no_more()");
  Process one = process();
  EXPECT_ANY_THROW((void)one.keeper.pass());
  EXPECT_NO_THROW({
    const Result<KeepPass> next = one.keeper.pass();
    EXPECT_TRUE(next) << next.error().message;
  });
  execute("drop trigger no_more on cairn.blob");
  execute("drop function public.no_more");
  EXPECT_EQ(process().keeper.pass()->values, 1);
}

TEST_F(Keep, a_run_that_was_imported_stays_as_long_as_one_that_ended_then) {
  const std::string run = start(add_graph("keep_hour", R"("keep": "1h", )"), 1).front();
  age("keep_hour", 3'601);
  Process one = process();
  EXPECT_EQ(one.keeper.pass()->removed, 1);
  ASSERT_EQ(files().size(), 1u);
  cairn_ok({"import", files().front().string()});
  age("keep_hour", 3'601);  // as the file has it: its end is long ago
  EXPECT_EQ(process().keeper.pass()->removed, 0);
  EXPECT_EQ(runs_left(), std::vector<std::string>{run});
  execute("update cairn.import set at = at - 3601000000");
  EXPECT_EQ(process().keeper.pass()->removed, 1);
}

TEST_F(Keep, the_current_version_of_a_graph_decides) {
  start(add_graph("keep_second", R"("keep": "1s", )"), 2);
  add_graph("keep_second", R"("description": "It keeps all.", )");
  age("keep_second", 2);
  Process one = process();
  EXPECT_EQ(one.keeper.pass()->removed, 0);
  add_graph("keep_second", R"("description": "Not any more.", "keep": "1s", )");
  EXPECT_EQ(one.keeper.pass()->removed, 2) << "of older versions too";
}

TEST_F(Keep, a_login_that_may_not_remove_a_history_writes_nothing) {
  start(add_graph("keep_second", R"("keep": "1s", )"), 1);
  age("keep_second", 2);
  execute("DROP ROLE IF EXISTS keeps_nothing");
  execute("CREATE ROLE keeps_nothing LOGIN IN ROLE cairn_app");
  Process one(dsn_ + " user=keeps_nothing", folder_);
  const Result<KeepPass> pass = one.keeper.pass();
  ASSERT_FALSE(pass);
  EXPECT_EQ(pass.error().code, Code::unsupported);
  EXPECT_TRUE(files().empty());
  execute("DROP ROLE keeps_nothing");
}

// The lock's transaction stands idle for as long as a portion takes; the server's limit ended it, and another process
// took the lock meanwhile.
TEST_F(Keep, a_server_that_ends_idle_transactions_ends_no_pass) {
  start(add_graph("keep_second", R"("keep": "1s", )"), 3);
  age("keep_second", 2);
  execute(
      "create function public.slowly() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return "
      "null; "
      "end $$");
  execute("create trigger slowly before delete on cairn.event for each statement execute function public.slowly()");
  Process one(dsn_ + " options='-c idle_in_transaction_session_timeout=100'", folder_);
  const Result<KeepPass> pass = one.keeper.pass();
  execute("drop trigger slowly on cairn.event");
  execute("drop function public.slowly");
  ASSERT_TRUE(pass) << pass.error().message;
  EXPECT_EQ(pass->removed, 3);
  EXPECT_FALSE(is_any_under_way());
}

TEST_F(Keep, a_worker_with_a_folder_archives_and_doctor_names_what_nothing_archives) {
  start(add_graph("keep_second", R"("keep": "1s", )"), 3);
  age("keep_second", 4'000);
  const auto check = [] {
    const Json said = cairn({"doctor", "--json"}).json();
    for (const Json& one : said["checks"])
      if (one["name"] == "kept_runs") return one;
    return Json();
  };
  EXPECT_EQ(check()["ok"], false);
  EXPECT_NE(check()["found"].dump().find("runs of keep_second"), std::string::npos);
  setenv("CAIRN_ARCHIVE", folder_.c_str(), 1);
  Beside worker({"work"});
  unsetenv("CAIRN_ARCHIVE");
  EXPECT_TRUE(wait_until([&] { return runs_left().empty(); }));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.err();
  EXPECT_EQ(runs_in_files().size(), 3u);
  EXPECT_EQ(check()["ok"], true);
}

TEST_F(Keep, a_folder_that_cannot_be_made_ends_the_worker) {
  setenv("CAIRN_ARCHIVE", "/dev/null/archive", 1);
  const Ran ran = cairn({"work"});
  unsetenv("CAIRN_ARCHIVE");
  expect_refused(ran, 4, "CAIRN_ARCHIVE");
}

}  // namespace
}  // namespace cairn::program

// Runs leave the database for a file that holds all of them, and what vouched for them is content.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>

#include "ops/audit/archiver.hpp"
#include "ops/service/database.hpp"
#include "tests/ops/audit/emptied_database.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

class Archive : public EmptiedDatabase {
 protected:
  static std::string start(const std::string& graph, const Arguments& more = {}) {
    Arguments arguments = {"start", graph, "--json", "--wait"};
    if (graph == "plan_runner")
      arguments.insert(arguments.end(), {"--input", R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo"}]})"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cairn_ok(arguments).json()["run"];
  }
  static std::string add_graph(const std::string& text, const std::string& name) {
    cairn_ok({"graph", "add", write_file(name + ".json", text)});
    return name;
  }

  // Each DELETE of events, whatever it deletes, does this first.
  void break_deletes(const std::string& body) {
    execute("create function public.no_more() returns trigger language plpgsql as $$ begin " + body +
            "; return null; end $$");
    execute("create trigger no_more before delete on cairn.event for each statement execute function public.no_more()");
  }
  void mend_deletes() {
    execute("drop trigger no_more on cairn.event");
    execute("drop function public.no_more");
  }

  Ran archive(const Arguments& more = {}) {
    Arguments arguments = {"archive", "--older-than", "0s", "--out", file_, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cairn(arguments);
  }

  // An archiver with all that it needs, in this process.
  struct OwnArchiver {
    explicit OwnArchiver(
        const std::string& dsn, Archiver::Kept kept = [](const RunId&, const std::string&) {})
        : store(*open_store(dsn)),
          key(*open_signing_key(*checkpoint_options({"", (directory() / "data").string()}))),
          removal(dsn),
          signatures(dsn, store->shards()),
          archiver(*store, removal, signatures, key, std::move(kept)) {}
    Result<ArchiveReport> archive(const std::string& file) {
      const WantedRuns all{store->database_time(), {}, [](const RunRow&) { return true; }};
      return archiver.archive(file, all, "user:ann");
    }
    const std::unique_ptr<Store> store;
    const SigningKey key;
    RunArchive removal;
    CheckpointTable signatures;
    Archiver archiver;
  };

  std::string count_of_locks(const std::string& more) {
    return text("select count(*)::text from pg_stat_activity where application_name = 'archive of cairn'" + more);
  }
};

const char* const caller_graph = R"({"name": "archive_caller", "start": "call", "limits": {"steps": 9}, "nodes": {
    "call": {"call": "archive_ask", "on": {"done": "finish", "failed": "finish"}}, "finish": {"end": "done"}}})";

TEST_F(Archive, ended_runs_go_and_come_back_and_nothing_is_missed) {
  const std::string done = start("plan_runner");
  const std::string tagged = start("plan_runner", {"--tag", "team=a"});
  const Json report = archive({"--where", "tag.team=a"}).json();
  EXPECT_EQ(report["runs"], 1);
  EXPECT_EQ(report["removed"], 1);
  EXPECT_EQ(runs_left(), std::vector<std::string>{done});
  EXPECT_EQ(text("select count(*)::text from cairn.event where run_id = '" + tagged + "'"), "0");
  EXPECT_EQ(count("tombstone"), "1");
  EXPECT_EQ(cairn_ok({"verify", "--all", "--json"}).json()["findings"], Json::array()) << "the gap is explained";
  EXPECT_EQ(cairn_ok({"verify", "--file", file_, "--json"}).json()["runs"], 1);
  expect_refused(cairn({"show", tagged}), 3, tagged);
  cairn_ok({"import", file_});
  EXPECT_EQ(cairn_ok({"show", tagged, "--json"}).json()["status"], "done");
  EXPECT_EQ(cairn_ok({"verify", "--all", "--json"}).json()["findings"], Json::array());
}

TEST_F(Archive, a_tombstone_that_nobody_signed_explains_nothing) {
  const std::string run = start("plan_runner");
  archive();
  execute("update cairn.tombstone set file_digest = sha256('another file')");
  const Ran ran = cairn({"verify", "--all", "--json"});
  EXPECT_EQ(ran.exit, 1);
  ASSERT_EQ(ran.json()["findings"].size(), 1u) << ran.out;
  EXPECT_EQ(ran.json()["findings"][0]["kind"], "removed");
  EXPECT_EQ(ran.json()["findings"][0]["run"], run);
}

TEST_F(Archive, what_open_runs_refer_to_is_kept_and_named) {
  add_graph(ask_graph("archive_ask"), "archive_ask");
  const std::string earlier = start("plan_runner");
  const std::string open = start("archive_ask", {"--continues", earlier});
  const std::string caller = start(add_graph(caller_graph, "archive_caller"));
  const std::string child = cairn_ok({"runs", "--graph", "archive_ask", "--json"}).lines()[0]["run"];
  const std::string origin = start("archive_ask");
  cairn_ok({"answer", origin, "--value", "\"east\""});
  const std::string fork = cairn_ok({"fork", origin, "--at", "2", "--json"}).json()["run"];
  const Json kept = archive().json()["kept"];
  ASSERT_EQ(kept.size(), 2u) << kept;
  EXPECT_EQ(kept[0]["run"], earlier);
  EXPECT_EQ(kept[1]["run"], origin);
  EXPECT_FALSE(fs::exists(file_)) << "there was nothing to archive";
  cairn_ok({"answer", child, "--value", "\"north\""});
  cairn_ok({"answer", open, "--value", "\"south\""});
  cairn_ok({"answer", fork, "--value", "\"west\""});
  EXPECT_EQ(archive().json()["runs"], 6) << "a caller goes with what it called";
  EXPECT_TRUE(runs_left().empty());
  for (const char* table : {"run", "event", "job", "question", "snapshot"}) EXPECT_EQ(count(table), "0") << table;
}

TEST_F(Archive, young_and_open_runs_stay) {
  start("plan_runner");
  add_graph(ask_graph("archive_ask"), "archive_ask");
  start("archive_ask");
  EXPECT_EQ(cairn_ok({"archive", "--older-than", "1h", "--out", file_, "--json"}).json()["runs"], 0);
  EXPECT_EQ(cairn_ok({"archive", "--older-than", "2020-01-01", "--out", file_, "--json"}).json()["runs"], 0);
  EXPECT_EQ(archive().json()["runs"], 1);
  EXPECT_EQ(runs_left().size(), 1u);
}

TEST_F(Archive, without_keep_leaves_the_runs_of_graphs_with_a_policy_to_it) {
  const auto add = [](const std::string& name, const std::string& more) {
    return add_graph(R"({"name": ")" + name + R"(", "start": "end", "limits": {"steps": 9}, )" + more +
                         R"("nodes": {"end": {"end": "done"}}})",
                     name);
  };
  const std::string has_policy = start(add("archive_year", R"("keep": "365d", )"));
  start(add("archive_no_policy", ""));
  EXPECT_EQ(archive({"--without-keep"}).json()["removed"], 1);
  EXPECT_EQ(runs_left(), std::vector<std::string>{has_policy});
  add("archive_year", R"("description": "Without a policy from now on.", )");
  fs::remove(file_);
  EXPECT_EQ(archive({"--without-keep"}).json()["removed"], 1) << "its graph's current version decides";
}

TEST_F(Archive, what_was_interrupted_goes_on) {
  start("plan_runner");
  start("plan_runner");
  execute(
      "create function public.no_more() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$");
  execute("create trigger no_more before delete on cairn.event execute function public.no_more()");
  EXPECT_NE(archive().exit, 0);
  EXPECT_TRUE(fs::exists(file_)) << "it was whole before anything was removed";
  EXPECT_EQ(runs_left().size(), 2u);
  EXPECT_EQ(count("tombstone"), "0");
  execute("drop trigger no_more on cairn.event");
  execute("drop function public.no_more");
  start("plan_runner");
  const Json report = archive().json();
  EXPECT_EQ(report["runs"], 2);
  EXPECT_EQ(report["removed"], 2);
  EXPECT_EQ(runs_left().size(), 1u) << "the file was there already, so its runs alone";
  EXPECT_EQ(archive().json()["removed"], 0);
}

TEST_F(Archive, a_file_that_is_no_sound_archive_removes_nothing) {
  start("plan_runner");
  const std::string exported = cairn_ok({"export", "--all"}).out;
  std::ofstream(file_) << exported;
  expect_refused(archive(), 4, "export");
  std::ofstream(file_) << "something else\n";
  expect_refused(archive(), 4, "");
  fs::remove(file_);
  expect_refused(cairn({"archive", "--older-than", "0s", "--out", "/nowhere/at/all"}), 4, "/nowhere/at/all");
  expect_refused(cairn({"archive", "--older-than", "soon", "--out", file_}), 2, "soon");
  expect_refused(cairn({"archive", "--older-than", "99999999d", "--out", file_}), 2, "99999999d");
  EXPECT_EQ(runs_left().size(), 1u);
}

TEST_F(Archive, only_its_own_role_may_remove_a_history) {
  start("plan_runner");
  for (const std::string role : {"cairn_app", "cairn_read"}) {
    PgConnection connection({dsn_, "a test", false});
    connection.execute("SET ROLE " + role);
    EXPECT_THROW(connection.execute("DELETE FROM cairn.event"), PostgresError) << role;
    EXPECT_THROW(connection.execute("INSERT INTO cairn.tombstone VALUES (0, 1, 1, gen_random_uuid(), '', '', '', '')"),
                 PostgresError)
        << role;
  }
  execute("CREATE ROLE plain_worker LOGIN IN ROLE cairn_app");
  expect_refused(cairn({"archive", "--older-than", "0s", "--out", file_, "--dsn", dsn_ + " user=plain_worker"}), 4,
                 "cairn_archive");
  execute("GRANT cairn_archive TO plain_worker");
  cairn_ok({"archive", "--older-than", "0s", "--out", file_, "--dsn", dsn_ + " user=plain_worker"});
  EXPECT_EQ(count("event"), "0");
}

TEST_F(Archive, A4_a_key_whose_run_was_archived_is_refused_and_nothing_runs_twice) {
  const std::string run = start("plan_runner", {"--key", "order-77"});
  archive();
  const Arguments again = {"start",
                           "plan_runner",
                           "--key",
                           "order-77",
                           "--wait",
                           "--input",
                           R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo"}]})"};
  const Ran ran = cairn(again);
  expect_refused(ran, 4, file_);
  EXPECT_NE(ran.err.find(run), std::string::npos) << ran.err;
  EXPECT_EQ(count("event"), "0");
  EXPECT_EQ(cairn_ok({"verify", "--all", "--json"}).json()["findings"], Json::array());
  cairn_ok({"import", file_});
  EXPECT_EQ(cairn_ok(again).out.substr(0, run.size()), run) << "what came back is there";
}

TEST_F(Archive, a_batch_may_come_by_a_pipe_and_is_the_same_as_from_a_file) {
  const std::string lines = "{\"goal\": \"one\", \"sub_goals\": []}\n{\"goal\": \"two\", \"sub_goals\": []}\n";
  const std::string first = cairn_ok({"batch", "plan_runner", "--inputs", "-", "--wait"}, lines).out;
  EXPECT_EQ(first.substr(0, 14), "2 runs, 2 done") << first;
  const std::string again = cairn_ok({"batch", "plan_runner", "--inputs", "/dev/stdin", "--wait"}, lines).out;
  EXPECT_EQ(again.substr(0, 40), "2 runs (2 were there already), 2 done; t") << again;
  const std::string file = write_file("piped_batch.jsonl", lines);
  EXPECT_EQ(cairn_ok({"batch", "plan_runner", "--inputs", file, "--wait"}).out, again);
  expect_refused(cairn({"batch", "plan_runner", "--inputs", "-"}, "{}\n[]\n"), 2, "line 2");
}

TEST_F(Archive, A4_a_batch_run_again_says_how_many_are_archived) {
  const std::string inputs = write_file("archived_batch.jsonl",
                                        "{\"goal\": \"1\", \"sub_goals\": []}\n{\"goal\": \"2\", \"sub_goals\": []}\n");
  const Arguments batch = {"batch", "plan_runner", "--inputs", inputs, "--wait"};
  cairn_ok(batch);
  const std::string first = runs_left().at(0);
  archive({"--except", first});
  EXPECT_EQ(runs_left(), std::vector<std::string>{first});
  EXPECT_EQ(count("event") == "0", false);
  const std::string events = count("event");
  EXPECT_NE(cairn_ok(batch).out.find("2 runs (1 were there already), 1 archived, 1 done"), std::string::npos);
  EXPECT_EQ(count("event"), events);
  Arguments with_json = batch;
  with_json.push_back("--json");
  int archived = 0;
  for (const Json& line : cairn_ok(with_json).lines()) archived += line["status"] == "archived" ? 1 : 0;
  EXPECT_EQ(archived, 1);
}

// As a program did that did not know that: the tombstone is hidden from it.
TEST_F(Archive, A4_a_run_that_was_started_again_under_an_archived_key_is_not_called_rewritten) {
  start("plan_runner", {"--key", "order-78"});
  archive();
  execute("create table public.hidden as select * from cairn.tombstone; truncate cairn.tombstone");
  start("plan_runner", {"--key", "order-78"});
  execute("insert into cairn.tombstone select * from public.hidden; drop table public.hidden");
  EXPECT_EQ(cairn_ok({"verify", "--all", "--json"}).json()["findings"], Json::array());
  execute("update cairn.tombstone set seq = 1");  // without a signature
  const Json found = cairn({"verify", "--all", "--json"}).json()["findings"];
  ASSERT_EQ(found.size(), 1u) << found;
  EXPECT_EQ(found[0]["kind"], "rewritten");
}

TEST_F(Archive, A13_goes_on_past_a_run_that_cannot_be_archived_and_names_it) {
  const std::string sound = start("plan_runner");
  const std::string faulty = start("plan_runner");
  execute("update cairn.event set payload = replace(payload, '\"a\"', '\"b\"') where run_id = '" + faulty + "'");
  const Ran ran = archive();
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_EQ(ran.json()["removed"], 1);
  ASSERT_EQ(ran.json()["kept"].size(), 1u) << ran.out;
  EXPECT_EQ(ran.json()["kept"][0]["run"], faulty);
  EXPECT_EQ(runs_left(), std::vector<std::string>{faulty});
  EXPECT_EQ(cairn_ok({"verify", "--file", file_, "--json"}).json()["runs"], 1);
  EXPECT_FALSE(fs::exists(file_ + ".part"));
}

TEST_F(Archive, a_removal_takes_as_long_as_it_takes) {
  start("plan_runner");
  break_deletes("perform pg_sleep(11)");
  const Ran ran = archive();
  mend_deletes();
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(runs_left().empty());
}

TEST_F(Archive, waits_for_one_that_looks_for_large_values) {
  start("plan_runner");
  PgConnection other({dsn_, "a test", false});
  other.execute("begin");
  other.execute(statement("lock_erasing").text);
  Beside beside({"archive", "--older-than", "0s", "--out", file_});
  EXPECT_TRUE(wait_until([&] {
    return text(
               "select count(*)::text from pg_stat_activity where wait_event_type = 'Lock' and application_name like "
               "'cairn%' and statement_timestamp() - query_start > interval '11 s'") == "1";
  }));
  other.execute("commit");
  EXPECT_EQ(beside.wait(), 0) << beside.err();
  EXPECT_TRUE(runs_left().empty());
}

// Its caller was tried again, or an open run was forked from it, while the file was made or before it was gone on with.
TEST_F(Archive, what_went_on_since_the_file_was_made_stays_with_all_that_goes_together_with_it) {
  add_graph(R"({"name": "archive_child", "start": "end", "limits": {"steps": 9}, "nodes": {"end": {"end": "done"}}})",
            "archive_child");
  add_graph(R"({"name": "archive_failing", "start": "call", "limits": {"steps": 9}, "nodes": {
      "call": {"call": "archive_child", "on": {"done": "work", "failed": "work"}},
      "work": {"do": "tool.call", "with": {"tool": "fail", "inputs": {"message": "no", "times": 1}},
               "on": {"ok": "finish"}}, "finish": {"end": "done"}}})",
            "archive_failing");
  add_graph(ask_graph("archive_ask"), "archive_ask");
  const std::string plain = start("plan_runner");
  const std::string caller = cairn({"start", "archive_failing", "--json", "--wait"}).json()["run"];
  const std::string child = cairn_ok({"runs", "--graph", "archive_child", "--json"}).lines().at(0)["run"];
  const std::string origin = start("archive_ask");
  cairn_ok({"answer", origin, "--value", "\"east\""});
  break_deletes("raise 'the disk is full'");
  EXPECT_NE(archive().exit, 0);
  ASSERT_TRUE(fs::exists(file_));
  mend_deletes();
  cairn_ok({"retry", caller});
  const std::string fork = cairn_ok({"fork", origin, "--at", "2", "--json"}).json()["run"];
  const Json report = archive().json();
  EXPECT_EQ(report["runs"], 4);
  EXPECT_EQ(report["removed"], 1) << report;
  ASSERT_EQ(report["kept"].size(), 1u) << report;
  EXPECT_EQ(report["kept"][0]["run"], origin);
  std::vector<std::string> left = {caller, child, origin, fork};
  std::sort(left.begin(), left.end());
  EXPECT_EQ(runs_left(), left) << plain;
  EXPECT_EQ(cairn_ok({"verify", "--all", "--json"}).json()["findings"], Json::array());
}

TEST_F(Archive, a_sound_run_above_the_bounds_of_an_export_stays_and_the_others_go) {
  add_graph(R"({"name": "archive_ends", "start": "end", "limits": {"steps": 9}, "nodes": {"end": {"end": "done"}}})",
            "archive_ends");
  const auto start_with = [](std::size_t letters) {
    return start("archive_ends", {"--input", Json{{"note", std::string(letters, 'a')}}.dump()});
  };
  start_with(10);
  const std::string large = start_with(20'000);
  start_with(20);
  std::map<std::string, std::string> kept;
  OwnArchiver one(dsn_, [&](const RunId& run, const std::string& why) { kept.emplace(to_string(run), why); });
  one.archiver.bound({.state_bytes = 10'000, .measured_every_bytes = 1'000});
  const Result<ArchiveReport> report = one.archive(file_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->removed, 2);
  EXPECT_EQ(report->faulty, 1);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_NE(kept[large].find("at most 10000 bytes"), std::string::npos) << kept[large];
  EXPECT_EQ(runs_left(), std::vector<std::string>{large});
}

TEST_F(Archive, A13_leaves_no_part_of_a_file_when_it_is_refused) {
  start("plan_runner");
  fs::create_directories(file_ + ".d");
  const std::string inside = file_ + ".d/archive.jsonl";
  execute("alter table cairn.checkpoint rename to checkpoint_gone");
  EXPECT_NE(cairn({"archive", "--older-than", "0s", "--out", inside}).exit, 0);
  execute("alter table cairn.checkpoint_gone rename to checkpoint");
  EXPECT_TRUE(fs::is_empty(file_ + ".d"));
}

// The keeper among them: it may be about to archive the same runs.
TEST_F(Archive, waits_for_another_process_that_archives_so_that_no_run_lands_in_two_files) {
  for (Arguments command : {Arguments{"archive", "--older-than", "0s"}, Arguments{"erase", "--where", "status=done"}}) {
    start("plan_runner");
    const std::string file = file_ + "." + command.front();
    command.insert(command.end(), {"--out", file});
    PgConnection other({dsn_, "a test", false});
    other.execute("begin");
    other.execute(statement("try_lock_archive").text);
    Beside beside(command);
    EXPECT_TRUE(wait_until([&] { return count_of_locks(" and wait_event = 'advisory'") == "1"; })) << command.front();
    EXPECT_FALSE(fs::exists(file) || fs::exists(file + ".part"));
    EXPECT_EQ(runs_left().size(), 1u);
    other.execute("commit");
    EXPECT_EQ(beside.wait(), 0) << beside.err();
    EXPECT_TRUE(fs::exists(file));
    EXPECT_TRUE(runs_left().empty());
  }
}

TEST_F(Archive, is_refused_and_writes_nothing_when_another_process_archives_for_too_long) {
  start("plan_runner");
  PgConnection other({dsn_, "a test", false});
  other.execute("begin");
  other.execute(statement("try_lock_archive").text);
  OwnArchiver one(dsn_);
  one.archiver.wait_at_most(50);
  const Result<ArchiveReport> refused = one.archive(file_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unavailable) << refused.error().message;
  EXPECT_FALSE(fs::exists(file_) || fs::exists(file_ + ".part"));
  other.execute("commit");
  const Result<ArchiveReport> done = one.archive(file_);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->removed, 1);
  EXPECT_TRUE(wait_until([&] { return count_of_locks("") == "0"; })) << "the call has let go of it";
}

// A server, or a pooler with a limit of its own, ended the lock's connection: another process may archive by now.
TEST_F(Archive, that_lost_its_lock_makes_no_file_and_removes_nothing_by_one_that_was_there) {
  start("plan_runner");
  OwnArchiver one(dsn_);
  const std::unique_ptr<ArchiveLock> lock = *one.removal.lock(0);
  ASSERT_NE(lock, nullptr);
  one.archiver.work_under(*lock);
  text(
      "select count(pg_terminate_backend(pid))::text from pg_stat_activity where application_name = 'archive of "
      "cairn'");
  ASSERT_TRUE(wait_until([&] { return count_of_locks("") == "0"; }));
  const Result<ArchiveReport> of_new = one.archive(file_);
  ASSERT_FALSE(of_new);
  EXPECT_EQ(of_new.error().code, Code::unavailable) << of_new.error().message;
  EXPECT_FALSE(fs::exists(file_) || fs::exists(file_ + ".part"));
  break_deletes("raise 'the disk is full'");
  EXPECT_NE(archive().exit, 0);
  mend_deletes();
  ASSERT_TRUE(fs::exists(file_)) << "of a process that had the lock";
  const Result<ArchiveReport> of_old = one.archive(file_);
  ASSERT_FALSE(of_old);
  EXPECT_EQ(of_old.error().code, Code::unavailable) << of_old.error().message;
  EXPECT_EQ(runs_left().size(), 1u);
}

}  // namespace
}  // namespace cairn::program

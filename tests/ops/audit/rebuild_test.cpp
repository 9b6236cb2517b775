// `cairn rebuild` makes the derived rows again from the events alone. The work continues where it was, with workers or
// without; rows that are right already stay as they are.
#include <csignal>
#include <set>

#include "engine/snapshot.hpp"
#include "storage/proof/run_records.hpp"
#include "tests/ops/audit/audited_database.hpp"

namespace cairn::program {
namespace {

class Rebuild : public AuditedDatabase {
 protected:
  Json rebuild(int exit = 0) {
    const Ran ran = cairn(on_it({"rebuild", "--json"}));
    EXPECT_EQ(ran.exit, exit) << ran.out << ran.err;
    return ran.json();
  }
  // Everything derived, but who holds a job and since when.
  std::string derived() {
    return sql_text("SELECT string_agg(r::text, E'\\n' ORDER BY run_id) FROM cairn.run r") + "\n" +
           sql_text(
               "SELECT string_agg((run_id, branch, step, attempt, queue, priority, run_at, timeout_ms)::text, "
               "E'\\n' ORDER BY run_id, branch) FROM cairn.job") +
           "\n" + sql_text("SELECT string_agg(q::text, E'\\n' ORDER BY run_id, id) FROM cairn.question q");
  }
  void lose_everything_derived() { sql("TRUNCATE cairn.run, cairn.job, cairn.question, cairn.snapshot"); }
  void start_some_of_each() {
    done_run();
    asking_run();
    signalled_run(3);
    waiting_job();
    cairn_ok(on_it({"pause", waiting_job()}));
    cairn_ok(on_it({"cancel", waiting_job(), "--reason", "no need"}));
    start("works", {"--tag", "team=a", "--options", R"({"priority": 3})"});
  }
  std::string job(const std::string& columns) { return sql_text("SELECT (" + columns + ") FROM cairn.job"); }
};

TEST_F(Rebuild, makes_every_row_anew_when_all_are_gone) {
  start_some_of_each();
  const std::string before = derived();
  lose_everything_derived();
  EXPECT_EQ(cairn(on_it({"rebuild", "--check"})).exit, 1);
  EXPECT_EQ(sql_text("SELECT count(*) FROM cairn.run"), "0") << "a check writes nothing";
  const Json shown = rebuild();
  EXPECT_EQ(shown["runs"], 7);
  EXPECT_EQ(shown["rebuilt"], 7);
  EXPECT_EQ(shown["findings"], Json::array());
  EXPECT_EQ(derived(), before);
  EXPECT_EQ(found_by({"verify", "--all"}), "");
  EXPECT_EQ(rebuild()["rebuilt"], 0) << "again: nothing is left to do";
}

TEST_F(Rebuild, a_run_whose_row_names_an_event_that_is_not_there_refuses_commands) {
  const std::string asks = asking_run();
  sql("UPDATE cairn.run SET head = head + 1");
  const Ran refused = cairn(on_it({"answer", asks, "--value", "\"east\""}));
  EXPECT_EQ(refused.exit, 4) << refused.err;
  EXPECT_NE(refused.err.find("but it is missing"), std::string::npos) << refused.err;
  EXPECT_EQ(found(asks), "missing 3") << "an event that may have been there is not made up";
  sql("UPDATE cairn.run SET head = head - 1");
  cairn_ok(on_it({"answer", asks, "--value", "\"east\""}));
  EXPECT_EQ(found_by({"verify", "--all"}), "");
}

TEST_F(Rebuild, the_work_goes_on_with_what_was_made_anew) {
  const std::string works = waiting_job();
  const std::string asks = asking_run();
  lose_everything_derived();
  rebuild();
  cairn_ok(on_it({"answer", asks, "--value", "\"north\""}));
  Beside worker(on_it({"work"}));
  for (const std::string& run : {works, asks})
    EXPECT_TRUE(wait_until([&] {
      return sql_text("SELECT status FROM cairn.run WHERE run_id = '" + run + "'") == "done";
    })) << run;
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_EQ(found_by({"verify", "--all"}), "");
}

TEST_F(Rebuild, a_held_job_stays_held_and_a_wrong_one_is_offered_under_a_new_epoch) {
  waiting_job();
  sql("UPDATE cairn.job SET session = 7, epoch = epoch + 1, deadline = 99");
  const std::string held = job("session, epoch, deadline, run_at");
  sql("UPDATE cairn.run SET reason = 'other'");
  EXPECT_EQ(rebuild()["rebuilt"], 1);
  EXPECT_EQ(job("session, epoch, deadline, run_at"), held);
  const auto epoch = std::stoll(job("epoch"));
  sql("UPDATE cairn.job SET step = 5");
  EXPECT_EQ(rebuild()["rebuilt"], 1);
  EXPECT_EQ(job("session IS NULL"), "true");
  EXPECT_EQ(std::stoll(job("epoch")), epoch + 1);
  sql("DELETE FROM cairn.job");
  rebuild();
  EXPECT_GT(std::stoll(job("epoch")), epoch + 1) << "whoever held the lost row holds nothing now";
}

TEST_F(Rebuild, the_application_s_rights_are_enough_and_to_verify_those_of_a_reader) {
  start_some_of_each();
  lose_everything_derived();
  sql("DROP ROLE IF EXISTS an_application, a_reader");
  sql("CREATE ROLE an_application LOGIN IN ROLE cairn_app; CREATE ROLE a_reader LOGIN IN ROLE cairn_read");
  EXPECT_EQ(cairn({"rebuild", "--check", "--dsn", dsn() + " user=a_reader"}).exit, 1);
  EXPECT_EQ(cairn({"rebuild", "--dsn", dsn() + " user=a_reader"}).out, "");
  EXPECT_EQ(sql_text("SELECT count(*) FROM cairn.run"), "0");
  cairn_ok({"rebuild", "--dsn", dsn() + " user=an_application"});
  cairn_ok({"verify", "--all", "--dsn", dsn() + " user=a_reader"});
}

TEST_F(Rebuild, snapshots_that_differ_are_deleted_and_those_that_do_not_are_kept) {
  const std::string text = signalled_run(4);
  const RunId run = *parse_run_id(text);
  const std::vector<EventRow> rows = store()->events(run, 0, 10);
  store()->snapshots().put(run, {3, fold_version, rows[2].chain_hash, "{}"});
  store()->snapshots().put(run, {4, 1, rows[3].chain_hash, "of another fold"});
  EXPECT_EQ(found(text), "snapshot 3");
  EXPECT_EQ(rebuild()["rebuilt"], 1);
  EXPECT_EQ(sql_text("SELECT string_agg(seq::text, ',') FROM cairn.snapshot"), "4");
}

TEST_F(Rebuild, rows_of_a_run_that_is_not_there_are_removed) {
  const std::string worked = waiting_job();
  const std::string asked = asking_run();
  const std::string there = waiting_job();
  const std::string of_two = " WHERE run_id IN ('" + worked + "', '" + asked + "')";
  sql("INSERT INTO cairn.snapshot (shard, run_id, fold_version, seq, chain_hash, state) VALUES (0, '" + worked + "', " +
      std::to_string(fold_version) + ", 1, '\\x', '{}')");
  sql("DELETE FROM cairn.event" + of_two + "; DELETE FROM cairn.run" + of_two);
  forget_checkpoints();
  EXPECT_EQ(found_by({"verify", "--all"}), "surplus 0, surplus 0");
  EXPECT_EQ(cairn(on_it({"rebuild", "--check"})).exit, 1);
  EXPECT_EQ(sql_text("SELECT count(*) FROM cairn.question"), "1") << "a check writes nothing";
  EXPECT_EQ(rebuild()["rebuilt"], 2);
  for (const char* table : {"job", "question", "snapshot"})
    EXPECT_EQ(sql_text(std::string("SELECT count(*) FROM cairn.") + table + of_two), "0") << table;
  RunRecords records(dsn(), 1, 1);
  EXPECT_FALSE(records.remove_leftovers(0, *parse_run_id(there))) << "it is there";
  sql("DELETE FROM cairn.event");
  EXPECT_FALSE(records.remove_leftovers(0, *parse_run_id(there))) << "its row says that it was";
  EXPECT_EQ(sql_text("SELECT run_id FROM cairn.job"), there);
  sql("TRUNCATE cairn.run, cairn.job");
  EXPECT_EQ(found_by({"verify", "--all"}), "");
}

// It says that there was a history.
TEST_F(Rebuild, the_row_of_a_run_whose_events_are_gone_stays_with_all_beside_it) {
  const std::string run = waiting_job();
  sql("DELETE FROM cairn.event");
  EXPECT_EQ(rebuild(1)["rebuilt"], 0);
  EXPECT_EQ(sql_text("SELECT run_id FROM cairn.run"), run);
  EXPECT_EQ(sql_text("SELECT run_id FROM cairn.job"), run);
}

TEST_F(Rebuild, no_row_is_made_of_a_history_with_a_fault) {
  const std::string altered = signalled_run(4);
  const std::string cut = signalled_run(4);
  const std::string sound = signalled_run(4);
  sql("UPDATE cairn.event SET actor = 'user:eve' WHERE seq = 3 AND run_id = '" + altered + "'");
  sql("DELETE FROM cairn.event WHERE seq = 5 AND run_id = '" + cut + "'");
  sql("UPDATE cairn.run SET reason = 'other'");
  const Json shown = rebuild(1);
  EXPECT_EQ(shown["rebuilt"], 1);
  std::set<std::string> left;
  for (const Json& finding : shown["findings"]) left.insert(finding["run"].get<std::string>());
  EXPECT_EQ(left, (std::set{altered, cut}));
  EXPECT_EQ(sql_text("SELECT string_agg(run_id::text, '') FROM cairn.run WHERE reason = ''"), sound);
}

TEST_F(Rebuild, nothing_is_written_for_a_run_that_has_moved_on) {
  const RunId run = *parse_run_id(signalled_run(2));
  RunRecords records(dsn(), 1, 1);
  const auto plan = [&](const RunRecord& found) {
    Repair repair{*found.run, {}, {}, {}, {}};
    repair.run.reason = "written";
    return repair;
  };
  EXPECT_FALSE(records.repair(run, 2, fold_version, plan));
  EXPECT_FALSE(records.repair(run, 4, fold_version, plan));
  EXPECT_EQ(store()->run(run)->reason, "");
  EXPECT_TRUE(records.repair(run, 3, fold_version, plan));
  EXPECT_EQ(store()->run(run)->reason, "written");
}

TEST_F(Rebuild, rows_that_cannot_be_read_are_made_anew) {
  const std::string run = asking_run();
  sql("UPDATE cairn.run SET tags = '{\"team\": 3}'");
  sql("UPDATE cairn.question SET prompt = 'no json'");
  EXPECT_NE(found(run), "");
  EXPECT_EQ(rebuild()["rebuilt"], 1);
  EXPECT_EQ(found(run), "");
}

TEST_F(Rebuild, a_row_that_stands_before_the_end_of_its_history_catches_up) {
  const std::string run = signalled_run(4);
  sql("UPDATE cairn.run r SET head = 3, chain_hash = e.chain_hash FROM cairn.event e WHERE e.seq = 3");
  EXPECT_EQ(found(run), "surplus 4");
  EXPECT_EQ(rebuild()["rebuilt"], 1);
  EXPECT_EQ(found(run), "");
}

// All rows are lost again and again while runs are on their way; the workers continue with the rebuilt ones.
TEST_F(Rebuild, workers_may_be_running) {
  add_graph(Json::parse(R"({"name": "long", "start": "first", "limits": {"steps": 20}, "nodes": {
      "first": {"do": "tool.call", "with": {"tool": "sleep", "inputs": {"ms": 20}}, "on": {"ok": "second"}},
      "second": {"do": "tool.call", "with": {"tool": "sleep", "inputs": {"ms": 20}}, "on": {"ok": "third"}},
      "third": {"do": "tool.call", "with": {"tool": "sleep", "inputs": {"ms": 20}}, "on": {"ok": "finish"}},
      "finish": {"end": "done"}}})"));
  Beside worker(on_it({"work", "--concurrency", "4"}));
  for (int n = 0; n < 40; ++n) start("long");
  for (const char* loss : {"DELETE FROM cairn.job", "DELETE FROM cairn.run", "UPDATE cairn.job SET step = 1",
                           "DELETE FROM cairn.run WHERE run_id::text LIKE '%a%'"}) {
    sql(loss);
    EXPECT_EQ(cairn(on_it({"rebuild"})).exit, 0);
  }
  EXPECT_TRUE(wait_until([&] { return sql_text("SELECT count(*) FROM cairn.run WHERE status = 'done'") == "40"; }))
      << worker.out() << sql_text("SELECT string_agg(j::text, E'\\n') FROM cairn.job j");
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_EQ(found_by({"verify", "--all"}), "");
}

}  // namespace
}  // namespace cairn::program

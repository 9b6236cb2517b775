// Alterations by an attacker with every right over the database: `cairn verify` finds each at the run and the event it
// was made to, except those that only checkpoints can find. Nothing is found in what runs did themselves.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <thread>
#include <utility>

#include "engine/graph_parsing.hpp"
#include "engine/snapshot.hpp"
#include "ops/audit/auditor.hpp"
#include "ops/audit/run_source.hpp"
#include "storage/chain.hpp"
#include "tests/ops/audit/audited_database.hpp"
#include "tests/paths.hpp"
#include "tests/storage/forwarding_store.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/runs/history.hpp"

namespace cairn::program {
namespace {

class Verify : public AuditedDatabase {
 protected:
  // The event under another number; the rest of its row stays.
  void renumber(const std::string& run, int from, int to) {
    sql("UPDATE cairn.event SET seq = " + std::to_string(to) + " WHERE seq = " + std::to_string(from) +
        " AND run_id = '" + run + "'");
  }
  void change_event(const std::string& run, int seq, const std::string& set) {
    sql("UPDATE cairn.event SET " + set + " WHERE seq = " + std::to_string(seq) + " AND run_id = '" + run + "'");
  }
  void change_run(const std::string& run, const std::string& set) {
    sql("UPDATE cairn.run SET " + set + " WHERE run_id = '" + run + "'");
  }
  void remove_event(const std::string& run, int seq) {
    sql("DELETE FROM cairn.event WHERE seq = " + std::to_string(seq) + " AND run_id = '" + run + "'");
  }
  void copy_event(const std::string& run, int from, int to) {
    sql("INSERT INTO cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload) "
        "SELECT shard, run_id, " +
        std::to_string(to) +
        ", at, commit, type, version, step, chain_hash, actor, payload FROM cairn.event "
        "WHERE seq = " +
        std::to_string(from) + " AND run_id = '" + run + "'");
  }
  // The row says that this is the last event, as one who knows would have it.
  void set_head(const std::string& run, int seq) {
    const std::string of_event = " FROM cairn.event e WHERE e.run_id = r.run_id AND e.seq = " + std::to_string(seq);
    sql("UPDATE cairn.run r SET head = e.seq, chain_hash = e.chain_hash, updated_at = e.at" + of_event +
        " AND r.run_id = '" + run + "'");
  }
};

// --- nothing ---------------------------------------------------------------------------------------------------------

TEST_F(Verify, nothing_is_found_in_what_runs_did_themselves) {
  done_run();
  asking_run();
  signalled_run(3);
  waiting_job();
  const std::string paused = waiting_job();
  cairn_ok(on_it({"pause", paused}));
  cairn_ok(on_it({"cancel", waiting_job(), "--reason", "no need"}));
  start("asks", {"--tag", "team=a", "--tag", "size=ü", "--options", R"({"priority": 3})"});
  start("works", {"--input", Json{{"text", std::string(40'000, 'x')}}.dump()});
  const Ran ran = cairn_ok(on_it({"verify", "--all", "--json"}));
  const Json shown = ran.json();
  EXPECT_EQ(shown["runs"], 8);
  EXPECT_EQ(shown["events"], std::stoi(sql_text("SELECT count(*) FROM cairn.event")));
  EXPECT_EQ(shown["findings"], Json::array());
  EXPECT_NE(cairn_ok(on_it({"verify", "--all"})).out.find("8 runs"), std::string::npos);
  EXPECT_EQ(cairn_ok(on_it({"verify", "--where", "graph=asks", "--json"})).json()["runs"], 2);
  EXPECT_EQ(cairn_ok(on_it({"rebuild", "--check", "--json"})).json()["runs"], 8);
}

TEST_F(Verify, nothing_is_found_in_failed_and_retried_runs_and_in_those_that_call_others) {
  add_graph(Json::parse(R"({"name": "fails", "start": "work", "limits": {"steps": 9}, "nodes": {
      "work": {"do": "tool.call", "with": {"tool": "fail", "inputs": {"message": "no", "times": 1}},
               "on": {"ok": "finish"}}, "finish": {"end": "done"}}})"));
  add_graph(Json::parse(R"({"name": "calls", "start": "call", "limits": {"steps": 9}, "nodes": {
      "call": {"call": "fails", "on": {"done": "region", "failed": "region"}},
      "region": {"ask": {"kind": "question", "prompt": "Which?", "default": "north"}, "expires_ms": 86400000,
                 "on": {"answered": "finish", "expired": "finish"}},
      "finish": {"end": "done"}}})"));
  const std::string failed = start("fails", {"--wait"});
  const std::string calling = start("calls", {"--wait"});
  EXPECT_EQ(found_by({"verify", "--all"}), "");
  cairn_ok(on_it({"retry", failed}));
  EXPECT_EQ(found_by({"verify", "--all"}), "");
  cairn_ok(on_it({"answer", calling, "--value", "\"south\""}));
  EXPECT_EQ(found_by({"verify", "--all"}), "");
  EXPECT_EQ(cairn_ok(on_it({"verify", "--all", "--json"})).json()["runs"], 3);
}

// A3, E3: an event of a newer release, a child answered, the release put back.
TEST_F(Verify, A3_a_called_run_waits_for_a_caller_that_cannot_be_read_and_an_end_without_it_is_found_and_swept) {
  add_graph(Json::parse(R"({"name": "asked", "start": "region", "limits": {"steps": 9}, "nodes": {
      "region": {"ask": {"kind": "question", "prompt": "Which?"}, "on": {"answered": "finish", "expired": "finish"}},
      "finish": {"end": "done"}}})"));
  add_graph(Json::parse(R"({"name": "calling", "start": "call", "limits": {"steps": 9}, "nodes": {
      "call": {"call": "asked", "on": {"done": "finish", "failed": "finish"}}, "finish": {"end": "done"}}})"));
  const std::string caller = start("calling");
  const std::string child = sql_text("SELECT run_id FROM cairn.run WHERE parent = '" + caller + "'");
  const auto status = [&](const std::string& run) {
    return sql_text("SELECT status FROM cairn.run WHERE run_id = '" + run + "'");
  };
  const std::string version = sql_text("SELECT version FROM cairn.event WHERE seq = 1 AND run_id = '" + caller + "'");
  change_event(caller, 1, "version = 9");
  const Ran refused = cairn(on_it({"answer", child, "--value", "\"north\""}));
  EXPECT_NE(refused.exit, 0);
  EXPECT_NE(refused.err.find("cannot be read here"), std::string::npos) << refused.err;
  EXPECT_EQ(status(child), "running");
  change_event(caller, 1, "version = " + version);
  const std::string head = sql_text("SELECT head FROM cairn.run WHERE run_id = '" + caller + "'");
  cairn_ok(on_it({"answer", child, "--value", "\"north\""}));
  EXPECT_EQ(status(caller), "done");
  EXPECT_EQ(found_by({"verify", "--all"}), "");

  sql("DELETE FROM cairn.event WHERE run_id = '" + caller + "' AND seq > " + head);
  set_head(caller, std::stoi(head));
  change_run(caller, "status = 'running', waiting = true");
  forget_checkpoints();
  EXPECT_EQ(found(caller), "call " + head);
  const std::string says = cairn_ok(on_it({"explain", caller})).out;
  EXPECT_NE(says.find("ended without it"), std::string::npos) << says;
  change_run(child, "caller_knows = false");  // as an older release leaves it
  Beside worker(on_it({"work"}));
  for (int looks = 0; status(caller) == "running" && looks < 1'000; ++looks)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_EQ(status(caller), "done");
  EXPECT_EQ(found_by({"verify", "--all"}), "");
}

TEST_F(Verify, nothing_is_found_while_workers_write) {
  std::string lines;
  for (int n = 0; n < 300; ++n)
    lines += R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {"n": )" + std::to_string(n) +
             "}}, {\"id\": \"b\", \"tool\": \"sleep\", \"inputs\": {\"ms\": 3}, \"after\": [\"a\"]}]}\n";
  const std::string file = write_file("busy.jsonl", lines);
  Beside worker(on_it({"work"}));
  Beside batch(on_it({"batch", "plan_runner", "--inputs", file, "--wait", "--no-work"}));
  int looks = 0;
  for (; sql_text("SELECT count(*) FROM cairn.run WHERE status = 'done'") != "300" && looks < 500; ++looks)
    EXPECT_EQ(found_by({"verify", "--all"}), "");
  EXPECT_GT(looks, 1);
  EXPECT_EQ(batch.wait(), 0);
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_EQ(found_by({"verify", "--all"}), "");
  EXPECT_EQ(cairn_ok(on_it({"verify", "--all", "--json"})).json()["runs"], 300);
  EXPECT_EQ(cairn_ok(on_it({"verify", "--where", "status=done", "--json"})).json()["runs"], 300);
}

// Its rows were read, and it is removed before its events are.
class RemovingStore final : public cairn::test::ForwardingStore {
 public:
  RemovingStore(Store& store, std::function<void()> remove) : ForwardingStore(store), remove_(std::move(remove)) {}
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    if (remove_) std::exchange(remove_, nullptr)();
    return ForwardingStore::histories(requests, limit);
  }

 private:
  std::function<void()> remove_;
};

TEST_F(Verify, a_run_that_is_archived_meanwhile_is_no_finding) {
  const RunId run = *parse_run_id(done_run());
  const std::unique_ptr<Store> whole = store();
  RemovingStore removing(*whole, [] {
    cairn_ok(on_it({"archive", "--older-than", "0s", "--out", (directory() / "meanwhile.jsonl").string()}));
  });
  RunRecords records(dsn(), 1, 1);
  Auditor auditor(removing, records, Auditor::Extent::with_values_and_origin);
  int audited = 0;
  auditor.audit({{run, shard_of(run, 1)}}, [&](const RunPlace&, const Audited& found) {
    ++audited;
    EXPECT_EQ(found.findings.size(), 0u) << found.findings.front().says;
  });
  EXPECT_EQ(audited, 1);
  EXPECT_FALSE(whole->run(run)) << "it was archived by the way";
  EXPECT_EQ(found_by({"verify", "--all"}), "");
}

TEST_F(Verify, a_person_at_a_terminal_sees_how_far_it_is) {
  done_run();
  std::string verify = testing::cairn_program();
  for (const std::string& argument : on_it({"verify", "--all"})) verify += " \"" + argument + "\"";
  const Ran seen = run_program("/usr/bin/script", {"--quiet", "--return", "--command", verify, "/dev/null"});
  EXPECT_EQ(seen.exit, 0) << seen.out << seen.err;
  EXPECT_NE(seen.out.find(" events, 0 findings"), std::string::npos) << seen.out;
  const Ran piped = cairn_ok(on_it({"verify", "--all"}));
  EXPECT_EQ((piped.out + piped.err).find("0 findings"), std::string::npos) << piped.out;
}

// --- the history -----------------------------------------------------------------------------------------------------

TEST_F(Verify, an_altered_event_is_named) {
  const std::string run = done_run();
  change_event(run, 3, "payload = overlay(payload placing ' ' from length(payload))");
  EXPECT_EQ(found(run), "altered 3");
  change_event(run, 7, "actor = 'user:eve'");
  change_event(run, 9, "at = at + 1");
  EXPECT_EQ(found(run), "altered 3, altered 7, altered 9");
  const Ran ran = cairn(on_it({"verify", run}));
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.out.find(run + " 7 "), std::string::npos) << ran.out;
}

TEST_F(Verify, swapped_events_are_both_named) {
  const std::string run = done_run();
  renumber(run, 4, 1'000);
  renumber(run, 5, 4);
  renumber(run, 1'000, 5);
  EXPECT_EQ(found(run), "reordered 4, reordered 5");
}

TEST_F(Verify, a_deleted_event_is_missed_in_the_middle_and_at_the_end) {
  const std::string run = signalled_run(6);
  remove_event(run, 4);
  EXPECT_EQ(found(run), "missing 4");
  remove_event(run, 7);
  EXPECT_EQ(found(run), "missing 4, missing 7");
}

TEST_F(Verify, an_event_put_in_is_named_whether_numbers_were_made_room_for_it_or_not) {
  const std::string run = signalled_run(6);
  copy_event(run, 3, 8);
  EXPECT_EQ(found(run), "duplicated 8, surplus 8");
  set_head(run, 8);
  EXPECT_EQ(found(run), "duplicated 8");
  remove_event(run, 8);
  set_head(run, 7);
  EXPECT_EQ(found(run), "");
  for (int seq = 7; seq >= 4; --seq) renumber(run, seq, seq + 1);
  copy_event(run, 3, 4);
  change_event(run, 4, "payload = replace(payload, '2', '9'), chain_hash = sha256('forged')");
  set_head(run, 8);
  EXPECT_EQ(found(run), "inserted 4");
}

TEST_F(Verify, a_history_or_a_row_that_is_gone_is_found_when_all_is_looked_at) {
  const std::string rowless = signalled_run(2);
  sql("DELETE FROM cairn.run WHERE run_id = '" + rowless + "'");
  EXPECT_EQ(found_by({"verify", "--all"}), "run 3");
  EXPECT_EQ(found(rowless), "run 3");
  const std::string eventless = waiting_job();
  sql("DELETE FROM cairn.event WHERE run_id = '" + eventless + "'");
  EXPECT_EQ(found(eventless), "missing 1");
  sql("DELETE FROM cairn.run WHERE run_id = '" + eventless + "'");
  EXPECT_EQ(found(eventless), "surplus 0") << "its job is left";
  sql("DELETE FROM cairn.job WHERE run_id = '" + eventless + "'");
  expect_refused(cairn(on_it({"verify", eventless})), 3, eventless);
  EXPECT_EQ(cairn(on_it({"verify", "--all", "--json"})).json()["runs"], 1);
}

TEST_F(Verify, an_event_before_the_first_is_not_overlooked) {
  const std::string run = signalled_run(2);
  copy_event(run, 2, 0);
  EXPECT_EQ(found(run), "surplus 0");
}

TEST_F(Verify, runs_that_begin_after_an_audit_did_are_not_its_own) {
  RunRecords records(dsn(), 1, 1);
  const std::string first = asking_run();
  const RunSource source = all_runs(records);
  ASSERT_EQ(source().size(), 1u);
  start("asks");
  EXPECT_TRUE(source().empty());
  EXPECT_EQ(all_runs(records)().size(), 2u);
}

TEST_F(Verify, only_checkpoints_can_find_a_history_that_was_made_anew_or_cut_with_its_row) {
  const std::string cut = signalled_run(6);
  remove_event(cut, 7);
  remove_event(cut, 6);
  set_head(cut, 5);
  EXPECT_EQ(found(cut), "");
  const std::string anew = signalled_run(6);
  const RunId id = *parse_run_id(anew);
  change_event(anew, 4, "payload = replace(payload, '3', '8')");
  EXPECT_EQ(found(anew), "altered 4");
  const std::vector<EventRow> rows = store()->events(id, 0, 100);
  Hash hash = rows[2].chain_hash;
  for (std::size_t at = 3; at < rows.size(); ++at) {
    hash = chain_next(hash, 0, id, rows[at]);
    change_event(anew, static_cast<int>(at) + 1, "chain_hash = '\\x" + hex(hash) + "'");
  }
  EXPECT_EQ(found(anew), "run 7") << "the row has the hash of before";
  set_head(anew, 7);
  EXPECT_EQ(found(anew), "");
}

TEST_F(Verify, the_report_says_what_only_checkpoints_can_find) {
  const std::string cut = signalled_run(4);
  const std::string gone = signalled_run(1);
  const std::string anew = signalled_run(3);
  EXPECT_EQ(found_by({"verify", "--all"}), "");
  remove_event(cut, 5);
  set_head(cut, 4);
  for (const char* table : {"event", "run", "job"})
    sql(std::string("DELETE FROM cairn.") + table + " WHERE run_id = '" + gone + "'");
  change_event(anew, 4, "actor = 'user:eve'");
  const RunId id = *parse_run_id(anew);
  const std::vector<EventRow> rows = store()->events(id, 0, 100);
  change_event(anew, 4, "chain_hash = '\\x" + hex(chain_next(rows[2].chain_hash, 0, id, rows[3])) + "'");
  set_head(anew, 4);
  for (const std::string& run : {cut, anew}) EXPECT_EQ(found(run), "");
  std::map<std::string, std::string> kinds;
  const Json shown = cairn(on_it({"verify", "--all", "--json"})).json();
  for (const Json& finding : shown["findings"]) {
    kinds[finding["run"]] = finding["kind"];
    EXPECT_NE(finding["says"].get<std::string>().find("signed"), std::string::npos) << finding;
  }
  EXPECT_EQ(kinds, (std::map<std::string, std::string>{{cut, "missing"}, {gone, "removed"}, {anew, "rewritten"}}));
  forget_checkpoints();
  EXPECT_EQ(found_by({"verify", "--all"}), "");
}

// All but the fork's own event: the rewritten chain of its origin is one that the fork has never seen.
TEST_F(Verify, a_fork_vouches_for_the_event_it_began_at) {
  const std::string text = signalled_run(3);
  const RunId origin = *parse_run_id(text);
  const std::unique_ptr<Store> kept = store();
  const Catalogue catalogue;
  Client client(*kept, catalogue, "user:test");
  client.load_graphs();
  const Result<RunState> state = client.state(origin, 3);
  ASSERT_TRUE(state);
  StartRun fork;
  fork.graph = "waits";
  fork.forked_from = Origin{origin, 3, hex(kept->events(origin, 2, 1).at(0).chain_hash), snapshot_json(*state)};
  const std::string forked = to_string(client.start(fork, "")->run);
  EXPECT_EQ(found_by({"verify", "--all"}), "");
  EventRow changed = kept->events(origin, 2, 1).at(0);
  changed.actor = "user:eve";
  const Hash hash = chain_next(kept->events(origin, 1, 1).at(0).chain_hash, 0, origin, changed);
  change_event(text, 3, "actor = 'user:eve', chain_hash = '\\x" + hex(hash) + "'");
  remove_event(text, 4);
  set_head(text, 3);
  EXPECT_EQ(found(text), "");
  EXPECT_EQ(found_by({"verify", forked}), "altered 3");
  EXPECT_EQ(cairn_ok(on_it({"rebuild", "--json"})).json()["rebuilt"], 0) << "nothing derived differs";
  EXPECT_EQ(cairn(on_it({"verify", forked, "--json"})).json()["findings"][0]["run"], text);
}

TEST_F(Verify, a_graph_added_since_the_audit_began_is_known) {
  const std::unique_ptr<Store> kept = store();
  RunRecords records(dsn(), 1, 1);
  Auditor auditor(*kept, records, Auditor::Extent::with_values_and_origin);
  Json graph = Json::parse(ask_graph("added"));
  graph["limits"]["steps"] = std::stoi(sql_text("SELECT count(*) FROM cairn.graph")) + 10;
  add_graph(graph);
  const Audited audited = auditor.audit({*parse_run_id(start("added")), 0});
  EXPECT_EQ(audited.findings, std::vector<Finding>());
  EXPECT_EQ(audited.events, 2);
}

TEST_F(Verify, what_cannot_be_read_is_named_too) {
  const std::string run = signalled_run(3);
  change_event(run, 3, "chain_hash = '\\x00'");
  EXPECT_EQ(found(run), "unreadable 3");
  const std::string tagged = start("waits", {"--tag", "team=a"});
  change_run(tagged, "tags = '{\"team\": 3}'");
  EXPECT_EQ(found(tagged), "unreadable 0");
  const std::string asked = asking_run();
  sql("UPDATE cairn.question SET prompt = 'no json' WHERE run_id = '" + asked + "'");
  EXPECT_EQ(found(asked), "unreadable 2");
  EXPECT_EQ(cairn(on_it({"verify", "--all", "--json"})).json()["runs"], 3);
}

TEST_F(Verify, a_run_of_an_unknown_graph_or_program_is_not_vouched_for) {
  const std::string run = asking_run();
  sql("UPDATE cairn.graph SET text = replace(text, 'Which', 'What') WHERE name = 'asks'");
  EXPECT_EQ(found(run), "graph 0, unsupported 1") << "its rules are read no more";
  EXPECT_EQ(cairn(on_it({"verify", run, "--json"})).json()["findings"][0]["run"], nullptr);
  sql("DELETE FROM cairn.graph WHERE name = 'asks'");
  EXPECT_EQ(found(run), "unsupported 1");
}

TEST_F(Verify, values_beside_the_history_are_looked_at) {
  asking_run();
  const auto large = write_file("large.json", Json{{"text", std::string(16'000'000, 'x')}}.dump());
  const std::string run = start("asks", {"--input", "@" + large.string()});
  EXPECT_EQ(sql_text("SELECT count(*) FROM cairn.blob"), "1");
  EXPECT_EQ(found(run), "");
  sql("UPDATE cairn.blob SET bytes = set_byte(bytes, 77, 65)");
  EXPECT_EQ(found(run), "blob 1");
  sql("DELETE FROM cairn.blob");
  EXPECT_EQ(found(run), "blob 1");
  EXPECT_EQ(found_by({"rebuild", "--check"}), "") << "they are not derived";
}

TEST_F(Verify, rows_on_another_shard_than_their_run_are_misplaced) {
  sql("DROP DATABASE IF EXISTS sharded");
  sql("CREATE DATABASE sharded");
  const std::string there = dsn() + " dbname=sharded";
  cairn_ok({"migrate", "--shards", "2", "--dsn", there});
  const std::string run =
      cairn_ok({"start", "plan_runner", "--input", R"({"goal": "g", "sub_goals": []})", "--json", "--dsn", there})
          .json()["run"];
  EXPECT_EQ(cairn({"verify", "--all", "--dsn", there}).exit, 0);
  PgConnection superuser({there, "a superuser", false});
  for (const char* table : {"run", "event", "job"})
    superuser.execute("UPDATE cairn." + std::string(table) + " SET shard = 1 - shard");
  const Json shown = cairn({"verify", "--all", "--json", "--dsn", there}).json();
  ASSERT_EQ(shown["findings"].size(), 2u) << shown;
  EXPECT_EQ(shown["findings"][0]["kind"], "misplaced");
  EXPECT_EQ(shown["findings"][1]["kind"], "removed") << "it is not where it was signed";
  for (const Json& finding : shown["findings"]) EXPECT_EQ(finding["run"], run);
}

// --- a stranger's verifier ------------------------------------------------------------------------------------------

// `RUN SEQ KIND` for each fault in the rows as they stand, from a program that knows only what ops/audit/README.md
// says.
class StrangersVerifier : public Verify {
 protected:
  std::string rows() {
    return sql_text(
        "SELECT string_agg(json_build_object('run', run_id, 'shard', shard, 'seq', seq, 'at_us', at, 'type', type, "
        "'version', version, 'commit', commit, 'step', step, 'actor', actor, 'payload', payload, 'chain_hash', "
        "encode(chain_hash, 'hex'))::text, E'\\n' ORDER BY run_id, seq) FROM cairn.event");
  }
  std::string strangers_findings() {
    const auto script = std::filesystem::path(testing::source_dir()) / "tests" / "ops" / "audit" / "verify_chain.py";
    const Ran ran = run_program("/usr/bin/env", {"python3", script.string()}, rows() + "\n");
    EXPECT_EQ(ran.exit, ran.out.empty() ? 0 : 1) << ran.err;
    EXPECT_EQ(ran.err, "");
    return ran.out;
  }
  std::string our_findings() {
    std::map<std::pair<std::string, int>, std::string> lines;
    forget_checkpoints();  // they know more than a stranger can
    const Json shown = cairn(on_it({"verify", "--all", "--json"})).json();
    for (const Json& finding : shown["findings"])
      if (finding["kind"] != "unsigned") lines[{finding["run"], finding["seq"]}] = finding["kind"].get<std::string>();
    std::string text;
    for (const auto& [at, kind] : lines) text += at.first + " " + std::to_string(at.second) + " " + kind + "\n";
    return text;
  }
};

TEST_F(StrangersVerifier, comes_to_the_same_from_the_layout_alone) {
  done_run();
  asking_run();
  signalled_run(4);
  start("asks", {"--tag", "who=Zoë", "--input", R"({"text": "Öl \\ \" é 🙂"})"});
  EXPECT_EQ(strangers_findings(), "");
  std::vector<std::string> runs;
  for (const char* set : {"at = at + 1", "type = 2", "version = 2", "commit = commit + 1", "step = step + 1",
                          "actor = actor || 'x'", "payload = payload || ' '"}) {
    runs.push_back(signalled_run(4));
    change_event(runs.back(), 4, set);
  }
  remove_event(runs[0], 2);
  remove_event(runs[1], 1);
  EXPECT_EQ(strangers_findings(), our_findings());
  EXPECT_NE(our_findings().find(runs[6] + " 4 altered"), std::string::npos);
}

// --- what is derived -------------------------------------------------------------------------------------------------

TEST_F(Verify, every_column_of_the_run_s_row_is_compared) {
  const std::string run =
      start("plan_runner", {"--wait", "--tag", "team=a", "--input", R"({"goal": "g", "sub_goals": []})"});
  const std::string head = sql_text("SELECT head FROM cairn.run");
  for (const char* change :
       {"status = 'failed'", "waiting = true", "graph = 'other'", "version = 'other'", "parent = run_id",
        "continues = run_id", "open_child_of = run_id", "started_at = started_at - 1", "updated_at = updated_at + 1",
        "reason = 'none'", "tags = '{}'", "chain_hash = sha256('x')"}) {
    change_run(run, change);
    EXPECT_EQ(found(run), "run " + head) << change;
    cairn_ok(on_it({"rebuild"}));
  }
  change_run(run, "head = head + 1");
  EXPECT_EQ(found(run), "missing " + std::to_string(std::stoi(head) + 1));
  change_run(run, "head = head - 2");
  EXPECT_EQ(found(run), "surplus " + head);
}

TEST_F(Verify, every_column_of_a_job_is_compared_and_none_may_be_missing_or_too_many) {
  const std::string run = waiting_job();
  const std::string at = "job " + sql_text("SELECT head FROM cairn.run");
  for (const char* change : {"queue = 'other'", "step = 7", "attempt = 2", "priority = 5", "timeout_ms = 1",
                             "run_at = run_at - 2000000", "run_at = 9223372036854775807"}) {
    sql(std::string("UPDATE cairn.job SET ") + change);
    EXPECT_EQ(found(run), at) << change;
    cairn_ok(on_it({"rebuild"}));
    EXPECT_EQ(found(run), "");
  }
  sql("UPDATE cairn.job SET branch = 2");
  EXPECT_EQ(found(run), at + ", " + at) << "one is missing, one is too many";
  sql("DELETE FROM cairn.job");
  EXPECT_EQ(found(run), at);
}

TEST_F(Verify, a_held_job_keeps_the_queue_it_was_claimed_from_and_one_given_back_its_later_time) {
  const std::string run = waiting_job();
  sql("UPDATE cairn.job SET session = 7, epoch = epoch + 1, run_at = run_at - 5");
  EXPECT_EQ(found(run), "");
  sql("UPDATE cairn.job SET step = 2");
  EXPECT_EQ(found(run), "job " + sql_text("SELECT head FROM cairn.run"));
  sql("UPDATE cairn.job SET step = 1, session = null, run_at = run_at + 5000000");
  EXPECT_EQ(found(run), "");
}

TEST_F(Verify, a_free_job_that_no_claim_would_find_is_told_and_offered_by_rebuild) {
  const std::string run = waiting_job();
  sql("UPDATE cairn.job SET session = 7, offered = false");
  EXPECT_EQ(found(run), "") << "as it is born held";
  sql("UPDATE cairn.job SET session = null");
  EXPECT_EQ(found(run), "job " + sql_text("SELECT head FROM cairn.run"));
  cairn_ok(on_it({"rebuild"}));
  EXPECT_EQ(found(run), "");
  EXPECT_EQ(sql_text("SELECT offered FROM cairn.job"), "true");
}

TEST_F(Verify, every_column_of_a_question_is_compared_and_none_may_be_missing_or_too_many) {
  const std::string run = asking_run();
  for (const char* change : {"prompt = '\"What?\"'", "schema = '{}'", "kind = 'other'", "step = 5", "expires_at = 1",
                             "fallback = '\"x\"'", "asked_at = 5"}) {
    sql(std::string("UPDATE cairn.question SET ") + change);
    EXPECT_EQ(found(run), "question 2") << change;
    cairn_ok(on_it({"rebuild"}));
    EXPECT_EQ(found(run), "");
  }
  sql("UPDATE cairn.question SET id = 'q9'");
  EXPECT_EQ(found(run), "question 2, question 2");
  sql("DELETE FROM cairn.question");
  EXPECT_EQ(found(run), "question 2");
}

TEST_F(Verify, a_snapshot_is_the_fold_at_its_event) {
  const std::string text = signalled_run(5);
  const RunId run = *parse_run_id(text);
  Graphs graphs;
  for (const GraphRow& row : store()->graphs().all())
    graphs.add(stored_graph(parse_stored(row.text), row.version), row.current);
  RunState state;
  state.id = run;
  const std::vector<EventRow> rows = store()->events(run, 0, 4);
  ASSERT_TRUE(fold_rows(state, rows, graphs));
  const SnapshotRow right{4, fold_version, rows[3].chain_hash, canonical(snapshot_json(state))};
  store()->snapshots().put(run, right);
  EXPECT_EQ(found(text), "");
  sql("UPDATE cairn.snapshot SET state = replace(state, 'other', 'never')");
  EXPECT_EQ(found(text), "snapshot 4");
  sql("UPDATE cairn.snapshot SET state = 'nonsense'");
  EXPECT_EQ(found(text), "snapshot 4");
  store()->snapshots().put(run, right);
  sql("UPDATE cairn.snapshot SET chain_hash = sha256('x')");
  EXPECT_EQ(found(text), "snapshot 4");
  store()->snapshots().put(run, right);
  sql("UPDATE cairn.snapshot SET seq = 90");
  EXPECT_EQ(found(text), "snapshot 90");
  store()->snapshots().put(run, {0, fold_version, rows[3].chain_hash, "{}"});
  EXPECT_EQ(found(text), "snapshot 0, snapshot 90");
  sql("DELETE FROM cairn.snapshot WHERE seq = 0");
  sql("UPDATE cairn.snapshot SET state = 'nonsense', fold_version = 1");
  EXPECT_EQ(found(text), "") << "nobody reads those of another fold";
}

// --- the command -----------------------------------------------------------------------------------------------------

TEST_F(Verify, asks_for_runs_in_one_way) {
  const std::string run = asking_run();
  expect_refused(cairn(on_it({"verify"})), 2, "Expected the runs to verify");
  expect_refused(cairn(on_it({"verify", run, "--all"})), 2, "");
  expect_refused(cairn(on_it({"verify", "--all", "--where", "graph=asks"})), 2, "");
  expect_refused(cairn(on_it({"verify", "nonsense"})), 3, "nonsense");
  expect_refused(cairn(on_it({"verify", run, nobody})), 3, nobody);
  expect_refused(cairn({"verify", "--all", "--dsn", "host=/nowhere"}), 5, "");
}

}  // namespace
}  // namespace cairn::program

// Runs that must go leave a signed tombstone and nothing of what they were about.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/ops/audit/emptied_database.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

class Erase : public EmptiedDatabase {
 protected:
  static std::string start(const std::string& goal, const Arguments& more = {}) {
    const Json input = {{"goal", goal}, {"sub_goals", Json::array({{{"id", "a"}, {"tool", "echo"}}})}};
    const std::string file = write_file("erase_input.json", input.dump());
    Arguments arguments = {"start", "plan_runner", "--json", "--wait", "--input", "@" + file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cairn_ok(arguments).json()["run"];
  }
  static std::string jane(const std::string& goal) { return start(goal, {"--tag", "customer=jane"}); }
  static std::string large(const std::string& word) {
    std::string value;
    while (value.size() < 40'000) value += word + " ";
    return value;
  }
  static std::string asking(const std::string& name, const Arguments& more = {}) {
    cairn_ok({"graph", "add", write_file(name + ".json", ask_graph(name))});
    Arguments arguments = {"start", name, "--json", "--wait"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cairn_ok(arguments).json()["run"];
  }
  static Ran erase(const Arguments& more = {}, const std::string& where = "tag.customer=jane") {
    Arguments arguments = {"erase", "--where", where, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cairn(arguments);
  }
  static Json verified() {
    Json report = cairn_ok({"verify", "--all", "--json"}).json();
    EXPECT_EQ(report["findings"], Json::array());
    return report;
  }

  void break_deletes(const std::string& table, const std::string& body) {
    execute("create function public.in_the_middle() returns trigger language plpgsql as $$ begin " + body +
            "; return old; end $$");
    execute("create trigger in_the_middle before delete on cairn." + table +
            " for each row execute function public.in_the_middle()");
  }
  void mend_deletes(const std::string& table) {
    execute("drop trigger in_the_middle on cairn." + table);
    execute("drop function public.in_the_middle");
  }
};

TEST_F(Erase, keys_of_limited_queues_go_with_the_last_run_that_has_them) {
  cairn_ok({"queue", "set", "default", "--key", "tag.customer", "--key-rate", "1", "--key-per", "1h", "--key-burst",
            "1000"});
  jane("plum jam for jane");
  start("for joe", {"--tag", "customer=joe"});
  const std::string later = jane("more for jane");
  const auto kept = [&](const std::string& key) {
    return text("select count(*)::text from cairn.rate where key = '=" + key + "'");
  };
  ASSERT_NE(kept("jane"), "0");
  EXPECT_EQ(erase({"--except", later}).json()["removed"], 1);
  EXPECT_NE(kept("jane"), "0") << "another run of hers is there";
  EXPECT_EQ(erase().json()["removed"], 1);
  EXPECT_EQ(kept("jane"), "0");
  EXPECT_NE(kept("joe"), "0");
  EXPECT_EQ(text("select count(*)::text from cairn.key_turn where key = 'jane'"), "0");
  cairn_ok({"queue", "set", "default", "--key", "none", "--key-rate", "none"});
}

TEST_F(Erase, nothing_of_the_runs_is_left_but_signed_tombstones_that_say_when_and_by_whom) {
  const std::string first = jane("plum jam for jane");
  const std::string second = jane(large("quince"));
  const std::string other = start("for joe");
  for (const std::string& run : {first, other})  // as a worker of a process that was killed may leave it
    execute(
        "insert into cairn.progress select shard, 1, 1, 1, 1, 1, 4, run_id, 'n', 'plum' from cairn.run "
        "where run_id = '" +
        run + "'");
  const Json report = erase({"--unused-for", "0s"}).json();
  EXPECT_EQ(report["runs"], 2);
  EXPECT_EQ(report["removed"], 2);
  EXPECT_EQ(report["kept"], Json::array());
  EXPECT_EQ(report["values"]["removed"], 1);
  EXPECT_GT(report["values"]["bytes"], 40'000);
  EXPECT_EQ(runs_left(), std::vector<std::string>{other});
  for (const char* table : {"run", "event", "job", "question", "snapshot", "progress"})
    EXPECT_EQ(text(std::string("select count(*)::text from cairn.") + table + " where run_id in ('" + first + "', '" +
                   second + "')"),
              "0")
        << table;
  EXPECT_EQ(count("blob"), "0");
  EXPECT_EQ(count("erasing"), "0");
  EXPECT_EQ(count("tombstone"), "2");
  EXPECT_EQ(text("select count(*)::text from cairn.tombstone t where t::text ~ 'plum|quince|jane'"), "0");
  const Json erased = verified()["erased"];
  ASSERT_EQ(erased.size(), 2u) << erased;
  std::vector<std::string> runs = {erased[0]["run"], erased[1]["run"]};
  EXPECT_TRUE(std::ranges::count(runs, first) == 1 && std::ranges::count(runs, second) == 1) << erased;
  EXPECT_TRUE(erased[0]["by"].get<std::string>().starts_with("user:")) << erased;
  EXPECT_NE(erased[0]["at"], "");
  EXPECT_NE(cairn_ok({"verify", "--all"}).out.find("2 runs, "), std::string::npos);
  EXPECT_EQ(erase().json()["runs"], 0) << "a second time there is nothing";
}

TEST_F(Erase, a_dry_run_counts_and_writes_nothing) {
  const std::string run = jane("g");
  const Json report = erase({"--dry-run"}).json();
  EXPECT_EQ(report["runs"], 1);
  EXPECT_EQ(report["removed"], 0);
  EXPECT_EQ(runs_left(), std::vector<std::string>{run});
  EXPECT_EQ(count("tombstone"), "0");
}

TEST_F(Erase, a_value_that_another_run_has_too_stays_until_that_one_goes) {
  jane(large("quince"));
  const std::string other = start(large("quince"));
  EXPECT_EQ(count("blob"), "1");
  Json values = erase({"--unused-for", "0s"}).json()["values"];
  EXPECT_EQ(values["removed"], 0);
  EXPECT_EQ(values["used"], 1);
  EXPECT_EQ(count("blob"), "1");
  verified();
  values = erase({"--unused-for", "0s"}, "graph=plan_runner").json()["values"];
  EXPECT_EQ(values["removed"], 1);
  EXPECT_EQ(count("blob"), "0");
}

TEST_F(Erase, a_value_that_was_put_lately_goes_the_next_time) {
  jane(large("quince"));
  Json values = erase().json()["values"];
  EXPECT_EQ(values["removed"], 0);
  EXPECT_EQ(values["recent"], 1) << "a step may have put the same one, and its commit is on the way";
  EXPECT_EQ(values["young"], 1) << "the name of the first releases";
  EXPECT_EQ(count("blob"), "1");
  execute("update cairn.blob set put_at = put_at - 2 * 3600000000");
  values = erase().json()["values"];
  EXPECT_EQ(values["removed"], 1);
  EXPECT_EQ(count("blob"), "0");
  EXPECT_EQ(count("erasing"), "0");
}

TEST_F(Erase, what_is_needed_or_has_not_ended_is_named_and_the_rest_goes_on) {
  const Arguments tag = {"--tag", "customer=jane"};
  const std::string open = asking("erase_ask", tag);
  const std::string earlier = jane("g");
  asking("erase_ask", {"--continues", earlier});
  cairn_ok({"graph", "add", write_file("erase_caller.json", R"({"name": "erase_caller", "start": "call",
      "limits": {"steps": 9}, "nodes": {"call": {"call": "erase_ask", "on": {"done": "finish", "failed": "finish"}},
      "finish": {"end": "done"}}})")});
  Arguments calling = {"start", "erase_caller", "--json", "--wait", "--tag", "customer=jane"};
  const std::string caller = cairn_ok(calling).json()["run"];
  const std::string plain = jane("h");
  const Ran ran = erase();
  EXPECT_EQ(ran.exit, 4);
  const Json report = ran.json();
  EXPECT_EQ(report["removed"], 1);
  std::string kept = report["kept"].dump();
  for (const std::string& run : {open, earlier, caller}) EXPECT_NE(kept.find(run), std::string::npos) << run << kept;
  EXPECT_EQ(kept.find(plain), std::string::npos);
  EXPECT_NE(ran.err.find("cairn: Expected run " + open + " to have ended before it is erased, but it is running."),
            std::string::npos)
      << ran.err;
  verified();
}

TEST_F(Erase, a_called_run_goes_with_its_caller_and_not_without) {
  const std::string name = "erase_ask2";
  cairn_ok({"graph", "add", write_file(name + ".json", ask_graph(name))});
  cairn_ok({"graph", "add", write_file("erase_caller2.json", R"({"name": "erase_caller2", "start": "call",
      "limits": {"steps": 9}, "nodes": {"call": {"call": "erase_ask2", "on": {"done": "finish", "failed": "finish"}},
      "finish": {"end": "done"}}})")});
  const std::string caller = cairn_ok({"start", "erase_caller2", "--json", "--wait"}).json()["run"];
  const std::string child = cairn_ok({"runs", "--graph", name, "--json"}).lines()[0]["run"];
  cairn_ok({"answer", child, "--value", "\"north\""});
  cairn_ok({"wait", caller});
  const Ran alone = erase({}, "graph=" + name);
  EXPECT_EQ(alone.exit, 4);
  EXPECT_NE(alone.json()["kept"].dump().find(caller), std::string::npos) << alone.out;
  const Json both = erase({}, "graph=erase_caller2").json();
  EXPECT_EQ(both["removed"], 2);
  EXPECT_TRUE(runs_left().empty());
  verified();
}

TEST_F(Erase, an_ended_fork_that_stays_is_named_as_a_copy) {
  const std::string origin = asking("erase_ask3", {"--tag", "customer=jane"});
  cairn_ok({"answer", origin, "--value", "\"north\""});
  const std::string fork = cairn_ok({"fork", origin, "--at", "2", "--json"}).json()["run"];
  EXPECT_EQ(erase({"--except", fork}).exit, 4) << "the fork is open";
  cairn_ok({"answer", fork, "--value", "\"south\""});
  const Ran ran = erase({"--except", fork});
  EXPECT_EQ(ran.json()["removed"], 1);
  ASSERT_EQ(ran.json()["copies"].size(), 1u) << ran.out;
  EXPECT_EQ(ran.json()["copies"][0]["run"], fork);
  verified();
}

TEST_F(Erase, a_fork_renews_the_values_that_it_takes_over_and_is_refused_without_them) {
  const std::string input = write_file("erase_large.json", Json{{"note", large("quince")}}.dump());
  const std::string origin = asking("erase_ask4", {"--input", "@" + input});
  execute("update cairn.blob set put_at = 0");
  cairn_ok({"fork", origin, "--at", "2"});
  EXPECT_EQ(text("select count(*)::text from cairn.blob where put_at > 0"), "1");
  execute("delete from cairn.blob");
  expect_refused(cairn({"fork", origin, "--at", "2"}), 4, "being erased");
}

TEST_F(Erase, a_database_that_refuses_in_the_middle_is_asked_again) {
  jane("g");
  jane(large("quince"));
  break_deletes("event", "raise 'the disk is full'");
  EXPECT_NE(erase({"--unused-for", "0s"}).exit, 0);
  EXPECT_EQ(runs_left().size(), 2u);
  EXPECT_EQ(count("tombstone"), "0");
  mend_deletes("event");
  break_deletes("blob", "raise 'the disk is full'");
  EXPECT_NE(erase({"--unused-for", "0s"}).exit, 0);
  EXPECT_TRUE(runs_left().empty()) << "the runs are gone, their value is not";
  EXPECT_EQ(count("erasing"), "1");
  mend_deletes("blob");
  EXPECT_EQ(erase({"--unused-for", "0s"}).json()["values"]["removed"], 1);
  EXPECT_EQ(count("blob"), "0");
  EXPECT_EQ(verified()["erased"].size(), 2u);
}

TEST_F(Erase, a_process_that_is_killed_in_the_middle_is_followed_by_another) {
  jane("g");
  jane(large("quince"));
  for (const std::string table : {"event", "blob"}) {
    break_deletes(table, "perform pg_sleep(60)");
    Beside beside({"erase", "--where", "tag.customer=jane", "--unused-for", "0s"});
    const std::string asleep =
        "select count(*)::text from pg_stat_activity where wait_event = 'PgSleep' and application_name like 'cairn%'";
    ASSERT_TRUE(wait_until([&] { return text(asleep) == "1"; })) << table;
    beside.signal(SIGKILL);
    beside.wait();
    ASSERT_TRUE(wait_until([&] { return text(asleep) == "0"; })) << table;
    EXPECT_EQ(runs_left().size(), table == "event" ? 2u : 0u);
    EXPECT_EQ(count("blob"), "1");
    mend_deletes(table);
    verified();
    if (table == "blob") break;
    break_deletes("blob", "raise 'not yet'");
    EXPECT_NE(erase({"--unused-for", "0s"}).exit, 0);
    mend_deletes("blob");
  }
  EXPECT_EQ(erase({"--unused-for", "0s"}).json()["values"]["removed"], 1);
  EXPECT_EQ(count("blob"), "0");
  EXPECT_EQ(verified()["erased"].size(), 2u);
}

TEST_F(Erase, an_archive_is_made_and_verified_first_if_it_is_asked_for) {
  const std::string run = jane(large("quince"));
  jane("h");
  break_deletes("event", "raise 'the disk is full'");
  EXPECT_NE(erase({"--out", file_}).exit, 0);
  EXPECT_TRUE(fs::exists(file_));
  EXPECT_EQ(runs_left().size(), 2u);
  mend_deletes("event");
  const std::string later = jane("later");
  const Ran again = erase({"--out", file_, "--unused-for", "0s"});
  EXPECT_EQ(again.exit, 4) << "one is not in the file that was there";
  EXPECT_EQ(again.json()["removed"], 2);
  EXPECT_EQ(again.json()["values"]["removed"], 1);
  EXPECT_EQ(runs_left(), std::vector<std::string>{later});
  EXPECT_EQ(cairn_ok({"verify", "--file", file_, "--json"}).json()["runs"], 2);
  const Json erased = verified()["erased"];
  ASSERT_EQ(erased.size(), 2u);
  EXPECT_EQ(erased[0]["file"], file_);
  EXPECT_EQ(count("blob"), "0");
}

TEST_F(Erase, a_file_that_was_there_takes_nothing_with_it_that_does_not_match) {
  const std::string other = start("for joe");
  break_deletes("event", "raise 'the disk is full'");
  EXPECT_NE(cairn({"archive", "--older-than", "0s", "--out", file_}).exit, 0);
  mend_deletes("event");
  EXPECT_EQ(erase({"--out", file_}).json()["removed"], 0);
  EXPECT_EQ(runs_left(), std::vector<std::string>{other});
}

// They stayed for ever: only those of erased runs were noted.
TEST_F(Erase, a_large_value_of_an_archived_run_goes_and_comes_back_with_its_file) {
  const std::string run = start(large("quince"));
  cairn_ok({"archive", "--older-than", "0s", "--out", file_});
  EXPECT_EQ(count("blob"), "1");
  EXPECT_EQ(erase({"--unused-for", "0s"}).json()["values"]["removed"], 1);
  EXPECT_EQ(count("blob"), "0");
  EXPECT_EQ(count("erasing"), "0");
  cairn_ok({"import", file_});
  EXPECT_NE(cairn_ok({"events", run, "--json"}).out.find("quince quince"), std::string::npos);
  verified();
}

TEST_F(Erase, a_history_with_a_fault_is_kept_unless_it_is_asked_for) {
  const std::string run = jane("g");
  execute("update cairn.event set payload = replace(payload, '\"g\"', '\"x\"') where seq = 1");
  const Ran ran = erase();
  EXPECT_EQ(ran.exit, 4);
  EXPECT_EQ(ran.json()["kept"][0]["run"], run);
  EXPECT_EQ(erase({"--faulty"}).json()["removed"], 1);
  expect_refused(erase({"--faulty", "--out", file_}), 2, "--faulty");
}

TEST_F(Erase, a_tombstone_that_says_another_name_is_found) {
  const std::string run = jane("g");
  erase();
  execute("update cairn.tombstone set erased_by = 'user:nobody'");
  const Ran ran = cairn({"verify", "--all", "--json"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.out.find("\"tombstone\""), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(run), std::string::npos) << ran.out;
}

TEST_F(Erase, a_key_whose_run_was_erased_is_refused_and_says_so) {
  const std::string run = start("g", {"--key", "order-78", "--tag", "customer=jane"});
  erase();
  const Json input = {{"goal", "g"}, {"sub_goals", Json::array({{{"id", "a"}, {"tool", "echo"}}})}};
  const Ran again = cairn({"start", "plan_runner", "--key", "order-78", "--wait", "--input", input.dump()});
  expect_refused(again, 4, "erased at");
  EXPECT_EQ(count("event"), "0");
}

TEST_F(Erase, only_the_archivist_may) {
  jane("g");
  PgConnection connection({dsn_, "a test", false});
  connection.execute("SET ROLE cairn_app");
  for (const char* sql : {"delete from cairn.blob", "update cairn.blob set bytes = ''", "delete from cairn.erasing"})
    EXPECT_THROW(connection.execute(sql), PostgresError) << sql;
  execute("do $$ begin create role plain_eraser login in role cairn_app; exception when duplicate_object then end $$");
  expect_refused(cairn({"erase", "--where", "tag.customer=jane", "--dsn", dsn_ + " user=plain_eraser"}), 4,
                 "cairn_archive");
  EXPECT_EQ(runs_left().size(), 1u);
}

TEST_F(Erase, what_is_asked_for_wrongly_is_a_usage_error) {
  expect_refused(cairn({"erase", "--where", "tag.customer=jane", "--unused-for", "2020-01-01"}), 2, "--unused-for");
  EXPECT_EQ(cairn({"erase"}).exit, 2);
}

}  // namespace
}  // namespace cairn::program

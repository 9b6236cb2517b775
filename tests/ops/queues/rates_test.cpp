// The rate of a queue with real workers that are killed: the starts by the clock of the database.
#include <csignal>
#include <gtest/gtest.h>
#include <vector>

#include "storage/postgres/connection.hpp"
#include "tests/ops/program.hpp"
#include "tests/storage/limits/noted_starts.hpp"
#include "tests/storage/limits/windows.hpp"

namespace cairn::program {
namespace {

using test::most_in_a_window;
using test::note_starts;
using test::noted_starts;
using test::noted_starts_of_key;
using test::noted_taken_starts;

std::string sleeping_graph(const std::string& name) {
  const Json work = {{"do", "tool.call"},
                     {"queue", name},
                     {"with", {{"tool", "sleep"}, {"inputs", {{"ms", 20}}}}},
                     {"retry", {{"lost", 20}}},
                     {"on", {{"ok", "again"}}}};
  Json again = work;
  again["on"] = {{"ok", "finish"}};
  const Json graph = {{"name", name},
                      {"start", "work"},
                      {"limits", {{"steps", 100}}},
                      {"nodes", {{"work", work}, {"again", again}, {"finish", {{"end", "done"}}}}}};
  cairn_ok({"graph", "add", write_file(name + ".json", graph.dump()).string()});
  return name;
}

TEST(QueueRates, of_four_workers_of_which_three_are_killed_no_window_has_more_starts_than_n_and_the_burst) {
  constexpr int runs = 60;
  constexpr std::int64_t n = 20, per_ms = 500, burst = 6;
  const std::string queue = sleeping_graph("rated");
  const std::string dsn = owner_dsn();
  note_starts(dsn);
  const Json set = cairn_ok({"queue", "set", queue, "--rate", std::to_string(n), "--per", std::to_string(per_ms) + "ms",
                             "--burst", std::to_string(burst), "--json"})
                       .json();
  EXPECT_EQ(set["rate"], (Json{{"n", n}, {"per_ms", per_ms}, {"burst", burst}}));
  std::string inputs;
  for (int run = 0; run < runs; ++run) inputs += "{}\n";
  cairn_ok({"batch", queue, "--inputs", write_file("rated.jsonl", inputs)});

  std::vector<Beside> workers;
  for (int worker = 0; worker < 4; ++worker) workers.emplace_back(Arguments{"work", "--queue", queue});
  for (std::size_t killed = 0; killed < 3; ++killed) {
    const std::size_t before = noted_starts(dsn).size();
    ASSERT_TRUE(wait_until([&] { return noted_starts(dsn).size() >= before + 10; })) << workers[killed].err();
    workers[killed].signal(SIGKILL);
    workers[killed].wait();
  }
  const auto have_ended = [&] {
    return cairn_ok({"runs", "--graph", "rated", "--status", "done", "--limit", "100", "--json"}).lines().size() ==
           runs;
  };
  ASSERT_TRUE(wait_until(have_ended, std::chrono::seconds(120)));
  std::vector<TimeUs> starts = noted_starts(dsn);
  const std::vector<TimeUs> kept = noted_taken_starts(dsn, per_ms * 1'000 / n);
  starts.insert(starts.end(), kept.begin(), kept.end());
  EXPECT_GE(starts.size(), std::size_t{2 * runs}) << "each step, and again those that were lost";
  EXPECT_LE(most_in_a_window(starts, per_ms * 1'000), n + burst);
  for (const Json& line : cairn_ok({"queue", "--json"}).lines())
    EXPECT_TRUE(line["queue"] != queue || line["held"] == 0) << line;
}

TEST(QueueKeys, of_four_workers_of_which_three_are_killed_no_key_has_more_starts_in_a_window_than_its_rate_allows) {
  constexpr int runs_of_key = 20;
  constexpr std::int64_t n = 10, per_ms = 500, burst = 3;
  const std::vector<std::string> customers{"rated_a", "rated_b"};
  const std::string queue = sleeping_graph("rated_by_key");
  const std::string dsn = owner_dsn();
  note_starts(dsn);
  cairn_ok({"queue", "set", queue, "--key", "/customer", "--key-rate", std::to_string(n), "--key-per",
            std::to_string(per_ms) + "ms", "--key-burst", std::to_string(burst)});
  std::string inputs;
  for (int run = 0; run < runs_of_key; ++run)
    for (const std::string& customer : customers) inputs += Json{{"customer", customer}}.dump() + "\n";
  cairn_ok({"batch", queue, "--inputs", write_file("rated_by_key.jsonl", inputs)});

  std::vector<Beside> workers;
  for (int worker = 0; worker < 4; ++worker) workers.emplace_back(Arguments{"work", "--queue", queue});
  for (std::size_t killed = 0; killed < 3; ++killed) {
    const std::size_t before = noted_starts_of_key(dsn, customers[0]).size();
    ASSERT_TRUE(wait_until([&] { return noted_starts_of_key(dsn, customers[0]).size() >= before + 4; }))
        << workers[killed].err();
    workers[killed].signal(SIGKILL);
    workers[killed].wait();
  }
  const auto have_ended = [&] {
    return cairn_ok({"runs", "--graph", queue, "--status", "done", "--limit", "100", "--json"}).lines().size() ==
           runs_of_key * customers.size();
  };
  ASSERT_TRUE(wait_until(have_ended, std::chrono::seconds(120)));
  for (const std::string& customer : customers) {
    const std::vector<TimeUs> starts = noted_starts_of_key(dsn, customer);
    EXPECT_GE(starts.size(), std::size_t{2 * runs_of_key}) << "each step, and again those that were lost";
    EXPECT_LE(most_in_a_window(starts, per_ms * 1'000), n + burst) << customer;
  }
}

TEST(QueueRates, a_run_that_a_rate_holds_back_says_when_it_may_begin) {
  const std::string queue = sleeping_graph("seldom");
  cairn_ok({"queue", "set", queue, "--rate", "1", "--per", "1h"});
  const Beside worker({"work", "--queue", queue});
  const std::string run = cairn_ok({"start", queue, "--json"}).json()["run"];
  const auto reason = [&] { return cairn_ok({"explain", run, "--json"}).json()["reasons"][0]; };
  ASSERT_TRUE(wait_until([&] { return reason()["kind"] == "queue_rate"; })) << reason();
  EXPECT_EQ(reason()["queue"], queue);
  EXPECT_EQ(reason()["rate"], (Json{{"n", 1}, {"per_ms", 3'600'000}, {"burst", 1}}));
  cairn_ok({"queue", "set", queue, "--rate", "none"});
  EXPECT_TRUE(wait_until([&] { return cairn_ok({"show", run, "--json"}).json()["status"] == "done"; }));
}

TEST(QueueKeys, a_run_whose_key_is_at_its_limit_is_told_the_key_and_others_go_on) {
  const std::string queue = sleeping_graph("shared");
  cairn_ok({"queue", "set", queue, "--key", "tag.customer", "--key-rate", "1", "--key-per", "1h"});
  const Beside worker({"work", "--queue", queue});
  const auto start = [&](const std::string& customer) {
    return cairn_ok({"start", queue, "--tag", "customer=" + customer, "--json"}).json()["run"].get<std::string>();
  };
  const auto reason = [](const std::string& run) { return cairn_ok({"explain", run, "--json"}).json()["reasons"][0]; };
  const std::string acme = start("acme");
  ASSERT_TRUE(wait_until([&] { return reason(acme)["kind"] == "queue_rate"; })) << reason(acme);
  EXPECT_EQ(reason(acme)["key"], "acme");
  EXPECT_NE(reason(acme)["says"].get<std::string>().find("Key \"acme\" of queue shared may begin 1 per 1h"),
            std::string::npos)
      << reason(acme);
  const std::string best = start("best");
  ASSERT_TRUE(wait_until([&] { return reason(best)["key"] == "best"; })) << "its first step has ended";
  cairn_ok({"queue", "set", queue, "--key", "none"});
  for (const std::string& run : {acme, best})
    EXPECT_TRUE(wait_until([&] { return cairn_ok({"show", run, "--json"}).json()["status"] == "done"; }));
  expect_refused(cairn({"queue", "set", queue, "--key-concurrency", "3"}), 4, "Expected a key");
  expect_refused(cairn({"queue", "set", queue, "--key", "customer"}), 4, "tag.NAME or a JSON pointer");
  expect_refused(cairn({"queue", "set", queue, "--key", "tag.a", "--weight", "a=0"}), 2, "a weight from 1 to 1000");
}

TEST(QueueKeys, a_run_in_a_queue_of_keys_with_a_rate_is_told_no_place_that_its_turn_does_not_keep) {
  const std::string queue = sleeping_graph("turned");
  cairn_ok({"queue", "set", queue, "--rate", "1", "--per", "1h", "--key", "tag.customer"});
  const Beside worker({"work", "--queue", queue});
  const auto start = [&](const std::string& customer) {
    return cairn_ok({"start", queue, "--tag", "customer=" + customer, "--json"}).json()["run"].get<std::string>();
  };
  const auto reason = [](const std::string& run) { return cairn_ok({"explain", run, "--json"}).json()["reasons"][0]; };
  for (int flood = 0; flood < 5; ++flood) start("acme");
  const std::string best = start("best");
  ASSERT_TRUE(wait_until([&] { return reason(best)["kind"] == "queue_rate"; })) << reason(best);
  const Json said = reason(best);
  EXPECT_EQ(said["key"], "best");
  EXPECT_FALSE(said.contains("before")) << "it is next, although five came earlier: " << said;
  EXPECT_NE(said["says"].get<std::string>().find("the step's key is \"best\""), std::string::npos) << said;
  cairn_ok({"queue", "set", queue, "--rate", "none", "--key", "none"});
}

TEST(QueueKeys, a_weight_can_be_taken_back_and_another_key_forgets_the_weights_of_the_old_one) {
  const auto set = [](Arguments more) {
    Arguments all = {"queue", "set", "weighed", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return cairn_ok(all).json();
  };
  EXPECT_EQ(set({"--key", "tag.team", "--weight", "a=3", "--weight", "b=2"})["weights"], (Json{{"a", 3}, {"b", 2}}));
  EXPECT_EQ(set({"--weight", "a=none"})["weights"], (Json{{"b", 2}}));
  EXPECT_EQ(set({"--key", "tag.team"})["weights"], (Json{{"b", 2}})) << "it is the same key";
  EXPECT_EQ(set({"--key", "tag.customer", "--weight", "c=4"})["weights"], (Json{{"c", 4}}));
  expect_refused(cairn({"queue", "set", "weighed", "--weight", "c=0"}), 2, "a weight from 1 to 1000 or none");
}

TEST(QueueKeys, fair_is_what_a_queue_with_a_key_is_and_is_refused_without) {
  expect_refused(cairn({"queue", "set", "fairly", "--fair"}), 4, "Expected a key by which queue fairly serves its");
  EXPECT_EQ(cairn_ok({"queue", "set", "fairly", "--key", "tag.team", "--fair", "--json"}).json()["key"], "tag.team");
  EXPECT_EQ(cairn_ok({"queue", "set", "fairly", "--fair", "--concurrency", "2", "--json"}).json()["key"], "tag.team");
}

TEST(QueueRates, a_first_rate_says_that_kept_steps_are_not_counted_at_once) {
  const std::string says = "For some seconds, steps that a worker keeps begin uncounted.";
  const auto set = [](const std::string& rate) { return cairn_ok({"queue", "set", "late", "--rate", rate}).out; };
  EXPECT_NE(set("5").find(says), std::string::npos);
  EXPECT_EQ(set("6").find(says), std::string::npos);
}

TEST(QueueRates, what_is_set_is_on_record_and_an_edit_of_what_has_changed_is_refused) {
  const std::string name = "recorded";
  cairn_ok({"queue", "set", name, "--rate", "50", "--burst", "10"});
  const Json second = cairn_ok({"queue", "set", name, "--per", "2s", "--concurrency", "4", "--json"}).json();
  EXPECT_EQ(second["rate"], (Json{{"n", 50}, {"per_ms", 2'000}, {"burst", 10}})) << "what is not given stays";
  EXPECT_EQ(second["revision"], 2);
  expect_refused(cairn({"queue", "set", name, "--pause", "--revision", "1"}), 4,
                 "Expected revision 1 of queue recorded to change, but it has revision 2 by now.");
  const std::vector<Json> changes = cairn_ok({"queue", "history", name, "--json"}).lines();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[1]["concurrency"], 4);
  EXPECT_EQ(changes[1]["paused"], false);
  EXPECT_EQ(changes[0]["actor"].get<std::string>().rfind("user:", 0), 0u) << changes[0];
  EXPECT_NE(cairn_ok({"queue", "history", name}).out.find("limit 4, rate 50 per 2s, burst 10  by user:"),
            std::string::npos);
  expect_refused(cairn({"queue", "history", "never_set"}), 3, "none is named \"never_set\"");
}

TEST(QueueRates, a_history_says_that_it_goes_on_and_before_shows_the_older_ones) {
  const std::string name = "paged";
  for (const char* limit : {"1", "2", "3"}) cairn_ok({"queue", "set", name, "--concurrency", limit});
  const std::string newest = cairn_ok({"queue", "history", name, "--limit", "2"}).out;
  EXPECT_TRUE(newest.ends_with("\n2 shown. Older ones: --before 2\n")) << newest;
  EXPECT_EQ(cairn_ok({"queue", "history", name, "--limit", "2", "--json"}).lines().size(), 2u);
  const Ran oldest = cairn_ok({"queue", "history", name, "--limit", "2", "--before", "2"});
  EXPECT_NE(oldest.out.find("limit 1  by"), std::string::npos) << oldest.out;
  EXPECT_EQ(oldest.out.find("shown"), std::string::npos) << "there are no others";
  EXPECT_EQ(cairn_ok({"queue", "history", name, "--before", "1"}).out, "");
  expect_refused(cairn({"queue", "history", name, "--before", "0"}), 2, "--before");
}

TEST(QueueRates, that_make_no_sense_are_refused_with_one_sentence) {
  const std::string name = "refused";
  expect_refused(cairn({"queue", "set", name, "--rate", "0"}), 2, "Expected a rate from 1 to 1000000 or none");
  expect_refused(cairn({"queue", "set", name, "--rate", "0", "--per", "0s"}), 2, "Expected a rate from 1");
  expect_refused(cairn({"queue", "set", name, "--rate", "5", "--per", "0s"}), 4,
                 "Expected a time of 1 millisecond or more in which queue refused makes its starts, but got 0ms.");
  expect_refused(cairn({"queue", "set", name, "--rate", "5", "--per", "soon"}), 2, "Expected a duration");
  expect_refused(cairn({"queue", "set", name, "--rate", "5", "--burst", "0"}), 2, "Expected a burst from 1");
  expect_refused(cairn({"queue", "set", name, "--burst", "5"}), 4, "which has none");
  expect_refused(cairn({"queue", "set", name, "--ageing", "31d"}), 4,
                 "Expected an ageing of the queue refused from 1 millisecond to 30 days, or none, but got 31d.");
  expect_refused(cairn({"queue", "set", name, "--ageing", "400d"}), 2, "Expected a duration of at most 30 days");
  expect_refused(cairn({"queue", "set", "cairn.timer", "--rate", "5"}), 4, "where time waits");
  expect_refused(cairn({"queue", "set", name}), 2, "--rate");
  EXPECT_EQ(cairn_ok({"queue", "--json"}).out.find(name), std::string::npos);
}

TEST(QueueRates, an_empty_key_and_an_ageing_of_nothing_are_refused_and_take_no_limit_away) {
  const auto set = [](const char* option, const char* value) {
    return cairn({"queue", "set", "kept", option, value, "--json"});
  };
  cairn_ok({"queue", "set", "kept", "--key", "tag.team", "--key-rate", "5", "--weight", "a=3", "--ageing", "1m"});
  const auto is_set = [] {
    Json found;
    for (const Json& line : cairn_ok({"queue", "--json"}).lines())
      if (line["queue"] == "kept") found = line;
    return found;
  };
  const Json before = is_set();
  expect_refused(set("--key", ""), 4, "as the key of the queue kept, or none, but got an empty text.");
  expect_refused(set("--ageing", "0s"), 4, "from 1 millisecond to 30 days, or none, but got 0ms.");
  EXPECT_EQ(before["key_rate"]["n"], 5);
  EXPECT_EQ(is_set(), before);
  EXPECT_EQ(Json::parse(set("--ageing", "none").out)["ageing_ms"], nullptr);
  const Json none = Json::parse(set("--key", "none").out);
  EXPECT_EQ(none["key_rate"], nullptr);
  EXPECT_EQ(none["weights"], Json::object());
}

TEST(QueueRates, a_name_of_a_queue_that_no_one_can_read_is_refused_unless_something_is_set_for_it) {
  for (const char* name : {" ", "   ", "a\nb", "a\tb", "\x7f"})
    expect_refused(cairn({"queue", "set", name, "--concurrency", "3"}), 4,
                   "Expected the name of a queue in visible characters, but got ");
  cairn_ok({"queue", "set", "two words", "--concurrency", "3"});
  PgConnection owner({owner_dsn(), "test", false});
  owner.execute("update cairn.queue set name = ' ' where name = 'two words'");
  cairn_ok({"queue", "set", " ", "--concurrency", "none"});
}

TEST(QueueRates, the_list_says_what_is_set_that_no_column_of_its_own_has) {
  const auto line = [](const std::string& name) {
    const std::string all = cairn_ok({"queue"}).out;
    const std::size_t at = all.find("\n" + name + " ");
    return at == std::string::npos ? all : all.substr(at, all.find("\n", at + 1) - at);
  };
  cairn_ok({"queue", "set", "keyed", "--key", "tag.team", "--key-concurrency", "2", "--weight", "a=3"});
  EXPECT_NE(line("keyed").find("in turns by tag.team, each limit 2, a weighs 3"), std::string::npos) << line("keyed");
  cairn_ok({"queue", "set", "aged", "--ageing", "10m"});
  EXPECT_NE(line("aged").find("ageing 10m"), std::string::npos) << line("aged");
}

TEST(QueueRates, a_reserve_that_no_budget_counts_is_warned_of) {
  const auto warning = [](const Arguments& more) {
    Arguments all = {"queue", "set", "reserves"};
    all.insert(all.end(), more.begin(), more.end());
    return cairn_ok(all).err;
  };
  const std::string tokens = "The tokens that steps of queue reserves reserve bind nothing";
  EXPECT_NE(warning({"--reserve", "tokens=5"}).find(tokens), std::string::npos);
  EXPECT_NE(warning({"--budget", "cost=5/day"}).find(tokens), std::string::npos);
  EXPECT_EQ(warning({"--budget", "tokens=50/day"}).find("bind nothing"), std::string::npos);
  EXPECT_EQ(warning({"--budget", "none", "--key", "tag.a", "--key-budget", "tokens=50/day"}).find("bind nothing"),
            std::string::npos);
  EXPECT_NE(warning({"--key", "none"}).find(tokens), std::string::npos);
  EXPECT_EQ(warning({"--reserve", "none"}).find("bind nothing"), std::string::npos);
}

TEST(QueueRates, a_working_process_forgets_what_binds_nothing_any_more) {
  PgConnection owner({owner_dsn(), "test", false});
  owner.execute("INSERT INTO cairn.rate VALUES (0, 'left_behind', '=jane', 1, 1)");
  owner.execute("INSERT INTO cairn.budget_use VALUES (0, 'left_behind', '=jane', 'tokens', 'day', 0, 7)");
  owner.execute("INSERT INTO cairn.key_turn VALUES (0, 'left_behind', 'jane', 0)");
  const PgStatement kept{"kept",
                         "select (select count(*) from cairn.rate where queue = 'left_behind') + "
                         "(select count(*) from cairn.budget_use where queue = 'left_behind') + "
                         "(select count(*) from cairn.key_turn where queue = 'left_behind')"};
  ASSERT_EQ(owner.query(kept).int8(0, 0), 3);
  const Beside worker({"work", "--queue", "left_behind"});
  EXPECT_TRUE(wait_until([&] { return owner.query(kept).int8(0, 0) == 0; })) << worker.err();
}

}  // namespace
}  // namespace cairn::program

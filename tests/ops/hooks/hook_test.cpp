// Hooks as a user has them: a real receiver, senders that are killed, order, attempts that are used up, and commands.
#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "storage/postgres/connection.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/hooks/receiver.hpp"
#include "tests/ops/planners/planner_runs.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

const EnvironmentVariable secret_of_tests("HOOK_SECRET", receiver_secret);

Beside sender(const std::string& dsn) { return Beside(on(dsn, {"work", "--tools", receiver_tools()})); }

Ran add_hook(const std::string& dsn, const std::string& name, const Receiver& receiver, const Arguments& more) {
  Arguments all = {"hook", "add", name, "--url", receiver.url(), "--private", "--secret", "HOOK", "--backoff", "50ms"};
  all.insert(all.end(), more.begin(), more.end());
  return cairn(on(dsn, all));
}

std::string run_started(const std::string& dsn, const Arguments& more = {}) {
  Arguments all = {"start", "plan_runner", "--input", R"({"goal": "g", "sub_goals": []})", "--wait", "--json"};
  all.insert(all.end(), more.begin(), more.end());
  return cairn_ok(on(dsn, all)).json()["run"];
}

// "RUN/SEQ" of the last event.
std::string end_of(const std::string& dsn, const std::string& run) {
  return run + "/" + cairn_ok(on(dsn, {"show", run, "--json"})).json()["seq"].dump();
}

Json shown(const std::string& dsn, const std::string& name) {
  return cairn_ok(on(dsn, {"hook", "show", name, "--limit", "1000", "--json"})).json();
}

std::string add_graph(const std::string& dsn, const std::string& name, const Json& graph) {
  cairn_ok(on(dsn, {"graph", "add", write_file(name + ".json", graph.dump())}));
  return name;
}

// A run that waits for an answer.
std::string asked_run(const std::string& dsn) {
  const std::string graph = write_file("asks.json", ask_graph("asks"));
  cairn_ok(on(dsn, {"graph", "add", graph}));
  return cairn_ok(on(dsn, {"start", "asks", "--wait", "--json"})).json()["run"];
}

TEST(Hooks, a_signed_cloud_event_arrives_and_another_implementation_verifies_it) {
  const std::string dsn = new_database();
  const Receiver receiver;
  ASSERT_EQ(add_hook(dsn, "ends", receiver, {"--on", "ended", "--tag", "team=a"}).exit, 0);
  const Beside work = sender(dsn);
  run_started(dsn);
  const std::string run = run_started(dsn, {"--tag", "team=a"});
  ASSERT_TRUE(receiver.has_delivered(1));
  const Receiver::Noted arrived = receiver.noted().front();
  EXPECT_TRUE(arrived.is_verified);
  EXPECT_EQ(arrived.id, end_of(dsn, run)) << "the other run has no such tag";
  EXPECT_EQ(arrived.type, "application/cloudevents+json; charset=utf-8");
  const Json& event = arrived.body;
  EXPECT_EQ(event["specversion"], "1.0");
  EXPECT_EQ(event["type"], "dev.cairn.run.finished");
  EXPECT_EQ(event["id"], arrived.id);
  EXPECT_EQ(event["subject"], run);
  EXPECT_EQ(event["data"]["status"], "done");
  EXPECT_EQ(event["data"]["graph"], "plan_runner");
  EXPECT_EQ(event["data"]["tags"], (Json{{"team", "a"}}));
  ASSERT_TRUE(wait_until([&] { return shown(dsn, "ends")["delivered"] == 1; }));
  EXPECT_EQ(shown(dsn, "ends")["deliveries"][0]["answer"], 204);
  EXPECT_EQ(receiver.delivered().size(), 1u);
}

TEST(Hooks, senders_are_killed_at_any_point_and_each_event_is_delivered_with_its_one_id) {
  const std::string dsn = new_database();
  const Receiver receiver;
  ASSERT_EQ(add_hook(dsn, "killed", receiver, {"--on", "ended", "--timeout", "2s"}).exit, 0);
  receiver.answer_with(Json::array({500, 204}));
  std::vector<Beside> senders;
  for (int n = 0; n < 2; ++n) senders.push_back(sender(dsn));
  std::set<std::string> wanted;
  for (std::size_t round = 0; round < 8; ++round) {
    const std::size_t before = receiver.noted().size();
    for (int n = 0; n < 3; ++n) wanted.insert(end_of(dsn, run_started(dsn)));
    ASSERT_TRUE(wait_until([&] { return receiver.noted().size() > before + round % 4; }));
    senders[round % 2].signal(SIGKILL);
    senders[round % 2] = sender(dsn);
  }
  ASSERT_TRUE(receiver.has_delivered(wanted.size()));
  ASSERT_TRUE(wait_until([&] { return shown(dsn, "killed")["waiting"] == 0; }));
  const std::vector<std::string> ids = receiver.delivered();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()), wanted);
  for (const Receiver::Noted& one : receiver.noted()) EXPECT_TRUE(one.is_verified) << one.id;
  EXPECT_EQ(shown(dsn, "killed")["delivered"], wanted.size());
  EXPECT_EQ(shown(dsn, "killed")["parked"], 0);
}

TEST(Hooks, of_an_ordered_hook_the_notices_of_a_run_arrive_one_after_another) {
  const std::string dsn = new_database();
  const Receiver receiver;
  ASSERT_EQ(add_hook(dsn, "ordered", receiver, {"--on", "ended,waits", "--ordered"}).exit, 0);
  receiver.answer_with(Json::array({500, "cut", 204}));
  std::map<std::string, std::string> ends;  // by run
  for (int n = 0; n < 4; ++n) {
    const std::string run = asked_run(dsn);
    cairn_ok(on(dsn, {"answer", run, "--value", R"("north")", "--wait"}));
    ends[run] = end_of(dsn, run);
  }
  const Beside first = sender(dsn), second = sender(dsn);
  ASSERT_TRUE(receiver.has_delivered(8));
  std::map<std::string, int> arrived_of_run;
  for (const auto& [run, end] : ends) {
    bool is_question_over = false;
    int ends_seen = 0;
    for (const Receiver::Noted& one : receiver.noted()) {
      if (!one.id.starts_with(run)) continue;
      const bool is_end = one.id == end;
      EXPECT_TRUE(!is_end || is_question_over) << "the end came before its question was delivered";
      ends_seen += is_end ? 1 : 0;
      is_question_over = is_question_over || (!is_end && one.is_answer && one.status == 204);
    }
    EXPECT_GE(ends_seen, 3);
  }
}

TEST(Hooks, one_whose_attempts_are_used_up_is_parked_shown_and_sent_again) {
  const std::string dsn = new_database();
  const Receiver receiver;
  ASSERT_EQ(add_hook(dsn, "parks", receiver, {"--on", "ended", "--attempts", "2"}).exit, 0);
  receiver.answer_with(Json::array({400}));
  const Beside work = sender(dsn);
  const std::string first = end_of(dsn, run_started(dsn)), second = end_of(dsn, run_started(dsn));
  ASSERT_TRUE(wait_until([&] { return shown(dsn, "parks")["parked"] == 2; }));
  const Json delivery = cairn_ok(on(dsn, {"hook", "show", "parks", "--status", "parked", "--json"})).json();
  EXPECT_EQ(delivery["deliveries"][0]["attempts"], 2);
  EXPECT_EQ(delivery["deliveries"][0]["says"], "The receiver answered 400.");
  const std::string doctor = cairn(on(dsn, {"doctor"})).out;
  EXPECT_NE(doctor.find("parks has 2 parked: `cairn hook resend parks` sends them again"), std::string::npos) << doctor;
  expect_refused(cairn(on(dsn, {"hook", "skip", "parks", nobody + "/7"})), 3, "has none");
  cairn_ok(on(dsn, {"hook", "skip", "parks", first}));
  receiver.answer_with(Json::array({204}));
  EXPECT_EQ(cairn_ok(on(dsn, {"hook", "resend", "parks", "--json"})).json()["resent"], 1);
  ASSERT_TRUE(receiver.has_delivered(1));
  EXPECT_EQ(receiver.delivered(), std::vector<std::string>{second});
  std::string kinds;
  for (const Json& note : cairn_ok(on(dsn, {"hook", "history", "parks", "--json"})).lines())
    kinds += note["kind"].get<std::string>() + " ";
  EXPECT_EQ(kinds, "added parked skipped resent ");
  const std::string newest = cairn_ok(on(dsn, {"hook", "history", "parks", "--limit", "3"})).out;
  EXPECT_TRUE(newest.ends_with("3 shown. Older ones: --before 2\n")) << newest;
  const std::vector<Json> older = cairn_ok(on(dsn, {"hook", "history", "parks", "--before", "2", "--json"})).lines();
  ASSERT_EQ(older.size(), 1u);
  EXPECT_EQ(older[0]["kind"], "added");
}

TEST(Hooks, a_long_answer_counts_by_its_status) {
  const std::string dsn = new_database();
  const Receiver receiver;
  ASSERT_EQ(add_hook(dsn, "long", receiver, {"--on", "ended"}).exit, 0);
  receiver.answer_with(Json::array({"long"}));
  const Beside work = sender(dsn);
  run_started(dsn);
  ASSERT_TRUE(wait_until([&] { return shown(dsn, "long")["delivered"] == 1; }));
  EXPECT_EQ(shown(dsn, "long")["deliveries"][0]["answer"], 200);
  EXPECT_EQ(receiver.noted().size(), 2u) << "it arrived once, and was answered once";
}

TEST(Hooks, a_test_of_a_paused_hook_says_so) {
  const std::string dsn = new_database();
  cairn_ok(on(dsn, {"hook", "add", "h", "--url", "http://h.example/in", "--on", "ended"}));
  cairn_ok(on(dsn, {"hook", "pause", "h"}));
  const Ran unsent = cairn(on(dsn, {"hook", "test", "h", "--wait", "10ms"}));
  EXPECT_EQ(unsent.exit, 1);
  EXPECT_EQ(unsent.out, "Hook h is paused: the test test/h/3 is sent when it goes on.\n");
}

TEST(Hooks, a_receiver_that_is_gone_disables_and_one_that_asks_for_a_pause_has_it) {
  const std::string dsn = new_database();
  const Receiver receiver;
  ASSERT_EQ(add_hook(dsn, "gone", receiver, {"--on", "ended"}).exit, 0);
  receiver.answer_with(Json::array({410, 503, 204}));
  const Beside work = sender(dsn);
  const std::string run = run_started(dsn);
  ASSERT_TRUE(wait_until([&] { return shown(dsn, "gone")["paused"].is_object(); }));
  EXPECT_EQ(shown(dsn, "gone")["paused"]["reason"], "The receiver answered 410.");
  EXPECT_EQ(shown(dsn, "gone")["waiting"], 1);
  cairn_ok(on(dsn, {"hook", "resume", "gone"}));
  ASSERT_TRUE(receiver.has_delivered(1));
  std::vector<Receiver::Noted> noted = receiver.noted();
  ASSERT_EQ(noted.size(), 6u) << "three that arrived, three that were answered";
  EXPECT_GE(noted[4].at_s - noted[3].at_s, 1.0) << "Retry-After";
}

TEST(Hooks, an_address_of_this_machine_is_refused_unless_the_operator_allows_it) {
  const std::string dsn = new_database();
  const Receiver receiver;
  cairn_ok(on(dsn, {"hook", "add", "inside", "--url", receiver.url(), "--on", "ended", "--attempts", "1"}));
  const Beside work = sender(dsn);
  run_started(dsn);
  ASSERT_TRUE(wait_until([&] { return shown(dsn, "inside")["parked"] == 1; }));
  const std::string says = shown(dsn, "inside")["deliveries"][0]["says"];
  EXPECT_NE(says.find("its name leads to an address that may not be connected to. A hook with `--private` reaches"),
            std::string::npos)
      << says;
  EXPECT_TRUE(receiver.noted().empty());
}

TEST(Hooks, a_run_that_breaks_its_limit_and_one_that_waits_become_notices_of_their_own) {
  const std::string dsn = new_database();
  const Receiver receiver;
  ASSERT_EQ(add_hook(dsn, "limits", receiver, {"--on", "budget"}).exit, 0);
  ASSERT_EQ(add_hook(dsn, "waits", receiver, {"--on", "waits", "--graph", "asks"}).exit, 0);
  const Json circle = Json::parse(R"({"name": "circle", "start": "a", "limits": {"steps": 3}, "nodes": {
      "a": {"do": "data.set", "with": {"set": {"x": 1}}, "on": {"ok": ["b"]}},
      "b": {"do": "data.set", "with": {"set": {"x": 2}}, "on": {"ok": "a", "error": "z"}}, "z": {"end": "done"}}})");
  const Beside work = sender(dsn);
  const std::string asked = asked_run(dsn);
  add_graph(dsn, "circle", circle);
  const std::string broken = cairn(on(dsn, {"start", "circle", "--wait", "--json"})).json()["run"];
  ASSERT_TRUE(receiver.has_delivered(2));
  std::map<std::string, Json> by_run;
  for (const Receiver::Noted& one : receiver.noted())
    if (!one.is_answer) by_run[one.body["subject"]] = one.body;
  EXPECT_EQ(by_run[asked]["type"], "dev.cairn.run.waits");
  EXPECT_EQ(by_run[asked]["data"]["question"], "q1");
  EXPECT_EQ(by_run[broken]["type"], "dev.cairn.run.finished");
  EXPECT_EQ(by_run[broken]["data"]["reason"], "Expected at most 3 steps, but another opened.");
}

TEST(Hooks, a_run_that_stands_still_becomes_one_notice_for_each_standstill) {
  const std::string dsn = new_database();
  const Receiver receiver;
  ASSERT_EQ(add_hook(dsn, "still", receiver, {"--on", "stalled", "--stalled-after", "1s"}).exit, 0);
  const Beside work = sender(dsn);
  const std::string first = asked_run(dsn);
  ASSERT_TRUE(receiver.has_delivered(1));
  EXPECT_EQ(receiver.delivered().front(), end_of(dsn, first) + "/stalled");
  const std::string second = asked_run(dsn);  // a search that finds it has passed the first one again
  ASSERT_TRUE(receiver.has_delivered(2));
  cairn_ok(on(dsn, {"pause", first}));
  cairn_ok(on(dsn, {"resume", first}));
  ASSERT_TRUE(receiver.has_delivered(3));
  EXPECT_EQ(receiver.answers().size(), 3u);
  EXPECT_EQ(receiver.delivered().back(), end_of(dsn, first) + "/stalled") << "it moved, and stands still again";
}

TEST(Hooks, a_test_is_sent_by_a_process_that_has_the_secret_and_its_answer_is_shown) {
  const std::string dsn = new_database();
  const Receiver receiver;
  ASSERT_EQ(add_hook(dsn, "tried", receiver, {"--on", "ended"}).exit, 0);
  const Beside without(on(dsn, {"work"}));
  const Ran unsent = cairn(on(dsn, {"hook", "test", "tried", "--wait", "1s"}));
  EXPECT_EQ(unsent.exit, 1);
  EXPECT_NE(unsent.out.find("No process has sent the test test/tried/2 yet"), std::string::npos) << unsent.out;
  EXPECT_TRUE(receiver.noted().empty());
  const Beside work = sender(dsn);
  const Ran sent = cairn_ok(on(dsn, {"hook", "test", "tried"}));
  EXPECT_EQ(sent.out, "The test test/tried/3 was delivered, and answered with 204.\n");
  ASSERT_TRUE(receiver.has_delivered(2));
  EXPECT_EQ(receiver.noted().front().body["type"], "dev.cairn.hook.test");
}

TEST(Hooks, what_is_no_hook_is_refused_in_one_sentence_and_leaves_nothing) {
  const std::string dsn = new_database();
  const auto add = [&](const Arguments& more) {
    Arguments all = {"hook", "add", "h"};
    all.insert(all.end(), more.begin(), more.end());
    return cairn(on(dsn, all));
  };
  expect_refused(add({"--on", "ended"}), 2, "Expected a URL or a command of a hook, but found neither.");
  expect_refused(add({"--url", "file:///etc/passwd", "--on", "ended"}), 2, "its scheme is neither http nor https");
  expect_refused(add({"--url", "http://h/in", "--on", "never"}), 2, "but found \"never\"");
  expect_refused(add({"--url", "http://h/in", "--on", "stalled"}), 2, "Expected the time after which");
  expect_refused(add({"--url", "http://h/in", "--on", "ended", "--timeout", "5h"}), 2,
                 "from 100 to 60000 as timeout_ms");
  expect_refused(cairn(on(dsn, {"hook", "add", "a/b", "--url", "http://h/in", "--on", "ended"})), 2, "Expected a name");
  EXPECT_TRUE(cairn_ok(on(dsn, {"hook", "list", "--json"})).out.empty());
  EXPECT_TRUE(cairn_ok(on(dsn, {"feed", "list", "--json"})).out.empty());
  cairn_ok(on(dsn, {"hook", "add", "h", "--url", "http://h.example/in", "--on", "ended"}));
  expect_refused(add({"--url", "http://h/in", "--on", "ended"}), 4, "Expected a new name for a hook, but h is one");
  expect_refused(cairn(on(dsn, {"hook", "pause", "other"})), 3, "none is named \"other\"");
  expect_refused(cairn(on(dsn, {"hook", "resend", "h", "7"})), 4, "Expected the id of an event of the hook");
  expect_refused(cairn(on(dsn, {"feed", "add", "hook@h"})), 2, "belong to hooks");
  cairn_ok(on(dsn, {"hook", "remove", "h"}));
  EXPECT_TRUE(cairn_ok(on(dsn, {"feed", "list", "--json"})).out.empty());
}

}  // namespace
}  // namespace cairn::program

// The library's client against the real server, call by call, and against servers that are away, busy or cut the line.
#include <chrono>
#include <cmath>
#include <gtest/gtest.h>

#include "ops/library/library.hpp"
#include "ops/library/transport.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/clients/odd_server.hpp"
#include "tests/ops/free_port.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

using std::chrono::milliseconds;

library::Client client_at(const std::string& port, milliseconds patience = milliseconds(30'000)) {
  return library::Client({.url = "http://127.0.0.1:" + port, .patience = patience});
}

class LibraryClient : public ::testing::Test {
 protected:
  LibraryClient() : client_(client_at(std::to_string(server_.port()))) {}

  std::string add(const std::string& graph) { return client_.add_graph(Json::parse(graph)); }

  Server server_;
  const Beside worker_{{"work"}};
  library::Client client_;
};

// A step that fails for as long as the channel `tool` is "fail".
const std::string stubborn = R"({
  "name": "library_stubborn", "start": "work", "limits": {"steps": 20},
  "channels": {"tool": {"reducer": "last"}, "said": {"reducer": "last"}},
  "nodes": {
    "work": {"do": "tool.call", "with": {"tool": "$tool", "inputs": {"n": 1}, "into": "said"}, "on": {"ok": "done"}},
    "done": {"end": {"status": "done", "output": "$said"}}}})";

TEST_F(LibraryClient, starts_looks_at_answers_and_forks_runs) {
  add(ask_graph("library_ask"));
  const library::StartOptions named{.key = "one", .tags = {{"team", "a"}}};
  const std::string run = client_.start("library_ask", Json::object(), named);
  EXPECT_EQ(client_.start("library_ask", Json::object(), named), run) << "the same key is the same run";
  EXPECT_TRUE(test::wait_until([&] { return !client_.questions({{"graph", "library_ask"}}).empty(); }));
  EXPECT_EQ(client_.explain(run)["reasons"].at(0)["kind"], "question");
  client_.answer(run, "north", {.by = "ann"});
  EXPECT_EQ(client_.wait(run, milliseconds(60'000))["output"]["region"], "north");
  EXPECT_NE(client_.state(run, "1")["status"], "done") << "as of its first event";

  std::vector<std::string> followed;
  client_.follow(run, [&](const Json& event) { followed.push_back(event["type"]); });
  const std::vector<Json> events = client_.events(run);
  ASSERT_EQ(followed.size(), events.size());
  EXPECT_EQ(followed.back(), "run_finished");
  EXPECT_EQ(client_.events(run, 2).front()["seq"], 3);

  const std::string other = client_.fork(run, 2, {.answers = {{"q1", "south"}}, .tags = {{"team", "b"}}});
  EXPECT_EQ(client_.wait(other, milliseconds(60'000))["output"]["region"], "south");
  EXPECT_FALSE(client_.diff(run, other)["same"].get<bool>());
  EXPECT_TRUE(client_.verify(other)["sound"].get<bool>());
  EXPECT_TRUE(client_.plan(run).empty());
  EXPECT_EQ(client_.runs({{"graph", "library_ask"}, {"tag", "team=b"}}).size(), 1u);
  EXPECT_EQ(client_.runs({{"graph", "library_ask"}}, 1).size(), 1u);
}

TEST_F(LibraryClient, steers_runs) {
  add(ask_graph("library_steered"));
  const std::string run = client_.start("library_steered");
  client_.pause(run);
  EXPECT_EQ(client_.state(run)["status"], "paused");
  client_.resume(run);
  client_.signal(run, "none", {{"n", 1}}, "once");
  client_.signal(run, "none", {{"n", 1}}, "once");
  int signals = 0;
  for (const Json& event : client_.events(run)) signals += event["type"] == "signal_received" ? 1 : 0;
  EXPECT_EQ(signals, 1) << "a signal with the same id counts once";
  client_.cancel(run, "not needed");
  const Json ended = client_.wait(run, milliseconds(60'000));
  EXPECT_EQ(ended["status"], "aborted");
  EXPECT_EQ(ended["reason"], "not needed");
}

TEST_F(LibraryClient, goes_on_with_runs_that_failed) {
  add(stubborn);
  const std::string failed = client_.start("library_stubborn", {{"tool", "fail"}});
  EXPECT_EQ(client_.wait(failed, milliseconds(60'000))["status"], "failed");
  EXPECT_EQ(client_.wait(client_.retry(failed), milliseconds(60'000))["status"], "failed") << "nothing has changed";
  EXPECT_EQ(client_.wait(client_.reset(failed, "work"), milliseconds(60'000))["status"], "failed");
  const std::string mended = client_.fork(failed, 1, {.set = {{"tool", "echo"}}});
  EXPECT_EQ(client_.wait(mended, milliseconds(60'000))["output"], (Json{{"n", 1}}));
}

TEST_F(LibraryClient, refusals_have_their_status_code_and_sentence) {
  try {
    client_.state(nobody);
    ADD_FAILURE() << "there is no such run";
  } catch (const library::Refused& refused) {
    EXPECT_EQ(refused.status(), 404);
    EXPECT_EQ(refused.code(), "not_found");
    EXPECT_EQ(std::string(refused.what()).find("Expected"), 0u) << refused.what();
  }
  add(ask_graph("library_slow"));
  const std::string run = client_.start("library_slow");
  EXPECT_THROW(client_.wait(run, milliseconds(50)), library::Unavailable);
  client_.cancel(run);
  EXPECT_THROW(client_.state(""), library::Refused) << "it is no list of runs";
  EXPECT_THROW(client_.wait("", milliseconds(50)), library::Refused);
  for (const Json& input : {Json("\xff"), Json(std::nan("")), Json::binary({1})}) {
    try {
      client_.start("library_slow", {{"a", {input}}});
      ADD_FAILURE() << "JSON has it not";
    } catch (const library::Refused& refused) {
      EXPECT_EQ(refused.code(), "invalid");
      EXPECT_EQ(std::string(refused.what()).find("Expected a request that is JSON, but found "), 0u) << refused.what();
    }
  }
  for (const char* url : {"ftp://127.0.0.1", "http://user@127.0.0.1", "http://127.0.0.1/?a=b", "nowhere"})
    EXPECT_THROW(library::Client({.url = url}), library::Refused) << url;
  EXPECT_THROW(library::Client({.url = "http://127.0.0.1", .token = "two words"}), library::Refused);
}

TEST(LibraryTransport, a_busy_server_is_asked_again_no_earlier_than_it_says) {
  const OddServer server("busy", 2);
  EXPECT_EQ(client_at(server.port()).state("r")["status"], "done");
  const std::vector<OddServer::Noted> noted = server.noted();
  ASSERT_EQ(noted.size(), 3u);
  EXPECT_GE(noted[1].at_s - noted[0].at_s, 0.99);
  EXPECT_GE(noted[2].at_s - noted[1].at_s, 0.99);
}

TEST(LibraryTransport, what_may_have_arrived_goes_again_only_if_that_changes_nothing) {
  const OddServer reads("cut", 2);
  EXPECT_EQ(client_at(reads.port()).state("r")["status"], "done");
  EXPECT_EQ(reads.noted().size(), 3u);
  const OddServer writes("cut", 2);
  try {
    client_at(writes.port()).cancel("r");
    ADD_FAILURE() << "no answer has come";
  } catch (const library::Unavailable& unavailable) {
    EXPECT_NE(std::string(unavailable.what()).find("may have arrived"), std::string::npos) << unavailable.what();
  }
  EXPECT_EQ(writes.noted().size(), 1u);
}

TEST(LibraryTransport, the_patience_counts_from_the_first_failure) {
  const OddServer server("late", 1);
  EXPECT_EQ(client_at(server.port(), milliseconds(500)).state("r")["status"], "done") << "its answer took longer";
  EXPECT_EQ(server.noted().size(), 2u);
}

// A server of scripted answers, within the process.
struct ScriptedWay {
  library::Answered exchange(const library::Asked&) {
    return {200, ++asked < ends_at ? R"({"status":"running","seq":1})" : R"({"status":"done","seq":2})", {}};
  }
  library::Answered stream(const std::string&, std::int64_t, const library::Transport::OnMore& on_more) {
    const bool is_last = asked + 1 >= ends_at;
    on_more(is_last ? "data: {\"seq\":2}\n\n" : ": nothing new\n\n");
    return {200, "", {}};
  }
  int ends_at = 1;
  int asked = 0;
};

TEST(LibraryWaiting, a_wait_without_a_timeout_has_no_end_but_that_of_the_run) {
  const auto way = std::make_shared<ScriptedWay>(ScriptedWay{.ends_at = 3});
  library::Client client(library::transport_of(way));
  EXPECT_EQ(client.wait("r")["status"], "done");
  EXPECT_EQ(way->asked, 3);
}

TEST(LibraryWaiting, streams_that_end_without_an_event_are_opened_again_however_many_they_are) {
  const auto way = std::make_shared<ScriptedWay>(ScriptedWay{.ends_at = 55});
  library::Client client(library::transport_of(way));
  std::vector<Json> followed;
  client.follow("r", [&](const Json& event) { followed.push_back(event); });
  EXPECT_EQ(followed, (std::vector<Json>{{{"seq", 2}}}));
}

// The first page of a list, the second, and a run that begins when its state was read twice.
struct PagedWay {
  library::Answered exchange(const library::Asked& asked) {
    queries.push_back(asked.query);
    if (asked.path.size() > 1 && is_gone) return {404, refusal, {}};
    if (asked.path.size() > 1)
      return {200, begun() ? R"({"status":"done","seq":1})" : R"({"status":"waiting","seq":0})", {}};
    if (queries.size() > 1) return {200, R"([{"run":"b"}])", {}};
    return {200, R"([{"run":"a"}])", {{"link", "<?tag=zone%3DUTC%2B1&limit=500&after=a>; rel=\"next\""}}};
  }
  library::Answered stream(const std::string&, std::int64_t, const library::Transport::OnMore& on_more) {
    if (!begun()) return {404, refusal, {}};
    on_more("data: {\"seq\":1}\n\n");
    return {200, "", {}};
  }
  bool begun() const { return queries.size() >= 2; }

  bool is_gone = false;
  std::vector<library::Query> queries = {};
  const std::string refusal = R"({"error":{"code":"not_found","message":"Expected a run that has begun."}})";
};

TEST(LibraryWaiting, a_start_that_still_waits_has_events_to_come) {
  const auto way = std::make_shared<PagedWay>();
  std::vector<Json> followed;
  const auto on_event = [&](const Json& event) { followed.push_back(event); };
  library::Client(library::transport_of(way)).follow("r", on_event);
  EXPECT_EQ(followed, (std::vector<Json>{{{"seq", 1}}}));
  const auto gone = std::make_shared<PagedWay>(PagedWay{.is_gone = true});
  EXPECT_THROW(library::Client(library::transport_of(gone)).follow("r", on_event), library::Refused);
}

TEST(LibraryLists, pages_follow_each_other_until_there_is_no_next_one) {
  const auto way = std::make_shared<PagedWay>();
  EXPECT_EQ(library::Client(library::transport_of(way)).runs().size(), 2u);
  ASSERT_EQ(way->queries.size(), 2u);
  EXPECT_EQ(way->queries[1], (library::Query{{"tag", "zone=UTC+1"}, {"limit", "500"}, {"after", "a"}}));
}

TEST_F(LibraryClient, a_filter_is_asked_for_as_it_was_given) {
  add(ask_graph("library_zones"));
  const std::string run = client_.start("library_zones", Json::object(), {.tags = {{"zone", "UTC+1, or so;"}}});
  client_.start("library_zones", Json::object(), {.tags = {{"zone", "UTC 1, or so;"}}});
  const std::vector<Json> found = client_.runs({{"graph", "library_zones"}, {"tag", "zone=UTC+1, or so;"}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["run"], run);
}

TEST(LibraryTransport, where_no_server_is_the_patience_ends_in_one_sentence) {
  library::Client client = client_at(free_port(), milliseconds(200));
  try {
    client.state("r");
    ADD_FAILURE() << "no one answers there";
  } catch (const library::Unavailable& unavailable) {
    EXPECT_EQ(std::string(unavailable.what()).find("Expected an answer from http://127.0.0.1:"), 0u);
  }
}

}  // namespace
}  // namespace cairn::program

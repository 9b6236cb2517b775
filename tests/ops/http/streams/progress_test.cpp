// Followers of a run see the text that a step has written so far: over HTTP, and on the command line.
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>

#include "tests/ops/api_client.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {
namespace {

using testing::LoopbackServer;

// A model that writes on when the test says so.
class ProgressOverHttp : public ::testing::Test {
 protected:
  static std::string chunk(const std::string& content) {
    const Json choices = Json::array({Json{{"delta", {{"content", content}}}}});
    return "data: " + Json{{"choices", choices}}.dump() + "\n\n";
  }
  static LoopbackServer::Reply reply_of(const std::vector<std::string>& texts) {
    LoopbackServer::Reply reply;
    reply.headers = {{"content-type", "text/event-stream"}};
    for (const std::string& text : texts) reply.pieces.push_back(chunk(text));
    reply.pieces.back() +=
        "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}], "
        "\"usage\": {\"prompt_tokens\": 9, \"completion_tokens\": 5}}\n\ndata: [DONE]\n\n";
    return reply;
  }

  void SetUp() override {
    const Json graph = {
        {"name", "progress_chat"},
        {"start", "chat"},
        {"limits", {{"steps", 9}}},
        {"nodes",
         {{"chat", {{"do", "model.chat"}, {"with", {{"prompt", "?"}, {"into", "said"}}}, {"on", {{"ok", "end"}}}}},
          {"end", {{"end", {{"status", "done"}, {"output", "$said"}}}}}}}};
    cairn_ok({"graph", "add", write_file("progress_chat.json", graph.dump())});
  }
  void TearDown() override { stage_ = 1'000; }

  Beside worker() {
    const Variable url("CAIRN_MODEL_URL", model_.url("/v1"));
    return Beside({"work"});
  }
  static std::string start() { return cairn_ok({"start", "progress_chat", "--no-work", "--json"}).json()["run"]; }
  Json shown(const std::string& run) { return api_.get(runs + "/" + run).json(); }
  std::string said(const std::string& run) {
    const Json state = shown(run);
    return state.contains("progress") ? state["progress"][0]["text"].get<std::string>() : "";
  }

  std::vector<std::string> texts_ = {"The sky ", "is \x1b[2J\u202e<b>", "blue."};
  std::atomic<int> stage_ = 0;
  LoopbackServer model_{[this](const auto&) {
    LoopbackServer::Reply reply = reply_of(texts_);
    reply.before = [this](std::size_t piece) { wait_until([&] { return stage_ > static_cast<int>(piece); }); };
    return reply;
  }};
  Server api_;
};

TEST_F(ProgressOverHttp, a_stream_that_asks_for_it_has_it_between_events_and_others_see_no_change) {
  const Beside working = worker();
  const std::string run = start();
  const std::string events = runs + "/" + run + "/events?follow=true";
  ApiStreamReader stream(api_.port(), events + "&progress=1");
  stage_ = 1;
  StreamedEvent seen = stream.next().value();
  EXPECT_EQ(seen.id, "1");
  while (seen.event.empty()) seen = stream.next().value();
  EXPECT_EQ(seen.event, "progress");
  EXPECT_EQ(seen.data["step"], 1);
  EXPECT_EQ(seen.data["node"], "chat");
  EXPECT_EQ(seen.data["attempt"], 1);
  EXPECT_EQ(seen.data["text"], "The sky ");
  EXPECT_EQ(seen.data["written"], 8);
  EXPECT_EQ(said(run), "The sky ");

  stage_ = 2;
  const std::string more = "The sky is \x1b[2J\u202e<b>";
  while (seen.data.value("text", "") != more) seen = stream.next().value();
  ApiStreamReader late(api_.port(), events + "&progress=true", {{"Last-Event-ID", "1"}});
  EXPECT_EQ(late.next().value().data["text"], more) << "who joins late has all at once";
  for (const Arguments& command : {Arguments{"show", run}, Arguments{"explain", run}}) {
    const std::string out = cairn_ok(command).out;
    EXPECT_NE(out.find("It has written 19 characters: The sky is"), std::string::npos) << out;
    EXPECT_EQ(out.find('\x1b'), std::string::npos) << "a terminal obeys nothing that a model writes";
    EXPECT_EQ(out.find("\u202e"), std::string::npos);
  }
  EXPECT_EQ(cairn_ok({"explain", run, "--json"}).json()["reasons"][0]["written"], 19);
  EXPECT_EQ(cairn_ok({"show", run, "--json"}).json()["progress"][0]["text"], more);
  EXPECT_FALSE(cairn_ok({"show", run, "--at", "1", "--json"}).json().contains("progress"));
  Beside following({"events", run, "--follow", "--progress", "--json"});
  Beside reading({"events", run, "--follow", "--progress"});
  EXPECT_TRUE(wait_until([&] { return following.out().find("\"type\":\"progress\"") != std::string::npos; }));
  EXPECT_TRUE(wait_until([&] { return reading.out().find("19 characters") != std::string::npos; }));
  EXPECT_EQ(reading.out().find('\x1b'), std::string::npos);

  stage_ = 3;
  std::vector<Json> told;
  while (const std::optional<StreamedEvent> event = stream.next())
    if (event->event.empty()) told.push_back(event->data);
  const std::vector<Json> lines = cairn_ok({"events", run, "--json"}).lines();
  EXPECT_EQ(told, std::vector<Json>(lines.begin() + 1, lines.end()));
  ApiStreamReader plain(api_.port(), events);
  for (const Json& line : lines) {
    const StreamedEvent event = plain.next().value();
    EXPECT_EQ(event.event, "");
    EXPECT_EQ(event.data, line);
  }
  EXPECT_FALSE(shown(run).contains("progress"));
  EXPECT_EQ(shown(run)["output"], more + "blue.");
  EXPECT_EQ(following.wait(), 0);
}

TEST_F(ProgressOverHttp, a_page_of_events_has_none_to_show) {
  const std::string run = start();
  cairn_ok({"cancel", run});
  const Reply reply = api_.get(runs + "/" + run + "/events?progress=true");
  EXPECT_EQ(reply.status, 400) << reply.body;
  EXPECT_EQ(api_.get(runs + "/" + run + "/events?follow=true&progress=maybe").status, 400);
  expect_refused(cairn({"events", run, "--progress"}), 2, "--follow");
}

TEST_F(ProgressOverHttp, a_killed_workers_text_goes_with_its_hold) {
  Beside first = worker();
  const std::string run = start();
  stage_ = 1;
  ASSERT_TRUE(wait_until([&] { return said(run) == "The sky "; })) << first.err();
  stage_ = 0;
  first.signal(SIGKILL);
  first.wait();
  const Beside second = worker();
  EXPECT_TRUE(wait_until([&] { return said(run).empty(); })) << second.err();
  EXPECT_EQ(shown(run)["status"], "running");
  stage_ = 3;
  EXPECT_TRUE(wait_until([&] { return shown(run)["status"] == "done"; })) << second.err();
}

}  // namespace
}  // namespace cairn::program

// Workers and their language models: one that has a model and one that has only the rule book; a run that is cancelled
// while a model writes.
#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>

#include "tests/ops/program.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {
namespace {

// A model that answers by a script, for the worker that is started while this stands.
struct Script {
  explicit Script(const Json& script) {
    setenv("CAIRN_MODEL_SCRIPT", write_file("models.script.json", script.dump()).c_str(), 1);
  }
  ~Script() { unsetenv("CAIRN_MODEL_SCRIPT"); }
};

Json chat_graph(const std::string& name) {
  return {
      {"name", name},
      {"start", "chat"},
      {"limits", {{"steps", 9}}},
      {"nodes",
       {{"chat",
         {{"do", "model.chat"}, {"with", {{"prompt", "What is the sky?"}, {"into", "said"}}}, {"on", {{"ok", "end"}}}}},
        {"end", {{"end", {{"status", "done"}, {"output", "$said"}}}}}}}};
}

// The endpoint writes on and on, and is paid for each word, until the worker hangs up.
TEST(ModelsOfWorkers, a_run_that_is_cancelled_while_a_model_writes_stops_it) {
  testing::LoopbackServer server([](const auto&) {
    testing::LoopbackServer::Reply reply;
    reply.headers = {{"content-type", "text/event-stream"}};
    reply.pieces = {"data: {\"choices\": [{\"delta\": {\"content\": \"and \"}}]}\n\n"};
    reply.endless = true;
    return reply;
  });
  cairn_ok({"graph", "add", write_file("models_endless.json", chat_graph("models_endless").dump())});
  setenv("CAIRN_MODEL_URL", server.url("/v1").c_str(), 1);
  const Beside worker({"work"});
  unsetenv("CAIRN_MODEL_URL");
  const std::string run = cairn_ok({"start", "models_endless", "--no-work", "--json"}).json()["run"];
  ASSERT_TRUE(test::wait_until([&] { return !server.requests().empty(); }));
  EXPECT_EQ(server.ended_connections(), 0);
  cairn_ok({"cancel", run});
  EXPECT_TRUE(test::wait_until([&] { return server.ended_connections() == 1; }, std::chrono::seconds(20)))
      << worker.err();
}

TEST(ModelsOfWorkers, a_step_that_asks_one_goes_to_the_worker_that_has_it) {
  cairn_ok({"graph", "add", write_file("models_chat.json", chat_graph("models_chat").dump())});
  constexpr int runs = 30;
  Json replies = Json::array();
  for (int n = 0; n < runs; ++n) replies.push_back({{"node", "chat"}, {"value", "blue"}});

  std::optional<Beside> model;
  {
    const Script script(Json{{"replies", replies}});
    model.emplace(Arguments{"work"});
    ASSERT_TRUE(test::wait_until([] { return cairn_ok({"workers", "--json"}).lines().size() == 1; }));
  }
  const Beside rules({"work"});
  ASSERT_TRUE(test::wait_until([] { return cairn_ok({"workers", "--json"}).lines().size() == 2; }));
  int have = 0;
  for (const Json& row : cairn_ok({"workers", "--json"}).lines()) have += row["has_model"] == true ? 1 : 0;
  EXPECT_EQ(have, 1);

  std::string lines;
  for (int n = 0; n < runs; ++n) lines += "{}\n";
  const Ran done = cairn({"batch", "models_chat", "--inputs", write_file("models.jsonl", lines), "--wait", "--json"});
  EXPECT_EQ(done.exit, 0) << done.out << done.err;
  int blue = 0;
  for (const Json& line : done.lines()) blue += line.value("output", Json()) == "blue" ? 1 : 0;
  EXPECT_EQ(blue, runs) << "the rule book does not know this prompt: each run that it had met would have failed";
}

}  // namespace
}  // namespace cairn::program

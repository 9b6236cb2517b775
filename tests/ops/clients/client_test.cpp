#include "tests/ops/clients/client_test.hpp"

#include <csignal>

#include "tests/ops/free_port.hpp"

namespace cairn::program {

Json counted_graph(const std::string& name, const std::string& language, const std::string& first,
                   const std::string& second) {
  const auto step = [&language](const std::string& handler, Json on) {
    return Json{{"do", handler},
                {"queue", language},
                {"labels", {"ok", "other"}},
                {"with", {{"text", {{"$", "text"}}}}},
                {"retry", {{"attempts", 3}, {"backoff_ms", 10}}},
                {"on", std::move(on)}};
  };
  return {{"name", name},
          {"start", "count"},
          {"input", {{"properties", {{"text", {{"type", "string"}}}}}}},
          {"limits", {{"steps", 20}}},
          {"channels", {{"letters", {{"reducer", "sum"}}}}},
          {"nodes",
           {{"count", step(first, {{"ok", "later"}, {"other", "end"}})},
            {"later", step(second, {{"ok", "end"}, {"other", "end"}})},
            {"end", {{"end", {{"status", "done"}, {"output", {{"letters", {{"$", "letters"}}}}}}}}}}}};
}

ClientTest::ClientTest(const std::string& language)
    : language_(language),
      hangs_file_(language + "_hangs"),
      port_(free_port()),
      url_("CAIRN_URL", "http://127.0.0.1:" + port_),
      hangs_("HANGS", (directory() / hangs_file_).string()),
      server_(serve()) {
  const Json graph = counted_graph(language, language, language + ".count", language + ".later");
  cairn_ok({"graph", "add", write_file(language + ".json", graph.dump())});
  std::filesystem::remove(directory() / hangs_file_);
}

Beside ClientTest::serve() const {
  Beside server({"serve", "--json", "--listen", "127.0.0.1:" + port_});
  EXPECT_TRUE(wait_until([&] { return server.out().ends_with('\n'); }));
  return server;
}

void ClientTest::kill_server() {
  server_.signal(SIGKILL);
  server_.wait();
}

std::string ClientTest::start(const std::string& text, const std::string& graph) const {
  const std::string name = graph.empty() ? language_ : graph;
  return cairn_ok({"start", name, "--input", Json{{"text", text}}.dump(), "--json"}).json().at("run");
}

std::size_t ClientTest::running() const {
  return cairn_ok({"runs", "--graph", language_, "--status", "running", "--json"}).lines().size();
}

bool ClientTest::ends(const std::string& run) {
  return wait_until([&] { return !shown(run)["reason"].is_null() || shown(run)["status"] == "done"; });
}

void ClientTest::expect_tools_execute_sub_goals(const StartWorker& worker, const std::string& name) const {
  const Beside working = worker();
  EXPECT_TRUE(wait_until([&] { return cairn_ok({"workers"}).out.find(name + "@") != std::string::npos; }));
  const Json goal = {{"id", "a"}, {"tool", language_ + ".fetch"}, {"inputs", {{"n", 41}}}};
  const Json plan = {{"goal", "g"}, {"sub_goals", Json::array({goal})}};
  const Beside rules({"work"});
  const std::string run = cairn_ok({"start", "plan_runner", "--input", plan.dump(), "--json"}).json().at("run");
  EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_EQ(shown(run)["output"]["results"]["a"], (Json{{"n", 42}})) << cairn_ok({"explain", run}).out;
}

void ClientTest::expect_nothing_is_lost(const StartWorker& worker) {
  std::vector<std::string> all;
  for (int n = 0; n < 40; ++n) all.push_back(start(n % 4 == 0 ? "slow" : "word"));
  Beside first = worker();
  const Beside second = worker();
  std::size_t left = running();
  for (int n = 0; n < 3; ++n) {
    wait_until([&] { return running() < left || left == 0; });  // it is killed in the middle of the work
    left = running();
    kill_server();
    bring_server_back();
  }
  const Beside rules({"work"});  // it finds what the dead worker held
  first.signal(SIGKILL);
  first.wait();
  // Claims that died with a server are found some seconds later, those of the dead worker after half a minute.
  for (int patience = 0; patience < 9 && running() > 0; ++patience) wait_until([&] { return running() == 0; });
  EXPECT_EQ(running(), 0u) << second.err();
  for (const std::string& run : all) EXPECT_EQ(shown(run)["output"], (Json{{"letters", 5}}));
}

}  // namespace cairn::program

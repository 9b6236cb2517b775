// The client and the worker for Python, run by Python against a real server: what functions return and raise, a worker
// that is killed, a server that is killed and comes back, SIGTERM.
#include <csignal>
#include <gtest/gtest.h>

#include "tests/ops/http/api_client.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

const std::string worker_program = R"(
import asyncio, dataclasses, os, sys, time
from cairn import Again, Final, Label, Worker

worker = Worker(queues=["py"], concurrency=8, grace=1.0)

@dataclasses.dataclass
class Counted:
    letters: int

@worker.handler("py.count")
def count(settings, context):
    text = settings["text"]
    if text == "again" and context.attempt == 1:
        raise Again("Come again.", error="busy")
    if text == "again":
        assert context.failed == {"error": "busy", "message": "Come again."}, context.failed
    if text == "final":
        raise Final("Never.", error="hopeless")
    if text == "bug" and context.attempt == 1:
        return {"letters": float("nan")} if False else 1 / 0
    if text == "odd":
        return {"letters": object()}
    if text == "slow":
        time.sleep(0.3)
    if text == "hang":
        open(os.environ["HANGS"], "a").write("x")
        while not context.cancelled:
            time.sleep(0.05)
        return {}
    context.record("tool_called", tool="len", ok=True, latency_ms=0)
    return Counted(len(text))

@worker.handler("py.later", labels=["ok", "other"])
async def later(settings):
    await asyncio.sleep(0.01)
    return Label("other", {"letters": 1})

@worker.tool("py.fetch", about="fetches")
def fetch(inputs):
    return {"n": inputs["n"] + 1}

worker.run()
)";

Json graph() {
  const auto step = [](const std::string& handler, Json on) {
    return Json{{"do", handler},
                {"queue", "py"},
                {"labels", {"ok", "other"}},
                {"with", {{"text", {{"$", "text"}}}}},
                {"retry", {{"attempts", 3}, {"backoff_ms", 10}}},
                {"on", std::move(on)}};
  };
  return {{"name", "py"},
          {"start", "count"},
          {"input", {{"properties", {{"text", {{"type", "string"}}}}}}},
          {"limits", {{"steps", 20}}},
          {"channels", {{"letters", {{"reducer", "sum"}}}}},
          {"nodes",
           {{"count", step("py.count", {{"ok", "later"}, {"other", "end"}})},
            {"later", step("py.later", {{"ok", "end"}, {"other", "end"}})},
            {"end", {{"end", {{"status", "done"}, {"output", {{"letters", {{"$", "letters"}}}}}}}}}}}};
}

class PythonClient : public ::testing::Test {
 protected:
  PythonClient()
      : port_(free_port()),
        url_("CAIRN_URL", "http://127.0.0.1:" + port_),
        path_("PYTHONPATH", (std::filesystem::path(testing::source_dir()) / "workers/clients/python").string()),
        hangs_("HANGS", (directory() / "hangs").string()),
        server_(serve()) {
    cairn_ok({"graph", "add", write_file("py.json", graph().dump())});
    std::filesystem::remove(directory() / "hangs");
  }

  static std::string free_port() {
    boost::asio::io_context io;
    boost::asio::ip::tcp::acceptor any(io, {boost::asio::ip::make_address("127.0.0.1"), 0});
    return std::to_string(any.local_endpoint().port());
  }
  Beside serve() const {
    Beside server({"serve", "--json", "--listen", "127.0.0.1:" + port_});
    EXPECT_TRUE(wait_until([&] { return server.out().ends_with('\n'); }));
    return server;
  }
  static Beside worker() { return {"/usr/bin/env", {"python3", write_file("worker.py", worker_program)}}; }
  static Ran python(const std::string& program) {
    return run_program("/usr/bin/env", {"python3", write_file("client.py", program)});
  }
  static std::string start(const std::string& text) {
    return cairn_ok({"start", "py", "--input", Json{{"text", text}}.dump(), "--json"}).json().at("run");
  }
  static Json shown(const std::string& run) { return cairn_ok({"show", run, "--json"}).json(); }
  static std::size_t shown_running() {
    return cairn_ok({"runs", "--graph", "py", "--status", "running", "--json"}).lines().size();
  }
  static bool ends(const std::string& run) {
    return wait_until([&] { return !shown(run)["reason"].is_null() || shown(run)["status"] == "done"; });
  }

  const std::string port_;
  const Variable url_, path_, hangs_;
  Beside server_;
};

TEST_F(PythonClient, functions_return_raise_and_record_what_the_graph_goes_by) {
  Beside working = worker();
  const std::string good = start("hello"), again = start("again"), final = start("final"), bug = start("bug"),
                    odd = start("odd");
  for (const std::string& run : {good, again, final, bug, odd}) EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_EQ(shown(good)["output"], (Json{{"letters", 6}}));
  EXPECT_EQ(shown(again)["output"], (Json{{"letters", 6}})) << working.err();
  EXPECT_EQ(shown(bug)["status"], "done");
  for (const std::string& run : {final, odd}) EXPECT_EQ(shown(run)["status"], "failed");
  EXPECT_NE(cairn_ok({"show", final}).out.find("Never."), std::string::npos);
  EXPECT_NE(cairn_ok({"show", odd}).out.find("Expected an outcome that is JSON"), std::string::npos);
  EXPECT_NE(cairn_ok({"events", good}).out.find("tool_called"), std::string::npos);
  EXPECT_NE(cairn_ok({"workers"}).out.find("python@"), std::string::npos);
  working.signal(SIGTERM);
  EXPECT_EQ(working.wait(), 0) << working.err();
  EXPECT_EQ(cairn_ok({"workers"}).out.find("python@"), std::string::npos);
}

TEST_F(PythonClient, its_tools_execute_the_sub_goals_of_plans) {
  Beside working = worker();
  EXPECT_TRUE(wait_until([] { return cairn_ok({"workers"}).out.find("python@") != std::string::npos; }));
  const Json plan = {{"goal", "g"}, {"sub_goals", {{{"id", "a"}, {"tool", "py.fetch"}, {"inputs", {{"n", 41}}}}}}};
  const Beside rules({"work"});
  const std::string run = cairn_ok({"start", "plan_runner", "--input", plan.dump(), "--json"}).json().at("run");
  EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_EQ(shown(run)["output"]["results"]["a"], (Json{{"n", 42}})) << cairn_ok({"explain", run}).out;
}

TEST_F(PythonClient, a_server_that_is_killed_and_a_worker_that_is_killed_lose_nothing) {
  std::vector<std::string> all;
  for (int n = 0; n < 40; ++n) all.push_back(start(n % 4 == 0 ? "slow" : "word"));
  Beside first = worker();
  Beside second = worker();
  for (int n = 0; n < 3; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    server_.signal(SIGKILL);
    server_.wait();
    server_ = serve();
  }
  const Beside rules({"work"});  // it finds what the dead worker held
  first.signal(SIGKILL);
  first.wait();
  // Claims that died with a server are found some seconds later, those of the dead worker after half a minute.
  for (int patience = 0; patience < 9 && shown_running() > 0; ++patience)
    wait_until([] { return shown_running() == 0; });
  EXPECT_EQ(shown_running(), 0u) << second.err();
  for (const std::string& run : all) EXPECT_EQ(shown(run)["output"], (Json{{"letters", 5}}));
}

TEST_F(PythonClient, a_step_that_is_cancelled_hears_of_it_and_one_that_hangs_is_given_back) {
  Beside working = worker();
  const std::string cancelled = start("hang"), hanging = start("hang");
  EXPECT_TRUE(wait_until([] { return read_file(directory() / "hangs").size() == 2; }));
  cairn_ok({"cancel", cancelled});
  working.signal(SIGTERM);
  EXPECT_EQ(working.wait(), 0) << working.err();
  EXPECT_EQ(shown(hanging)["status"], "running");
  const Json step = shown(hanging)["steps"].at(0);
  EXPECT_EQ(step["attempt"], 1) << step;
}

TEST_F(PythonClient, the_client_starts_follows_answers_and_forks) {
  cairn_ok({"graph", "add", write_file("asks.json", ask_graph("py_asks"))});
  const Beside rules({"work"});
  const Ran ran = python(R"(
import json
from cairn import Client, Refused
client = Client()
run = client.start("py_asks", {}, key="one", tags={"team": "a"})
assert client.start("py_asks", {}, key="one", tags={"team": "a"}).id == run.id
types = []
for event in run.events():
    types.append(event["type"])
    if event["type"] == "question_asked":
        run.answer("north")
assert types[0] == "run_started" and types[-1] == "run_finished", types
assert run.wait()["output"]["region"] == "north"
assert run.state(at=1)["status"] in ("running", "waiting")
other = run.fork(at=2)
other.answer("south")
assert other.wait(60)["output"]["region"] == "south"
assert len(client.runs(graph="py_asks")) == 2
for wrong in (lambda: client.start("none_such"), lambda: client.run("x").state(), lambda: run.answer("late")):
    try:
        wrong()
        raise SystemExit("not refused")
    except Refused as refusal:
        assert str(refusal).startswith("Expected"), refusal
print("fine")
)");
  EXPECT_EQ(ran.out, "fine\n") << ran.err;
}

}  // namespace
}  // namespace cairn::program

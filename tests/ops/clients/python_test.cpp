// The clients and the worker for Python, run by Python against a real server: what functions return and raise, a worker
// that is killed, a server that is killed and comes back, SIGTERM; their types and unit tests.
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>

#include "tests/ops/clients/client_test.hpp"
#include "tests/ops/free_port.hpp"
#include "tests/paths.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {
namespace {

const std::string worker_in_python = R"(
import asyncio, dataclasses, os, sys, time
from cairn import Again, AsyncContext, Context, Final, Label, Worker

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
    if text == "fact":
        context.record("model_called", model="m", tokens_in="x")
    context.record("tool_called", tool="len", ok=True, latency_ms=0)
    return Counted(len(text))

@worker.handler("py.later", labels=["ok", "other"])
async def later(settings):
    await asyncio.sleep(0.01)
    return Label("other", {"letters": 1})

@dataclasses.dataclass
class Settings:
    text: str
    factor: int = 2

@worker.handler("py.typed", labels=["ok", "other"])
def typed(settings: Settings):
    return {"letters": len(settings.text) * settings.factor}

@worker.handler("py.model", labels=["ok", "other"])
def model(settings: Settings, context: Context):
    return {"letters": context.model(settings.text, schema={"type": "object"}).value["letters"]}

@worker.handler("py.later_model", labels=["ok", "other"])
async def later_model(settings: Settings, context: AsyncContext):
    return {"letters": len((await context.model(settings.text)).text)}

@worker.tool("py.fetch", about="fetches")
def fetch(inputs):
    return {"n": inputs["n"] + 1}

worker.run()
)";

class PythonClient : public ClientTest {
 protected:
  PythonClient()
      : ClientTest("py"),
        path_("PYTHONPATH", (std::filesystem::path(testing::source_dir()) / "workers/clients/python").string()) {}

  static Beside worker() { return {"/usr/bin/env", {"python3", write_file("worker.py", worker_in_python)}}; }
  static Ran python(const std::string& program) {
    return run_program("/usr/bin/env", {"python3", write_file("client.py", program)});
  }

  const Variable path_;
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

TEST_F(PythonClient, a_step_whose_fact_is_none_fails_with_the_sentence_of_the_api) {
  Beside working = worker();
  const std::string good = start("good"), bad = start("fact");
  for (const std::string& run : {good, bad}) EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_EQ(shown(good)["status"], "done") << "reported with the other one, or after it";
  EXPECT_EQ(shown(bad)["cause"]["error"], "invalid");
  EXPECT_NE(shown(bad)["cause"]["message"].get<std::string>().find("as tokens_in, but found \"x\""), std::string::npos);
}

TEST_F(PythonClient, its_tools_execute_the_sub_goals_of_plans) { expect_tools_execute_sub_goals(worker, "python"); }

TEST_F(PythonClient, a_server_that_is_killed_and_a_worker_that_is_killed_lose_nothing) {
  expect_nothing_is_lost(worker);
}

TEST_F(PythonClient, a_step_that_is_cancelled_hears_of_it_and_one_that_hangs_is_given_back) {
  Beside working = worker();
  const std::string cancelled = start("hang"), hanging = start("hang");
  EXPECT_TRUE(wait_until([&] { return hangs().size() == 2; }));
  cairn_ok({"cancel", cancelled});
  working.signal(SIGTERM);
  EXPECT_EQ(working.wait(), 0) << working.err();
  EXPECT_EQ(shown(hanging)["status"], "running");
  const Json step = shown(hanging)["steps"].at(0);
  EXPECT_EQ(step["attempt"], 1) << step;
  cairn_ok({"cancel", hanging});  // no other test's worker takes it
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
assert {row["run"] for row in client.runs(graph="py_asks")} == {run.id, other.id}
assert [len(list(client.runs(graph="py_asks", limit=n))) for n in (0, 1, 9)] == [0, 1, 2]
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

TEST_F(PythonClient, both_clients_pause_resume_reset_and_read_the_inbox) {
  cairn_ok({"graph", "add", write_file("asks.json", ask_graph("py_inbox"))});
  const Beside rules({"work"});
  const Ran ran = python(R"(
import asyncio, time
from cairn import AsyncClient, Client, Refused
client = Client()
run = client.start("py_inbox", {}, tags={"team": "inbox"})
def asked():
    return [one for one in client.questions(graph="py_inbox", tags={"team": "inbox"}) if one["run"] == run.id]
while not asked():  # it waits for a worker
    time.sleep(0.05)
assert asked()[0]["kind"] == "text" or asked()[0]["prompt"], asked()
assert run.plan() == []
assert run.explain()["reasons"]
run.pause()
assert run.state()["status"] == "paused"
run.resume()
try:
    run.retry()
    raise SystemExit("not refused")
except Refused as refusal:
    assert refusal.status == 409 and str(refusal).startswith("Expected"), refusal
again = run.reset(2)
assert again.id != run.id and run.wait(30)["status"] == "aborted"

async def main():
    async with AsyncClient() as other:
        first = await other.start("py_inbox", {}, key="async")
        assert (await other.start("py_inbox", {}, key="async")).id == first.id
        many = await other.start_many("py_inbox", [{"key": "async"}, {"input": {"other": 1}, "key": "async"}])
        assert many[0].id == first.id and many[1].code == "conflict", many
        types = []
        async for event in first.events():
            types.append(event["type"])
            if event["type"] == "question_asked":
                await first.answer("north", by="ann")
        assert types[0] == "run_started" and types[-1] == "run_finished", types
        assert (await first.wait())["output"]["region"] == "north"
        fork = await first.fork(2)
        while not [one async for one in other.questions(graph="py_inbox") if one["run"] == fork.id]:
            await asyncio.sleep(0.05)
        await fork.cancel("enough")
        assert (await fork.wait(30))["reason"] == "enough"
        states = await asyncio.gather(*(first.state() for _ in range(40)))
        assert len(states) == 40 and 0 < len(other._transport._kept) <= 16
        assert len([row async for row in other.runs(graph="py_inbox")]) == 4
asyncio.run(main())
print("fine")
)");
  EXPECT_EQ(ran.out, "fine\n") << ran.err;
}

TEST_F(PythonClient, settings_become_the_type_that_the_function_asks_for) {
  cairn_ok({"graph", "add", write_file("typed.json", counted_graph("py_typed", "py", "py.typed", "py.later").dump())});
  Beside working = worker();
  const std::string run = start("four", "py_typed");
  EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_EQ(shown(run)["output"], (Json{{"letters", 9}})) << cairn_ok({"explain", run}).out;
}

TEST_F(PythonClient, pydantic_models_come_in_go_out_and_are_the_schema_of_settings) {
  const bool has_pydantic = python("import pydantic; assert pydantic.VERSION.startswith('2.')").exit == 0;
  if (!has_pydantic) GTEST_SKIP() << "pydantic 2: the python3 of this machine has none";
  const Beside working("/usr/bin/env", {"python3", write_file("validated.py", R"(
from typing import List
from pydantic import BaseModel, Field
from cairn import Worker

worker = Worker(queues=["py"])

class Part(BaseModel):
    name: str
    weight: float = 1.0

class Settings(BaseModel):
    text: str = Field(min_length=1)
    parts: List[Part] = [Part(name="a")]

class Counted(BaseModel):
    letters: int

@worker.handler("py.validated", labels=["ok", "other"], schema=Settings)
def validated(settings: Settings):
    assert isinstance(settings.parts[0], Part)
    return Counted(letters=len(settings.text) + len(settings.parts))

worker.run()
)")});
  Json graph = counted_graph("py_validated", "py", "py.validated", "py.validated");
  cairn_ok({"graph", "add", write_file("validated.json", graph.dump())});
  const std::string good = start("four", "py_validated"), empty = start("", "py_validated");
  for (const std::string& run : {good, empty}) EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_EQ(shown(good)["output"], (Json{{"letters", 10}})) << working.err();
  EXPECT_EQ(shown(empty)["cause"]["error"], "invalid");
  EXPECT_EQ(shown(empty)["cause"]["attempt"], 1) << "it is not tried again";
  graph["nodes"]["count"]["with"] = {{"text", "x"}, {"parts", {{{"weight", 2}}}}};
  const Ran checked = cairn({"graph", "check", "--deployed", write_file("validated.json", graph.dump())});
  EXPECT_NE((checked.out + checked.err).find("the settings of py.validated: Expected \"name\""), std::string::npos)
      << checked.out << checked.err;
}

TEST_F(PythonClient, a_model_is_asked_again_after_its_pause_and_each_call_is_on_record) {
  std::atomic<int> asked = 0;
  const testing::LoopbackServer model([&asked](const auto&) {
    testing::LoopbackServer::Reply reply;
    if (++asked == 1) return reply.status = 429, reply.retry_after = "1", reply.body = "busy", reply;
    reply.body = R"({"id": "c", "model": "small", "usage": {"prompt_tokens": 1000000, "completion_tokens": 2},
      "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "{\"letters\": 4}"}}]})";
    return reply;
  });
  const Variable url("CAIRN_MODEL_URL", model.url("/v1")), name("CAIRN_MODEL", "m"), cost("CAIRN_MODEL_COST_IN", "3");
  cairn_ok(
      {"graph", "add", write_file("model.json", counted_graph("py_model", "py", "py.model", "py.later_model").dump())});
  Beside working = worker();
  const std::string run = start("four", "py_model");
  EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_EQ(shown(run)["output"], (Json{{"letters", 18}})) << cairn_ok({"explain", run}).out;
  std::vector<Json> calls;
  for (Json& event : cairn_ok({"events", run, "--json"}).lines())
    if (event["type"] == "model_called") calls.push_back(std::move(event));
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0]["ok"], false);
  EXPECT_EQ(calls[0]["error"], "refused");
  EXPECT_EQ(calls[1]["node"], "count");
  EXPECT_EQ(calls[1]["request"]["messages"], (Json{{{"role", "user"}, {"content", "four"}}}));
  EXPECT_EQ(calls[1]["request"]["schema"], (Json{{"type", "object"}}));
  for (const Json& call : {calls[1], calls[2]})
    for (const char* field : {"model", "reply", "tokens_in", "tokens_out", "cost", "latency_ms", "finish_reason"})
      EXPECT_TRUE(call.contains(field)) << field << " in " << call;
  EXPECT_EQ(model.requests()[0]["idempotency-key"], model.requests()[1]["idempotency-key"]);
  EXPECT_NE(model.requests()[1]["idempotency-key"], model.requests()[2]["idempotency-key"]);
  const Json report = cairn_ok({"report", "--graph", "py_model", "--json"}).json();
  EXPECT_NE(report.dump().find("\"cost\":6.0"), std::string::npos) << report;
}

TEST_F(PythonClient, a_worker_with_a_wrong_token_ends_with_one_sentence) {
  const Variable token("CAIRN_TOKEN", "the right token of this server");
  const std::string port = free_port();
  Beside guarded({"serve", "--json", "--listen", "127.0.0.1:" + port});
  EXPECT_TRUE(wait_until([&] { return guarded.out().ends_with('\n'); }));
  const std::string at = "\"http://127.0.0.1:" + port + "\", token=\"wrong\"";
  const Ran worker = python("from cairn import Worker\nWorker(" + at + ").run()\n");
  EXPECT_EQ(worker.exit, 1);
  EXPECT_NE(worker.err.find("Refused: Expected the token as Authorization"), std::string::npos) << worker.err;
  const Ran client = python("from cairn import Client\nClient(" + at + ").start(\"py\")\n");
  EXPECT_NE(client.err.find("Refused: Expected the token as Authorization"), std::string::npos) << client.err;
}

TEST_F(PythonClient, a_function_that_hears_nothing_does_not_keep_the_worker_from_ending) {
  Beside working("/usr/bin/env", {"python3", write_file("deaf.py", R"(
import os, time
from cairn import Worker
worker = Worker(queues=["py"], grace=0.5)
@worker.handler("py.count", labels=["ok", "other"])
def count(settings):
    open(os.environ["HANGS"], "a").write("x")
    time.sleep(600)
worker.run()
)")});
  const std::string run = start("word");
  EXPECT_TRUE(wait_until([&] { return hangs().size() == 1; })) << working.err();
  working.signal(SIGTERM);
  ASSERT_TRUE(wait_until([&working] { return working.has_ended(); })) << working.err();
  EXPECT_EQ(working.wait(), 0) << working.err();
  EXPECT_EQ(shown(run)["steps"].at(0)["attempt"], 1);
}

TEST(Python, its_unit_tests_hold) {
  const auto root = std::filesystem::path(testing::source_dir());
  const Variable path("PYTHONPATH", (root / "workers/clients/python").string()), pure("PYTHONDONTWRITEBYTECODE", "1");
  const Ran ran = run_program("/usr/bin/env", {"python3", "-m", "unittest", "discover", "-p", "*_test.py", "-s",
                                               (root / "tests/ops/clients/python").string()});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(ran.err.ends_with("OK\n")) << ran.err;
}

const std::string tests_in_python = R"(
import pytest
from cairn import Refused, Worker
from cairn.testing import TestServer

GRAPH = {"name": "counted", "start": "rest", "limits": {"steps": 20}, "channels": {"n": {"reducer": "sum"}},
         "nodes": {"rest": {"wait": {"ms": 86400000}, "on": {"fired": "one"}},
                   "one": {"do": "py.add", "queue": "py", "labels": ["ok"], "on": {"ok": "two"}},
                   "two": {"do": "py.add", "queue": "py", "labels": ["ok"], "on": {"ok": "end"}},
                   "end": {"end": {"status": "done", "output": {"n": "$n"}}}}}

def worker_of(function):
    worker = Worker(queues=["py"], concurrency=4)
    worker.handler("py.add")(function)
    return worker

def test_a_day_passes(cairn):
    cairn.add_graph(GRAPH)
    ended = cairn.execute("counted", {}, worker_of(lambda settings: {"n": 1}))
    assert ended["output"] == {"n": 2}
    assert ended["updated_at"][:10] > ended["started_at"][:10]
    assert cairn.client.run(ended["run"]).state(at=1)["status"] == "waiting"

def test_each_test_has_a_server_of_its_own(cairn):
    with pytest.raises(Refused):
        cairn.client.start("counted")

def test_time_can_be_skipped(cairn):
    cairn.add_graph(GRAPH)
    run = cairn.client.start("counted")
    with cairn.working(worker_of(lambda settings: {"n": 1})):
        cairn.skip(86400)
        assert run.wait(30)["output"] == {"n": 2}

def test_a_worker_that_bears_crashes(cairn):
    cairn.add_graph(GRAPH)
    assert cairn.crash_everywhere("counted", {}, worker_of(lambda settings: {"n": 1})) == 2

def test_a_worker_that_does_not(cairn):
    cairn.add_graph(GRAPH)
    effects = set()
    def add(settings, context):
        is_second = (context.run, context.step) in effects  # it was there before it crashed
        effects.add((context.run, context.step))
        return {"n": 10 if is_second else 1}
    with pytest.raises(AssertionError, match="after a crash at step 1, but found done with {'n': 11}"):
        cairn.crash_everywhere("counted", {}, worker_of(add))
    seen = []
    assert cairn.crash_everywhere("counted", {}, worker_of(add), check=lambda state: seen.append(state["output"])) == 2
    assert seen == [{"n": 11}, {"n": 11}]
)";

TEST(Python, unit_tests_have_the_real_engine_with_virtual_time_and_crashes) {
  const Variable path("PYTHONPATH", (std::filesystem::path(testing::source_dir()) / "workers/clients/python").string());
  const Variable program("CAIRN_PROGRAM", testing::cairn_program()), pure("PYTHONDONTWRITEBYTECODE", "1");
  const std::string file = write_file("test_counted.py", tests_in_python).string();
  const Ran ran = run_program("/usr/bin/python3",
                              {"-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "cairn.pytest_plugin", file});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("5 passed"), std::string::npos) << ran.out;
}

TEST(Python, pytest_finds_the_fixture_of_an_installed_wheel_by_itself) {
  const std::string install = R"(set -e
"$1/pack" "$2/dist"
/usr/bin/python3 -m venv --system-site-packages --without-pip "$2/venv"
/usr/bin/python3 -m zipfile -e "$2"/dist/*.whl "$2"/venv/lib/python3*/site-packages
)";
  const auto client = std::filesystem::path(testing::source_dir()) / "workers/clients/python";
  const std::filesystem::path place = directory() / "wheel";
  std::filesystem::create_directories(place);
  const Ran installed = run_program("/bin/sh", {write_file("wheel.sh", install), client, place});
  ASSERT_EQ(installed.exit, 0) << installed.out << installed.err;
  const Variable path("PYTHONPATH", ""), program("CAIRN_PROGRAM", testing::cairn_program());
  const Variable pure("PYTHONDONTWRITEBYTECODE", "1");
  const std::string file = write_file("test_installed.py", tests_in_python).string();
  const Ran ran = run_program(place / "venv/bin/python", {"-m", "pytest", "-q", "-p", "no:cacheprovider", file});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("5 passed"), std::string::npos) << ran.out;
}

TEST(Python, its_types_hold_by_mypy_strict_for_python_3_9) {
  const auto root = std::filesystem::path(testing::source_dir());
  const Variable cache("MYPY_CACHE_DIR", (directory() / "mypy").string());
  const Ran ran =
      run_program("/usr/bin/env", {"mypy", "--strict", "--python-version", "3.9", root / "workers/clients/python/cairn",
                                   root / "workers/clients/python/packing.py", root / "tests/ops/clients/python"});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

}  // namespace
}  // namespace cairn::program

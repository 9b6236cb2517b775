// The client and the worker for TypeScript, packed as npm would have them and run by Node against a real server: what
// functions return and throw, a worker that is killed, a server that is killed and comes back, SIGTERM, types.
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>

#include "tests/ops/clients/client_test.hpp"
#include "tests/ops/clients/odd_server.hpp"
#include "tests/paths.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

const std::string worker_in_typescript = R"(
import { appendFileSync } from "node:fs";
import { Again, Final, label, Worker } from "cairn-client";

const worker = new Worker({ queues: ["ts"], concurrency: 8, graceMs: 1000 });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

worker.handler("ts.count", async (settings, context) => {
  const text = settings.text;
  if (text === "again" && context.attempt === 1) throw new Again("Come again.", { error: "busy" });
  if (text === "again" && context.failed?.message !== "Come again.") throw new Final("It does not know why.");
  if (text === "final") throw new Final("Never.", { error: "hopeless" });
  if (text === "bug" && context.attempt === 1) return context.none.at(0);
  if (text === "odd") return { letters: 0 / 0 };
  if (text === "fact") context.record("no_such_fact");
  if (text === "number") return 5;
  if (text === "lost") return { letters: new Map() };
  if (text === "long") await pause(60_000);
  if (text === "slow") await pause(300);
  if (text === "hang") {
    appendFileSync(process.env.HANGS, "x");
    context.progress("It hangs.");
    await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
    appendFileSync(process.env.HANGS, "y");
    return {};
  }
  context.record("tool_called", { tool: "length", ok: true, latency_ms: 0 });
  return { letters: text.length };
});
worker.handler("ts.later", { labels: ["ok", "other"] }, () => label("other", { letters: 1 }));
worker.handler("ts.model", { labels: ["ok", "other"] }, async (settings, context) => {
  const reply = await context.model(settings.text, { schema: { type: "object" } });
  return { letters: reply.value.letters };
});
worker.tool("ts.fetch", { about: "fetches" }, (inputs) => ({ n: inputs.n + 1 }));

await worker.run();
)";

const std::string client_program = R"(
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Client, Refused } from "cairn-client";
const client = new Client();
const graph = JSON.parse(readFileSync(process.env.GRAPH, "utf8"));
const name = graph.name;
assert.match(await client.addGraph(graph), /^[0-9a-f]{64}$/);
const run = await client.start(name, {}, { key: "one", tags: { team: "a" } });
assert.equal((await client.start(name, {}, { key: "one", tags: { team: "a" } })).id, run.id);
const starts = [{ input: {}, key: "one", tags: { team: "a" } }, { input: { other: 1 }, key: "one" }];
const [same, refused] = await client.startMany(name, starts);
assert.equal(same.id, run.id);
assert.ok(refused instanceof Refused && refused.code === "conflict" && refused.status === 409);
const types = [];
for await (const event of run.events()) {
  types.push(event.type);
  if (event.type === "question_asked") await run.answer("north");
}
assert.equal(types[0], "run_started");
assert.equal(types.at(-1), "run_finished");
const rest = [];
for await (const event of run.events({ after: types.length - 1 })) rest.push(event.type);
assert.deepEqual(rest, ["run_finished"]);
assert.equal((await run.wait()).output.region, "north");
assert.ok(["running", "waiting"].includes((await run.state({ at: 1 })).status));
assert.equal((await run.explain()).status, "done");
const other = await run.fork(2);
await other.answer("south");
assert.equal((await other.wait({ timeoutMs: 60_000 })).output.region, "south");
assert.equal((await client.runs({ graph: name, tag: "team=a" })).length, 2);
const listed = [];
for await (const row of client.eachRun({ graph: name, tag: "team=a" })) listed.push(row.run);
assert.deepEqual(new Set(listed), new Set([run.id, other.id]));
assert.deepEqual(await run.plan(), []);
assert.deepEqual(await run.plan({ at: 1 }), []);
assert.equal((await run.diff(run)).same, true);
assert.equal((await run.diff(other)).same, false);
await assert.rejects(run.retry(), (refusal) => refusal instanceof Refused && refusal.status === 409);
const again = await other.reset(2);
assert.notEqual(again.id, other.id);
await again.pause("it moves");
assert.equal((await again.state()).status, "paused");
await again.resume("it is back");
const asked = async () => {
  for await (const one of client.questions({ graph: name })) if (one.run === again.id) return one.question;
};
let question;
while ((question = await asked()) === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
await again.answer("east", question, "ann");
assert.equal((await again.wait({ timeoutMs: 60_000 })).output.region, "east");
const third = await client.start(name, {});
assert.equal((await third.signal("none", 1)), undefined);
await assert.rejects(third.wait({ signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
await third.cancel("not needed");
assert.equal((await third.wait()).status, "aborted");
for (const wrong of [() => client.start("none_such", {}), () => client.run("x").state(), () => run.answer("late")])
  await assert.rejects(wrong, (refusal) => refusal instanceof Refused && refusal.message.startsWith("Expected"));
assert.throws(() => new Client({ url: "nowhere" }), /Expected an http or https URL, but found "nowhere"/);
console.log("fine");
)";

// Compiled and packed by workers/clients/typescript/pack.
fs::path package_folder() { return fs::path(testing::source_dir()) / "build/typescript"; }

// A folder of a program's own, with the packed client as npm would install it.
fs::path install_package() {
  const fs::path place = directory() / "ts";
  if (fs::exists(place)) return place;
  fs::create_directories(place / "node_modules");
  const std::string unpack = R"(set -e
tar -xzf "$1"/cairn-client-*.tgz -C "$2"
mv "$2/package" "$2/cairn-client"
)";
  const Ran ran = run_program("/bin/sh", {write_file("unpack.sh", unpack), package_folder(), place / "node_modules"});
  EXPECT_EQ(ran.exit, 0) << "Expected the client as workers/clients/typescript/pack packs it, but: " << ran.err;
  return place;
}

fs::path in_place(const std::string& name, const std::string& text) {
  install_package();
  return write_file("ts/" + name, text);
}

// The words for env(1) that run a program in a runtime: node is the system's, the others are those that ops/npm brings.
Arguments started_by(const std::string& runtime, const fs::path& program) {
  if (runtime == "node") return {"node", program};
  const fs::path folder = fs::path(testing::source_dir()) / "build/runtimes/node_modules";
  for (const char* bun : {"@oven/bun-linux-x64-baseline/bin/bun", "@oven/bun-linux-aarch64/bin/bun"})
    if (runtime == "bun" && fs::exists(folder / bun)) return {folder / bun, program};
  for (const char* deno : {"@deno/linux-x64-glibc/deno", "@deno/linux-arm64-glibc/deno"})
    if (runtime == "deno" && fs::exists(folder / deno))
      return {"DENO_NO_UPDATE_CHECK=1", folder / deno, "run", "-A", "--node-modules-dir=manual", program};
  ADD_FAILURE() << "Expected " << runtime << " in " << folder << " (ops/npm brings it), but it is not there.";
  return {"false"};
}

class TypeScriptClient : public ClientTest {
 protected:
  TypeScriptClient() : ClientTest("ts") {}

  static Beside worker(const std::string& runtime) {
    return {"/usr/bin/env", started_by(runtime, in_place("worker.mjs", worker_in_typescript))};
  }
  static Beside worker() { return worker("node"); }
};

const std::string repeating_program = R"(
import assert from "node:assert/strict";
import { Client, Unavailable } from "cairn-client";
const [how, url] = process.argv.slice(2);
const client = new Client({ url });
if (how === "start") assert.equal((await client.start("g", {})).id, "r");
if (how === "signal") await client.run("r").signal("go");
if (how === "fork")
  await assert.rejects(client.run("r").fork(1), (thrown) =>
    thrown instanceof Unavailable && /may have arrived/.test(thrown.message));
)";

TEST(TypeScriptRules, what_may_have_arrived_goes_again_only_if_that_changes_nothing) {
  const auto ask = [](const std::string& how, const OddServer& server) {
    const Ran ran = run_program("/usr/bin/env", {"node", in_place("repeating.mjs", repeating_program), how,
                                                 "http://127.0.0.1:" + server.port()});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return server.noted();
  };
  for (const auto& [how, field] : {std::pair("start", "key"), std::pair("signal", "id")}) {
    const std::vector<OddServer::Noted> noted = ask(how, OddServer("cut", 1));
    ASSERT_EQ(noted.size(), 2u) << how;
    EXPECT_TRUE(noted[0].body[field].is_string()) << how;
    EXPECT_EQ(noted[0].body, noted[1].body) << how;
  }
  EXPECT_EQ(ask("fork", OddServer("cut", 1)).size(), 1u);
  EXPECT_EQ(ask("start", OddServer("busy", 1)).size(), 2u);
}

void expect_passed(const std::string& name, int count) {
  const fs::path tests = fs::path(testing::source_dir()) / "tests/ops/clients/typescript" / name;
  const Ran ran = run_program("/usr/bin/env", {"node", "--test", in_place(name, read_file(tests))});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("pass " + std::to_string(count)), std::string::npos) << ran.out;
}

TEST(TypeScriptRules, its_tests_at_a_server_that_breaks_refuses_and_forgets_hold) {
  expect_passed("rules.test.mjs", 33);
}

TEST(TypeScriptRules, its_tests_at_a_model_hold) { expect_passed("model.test.mjs", 13); }

TEST_F(TypeScriptClient, a_model_is_asked_again_after_its_pause_and_each_call_is_on_record) {
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
      {"graph", "add", write_file("ts_model.json", counted_graph("ts_model", "ts", "ts.model", "ts.later").dump())});
  Beside working = worker();
  const std::string run = start("four", "ts_model");
  EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_EQ(shown(run)["output"], (Json{{"letters", 5}})) << cairn_ok({"explain", run}).out;
  std::vector<Json> calls;
  for (Json& event : cairn_ok({"events", run, "--json"}).lines())
    if (event["type"] == "model_called") calls.push_back(std::move(event));
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]["ok"], false);
  EXPECT_EQ(calls[0]["error"], "refused");
  EXPECT_EQ(calls[1]["request"]["messages"], (Json{{{"role", "user"}, {"content", "four"}}}));
  EXPECT_EQ(calls[1]["request"]["schema"], (Json{{"type", "object"}}));
  for (const char* field : {"node", "model", "reply", "tokens_in", "tokens_out", "cost", "latency_ms", "finish_reason"})
    EXPECT_TRUE(calls[1].contains(field)) << field << " in " << calls[1];
  const Json report = cairn_ok({"report", "--graph", "ts_model", "--json"}).json();
  EXPECT_NE(report.dump().find("\"cost\":3.0"), std::string::npos) << report;
}

TEST_F(TypeScriptClient, functions_return_throw_and_record_what_the_graph_goes_by) {
  Beside working = worker();
  const std::string good = start("hello"), again = start("again"), bug = start("bug");
  for (const std::string& run : {good, again, bug}) EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_EQ(shown(good)["output"], (Json{{"letters", 6}}));
  EXPECT_EQ(shown(again)["output"], (Json{{"letters", 6}})) << working.err();
  EXPECT_EQ(shown(bug)["status"], "done");
  EXPECT_NE(working.err().find("A step failed: TypeError"), std::string::npos) << working.err();
  EXPECT_NE(cairn_ok({"events", good}).out.find("tool_called"), std::string::npos);
  EXPECT_NE(cairn_ok({"workers"}).out.find("typescript@"), std::string::npos);
  working.signal(SIGTERM);
  EXPECT_EQ(working.wait(), 0) << working.err();
  EXPECT_EQ(cairn_ok({"workers"}).out.find("typescript@"), std::string::npos);
}

TEST_F(TypeScriptClient, an_outcome_that_is_none_fails_the_attempt_with_a_sentence) {
  const Beside working = worker();
  const std::pair<const char*, const char*> cases[] = {
      {"final", "Never."},
      {"odd", "Expected an outcome that is JSON, but: letters is"},
      {"lost", "Expected an outcome that is JSON, but: letters is [object Map]"},
      {"number", "Expected an object as the outcome, but it is 5."},
  };
  for (const auto& [text, says] : cases) {
    const std::string run = start(text);
    EXPECT_TRUE(ends(run)) << working.err();
    EXPECT_EQ(shown(run)["status"], "failed") << text;
    EXPECT_NE(cairn_ok({"show", run}).out.find(says), std::string::npos) << cairn_ok({"show", run}).out;
  }
}

TEST_F(TypeScriptClient, its_tools_execute_the_sub_goals_of_plans) {
  expect_tools_execute_sub_goals([] { return worker(); }, "typescript");
}

TEST_F(TypeScriptClient, a_server_that_is_killed_and_a_worker_that_is_killed_lose_nothing) {
  expect_nothing_is_lost([] { return worker(); });
}

TEST_F(TypeScriptClient, a_step_that_is_cancelled_hears_of_it_and_one_that_hangs_is_given_back) {
  Beside working = worker();
  const std::string cancelled = start("hang");
  EXPECT_TRUE(wait_until([&] { return hangs() == "x"; })) << working.err();
  EXPECT_TRUE(wait_until([&] { return !shown(cancelled).value("progress", Json::array()).empty(); }));
  EXPECT_EQ(shown(cancelled)["progress"].at(0)["text"], "It hangs.");
  cairn_ok({"cancel", cancelled});
  EXPECT_TRUE(wait_until([&] { return hangs() == "xy"; })) << "its signal is aborted: " << working.err();
  const std::string hanging = start("hang");
  EXPECT_TRUE(wait_until([&] { return hangs() == "xyx"; })) << working.err();
  working.signal(SIGTERM);
  EXPECT_EQ(working.wait(), 0) << working.err();
  EXPECT_EQ(shown(hanging)["status"], "running");
  const Json step = shown(hanging)["steps"].at(0);
  EXPECT_EQ(step["attempt"], 1) << step;
  cairn_ok({"cancel", hanging});  // no other test's worker takes it
}

TEST_F(TypeScriptClient, a_worker_stops_in_time_while_its_server_is_away) {
  const std::string run = start("hang");
  Beside working = worker();
  EXPECT_TRUE(wait_until([&] { return hangs() == "x"; })) << working.err();
  kill_server();
  const auto before = std::chrono::steady_clock::now();
  working.signal(SIGTERM);
  EXPECT_EQ(working.wait(), 0) << working.err();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10)) << "grace, last reports, close: 5 s";
  EXPECT_EQ(hangs(), "xy");
  EXPECT_NE(working.err().find("Expected to close the session"), std::string::npos) << working.err();
  EXPECT_EQ(shown(run)["status"], "running");
  cairn_ok({"cancel", run});
}

TEST_F(TypeScriptClient, a_step_whose_time_is_over_fails_as_a_timeout) {
  Json graph_with_little_time = counted_graph("ts", "ts", "ts.count", "ts.later");
  graph_with_little_time["nodes"]["count"]["timeout_ms"] = 300;
  graph_with_little_time["nodes"]["count"]["retry"]["attempts"] = 1;
  cairn_ok({"graph", "add", write_file("ts_timeout.json", graph_with_little_time.dump())});
  const Beside working = worker();
  const std::string run = start("long");
  EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_NE(cairn_ok({"show", run}).out.find("Expected an outcome in time."), std::string::npos)
      << cairn_ok({"show", run}).out;
}

TEST_F(TypeScriptClient, the_client_starts_follows_answers_and_forks) {
  const Beside rules({"work"});
  const Variable asks("GRAPH", write_file("ts_asks.json", ask_graph("ts_asks")).string());
  const Ran ran = run_program("/usr/bin/env", started_by("node", in_place("client.mjs", client_program)));
  EXPECT_EQ(ran.out, "fine\n") << ran.err;
}

class TypeScriptRuntime : public TypeScriptClient, public ::testing::WithParamInterface<std::string> {};

TEST_P(TypeScriptRuntime, runs_the_worker_and_the_client_as_node_does) {
  Beside working = worker(GetParam());
  const std::string good = start("hello"), again = start("again"), odd = start("odd"), hanging = start("hang");
  for (const std::string& run : {good, again, odd}) EXPECT_TRUE(ends(run)) << working.err();
  EXPECT_EQ(shown(good)["output"], (Json{{"letters", 6}}));
  EXPECT_EQ(shown(again)["output"], (Json{{"letters", 6}})) << working.err();
  EXPECT_EQ(shown(odd)["status"], "failed");
  EXPECT_TRUE(wait_until([&] { return hangs() == "x"; })) << working.err();
  working.signal(SIGTERM);
  EXPECT_EQ(working.wait(), 0) << working.err();
  EXPECT_EQ(hangs(), "xy") << "its signal is aborted after the grace";
  EXPECT_EQ(shown(hanging)["status"], "running");
  cairn_ok({"cancel", hanging});
  const Beside rules({"work"});
  const std::string name = "ts_" + GetParam();
  const Variable asks("GRAPH", write_file(name + ".json", ask_graph(name)).string());
  const Ran ran = run_program("/usr/bin/env", started_by(GetParam(), in_place("client.mjs", client_program)));
  EXPECT_EQ(ran.out, "fine\n") << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Runtimes, TypeScriptRuntime, ::testing::Values("bun", "deno"),
                         [](const auto& runtime) { return runtime.param; });

TEST_F(TypeScriptClient, a_report_that_the_api_refuses_does_not_keep_the_others_from_being_taken) {
  std::vector<std::string> good, bad;
  for (int n = 0; n < 8; ++n) (n % 4 == 0 ? bad : good).push_back(start(n % 4 == 0 ? "fact" : "word"));
  const Beside working = worker();  // takes them all at once
  for (const std::vector<std::string>& runs : {good, bad})
    for (const std::string& run : runs) EXPECT_TRUE(ends(run)) << working.err();
  for (const std::string& run : good) {
    EXPECT_EQ(shown(run)["output"], (Json{{"letters", 5}}));
    EXPECT_EQ(cairn_ok({"events", run}).out.find("step_failed"), std::string::npos) << cairn_ok({"events", run}).out;
  }
  for (const std::string& run : bad) {
    EXPECT_EQ(shown(run)["status"], "failed");
    EXPECT_NE(cairn_ok({"show", run}).out.find("Expected a fact that a handler may record"), std::string::npos);
  }
}

TEST_F(TypeScriptClient, a_stream_of_events_goes_on_when_its_server_is_killed_and_comes_back) {
  cairn_ok({"graph", "add", write_file("ts_stream.json", ask_graph("ts_stream"))});
  const std::string run = cairn_ok({"start", "ts_stream", "--json"}).json().at("run");
  const Beside rules({"work"});
  const std::string program = R"(
import { Client } from "cairn-client";
for await (const event of new Client().run(process.env.RUN).events()) console.log(event.seq);
)";
  const Variable id("RUN", run);
  Beside following("/usr/bin/env", started_by("node", in_place("follow.mjs", program)));
  EXPECT_TRUE(wait_until([&] { return following.out().ends_with('\n'); })) << following.err();
  kill_server();
  cairn_ok({"answer", run, "--value", R"("north")"});
  bring_server_back();
  EXPECT_EQ(following.wait(), 0) << following.err();
  std::string all;
  for (const Json& event : cairn_ok({"events", run, "--json"}).lines()) all += event["seq"].dump() + "\n";
  EXPECT_EQ(following.out(), all);
}

TEST_F(TypeScriptClient, a_graphs_schemas_type_its_runs_and_strict_typescript_takes_them) {
  Json typed = counted_graph("ts", "ts", "ts.count", "ts.later");
  typed["name"] = "score_text";
  typed["input"] = {{"properties", {{"text", {{"type", "string"}}}}}, {"required", {"text"}}};
  cairn_ok({"graph", "add", write_file("score_text.json", typed.dump())});
  const std::string program = (package_folder() / "dist/cairn_types.js").string();
  const Ran help = run_program("/usr/bin/env", {"node", program, "--help"});
  EXPECT_TRUE(help.exit == 0 && help.out.starts_with("usage: cairn-types GRAPH...\n")) << help.out << help.err;
  const Ran types = run_program("/usr/bin/env", {"node", program, "score_text"});  // as the server has it
  EXPECT_EQ(types.exit, 0) << types.err;
  typed["output"] = {{"properties", {{"letters", {{"type", "integer"}}}}}, {"required", {"letters"}}};
  const Ran with_output =
      run_program("/usr/bin/env", {"node", program, write_file("score_text.json", typed.dump()).string()});
  EXPECT_NE(types.out.find("export interface ScoreTextInput {\n  text: string;\n}"), std::string::npos) << types.out;
  in_place("graphs.mts", with_output.out);
  const fs::path user = in_place("user.mts", R"(
import { Again, Client, label, Worker } from "cairn-client";
import type { ScoreTextInput, ScoreTextOutput } from "./graphs.mjs";

const run = await new Client().start<ScoreTextInput, ScoreTextOutput>("score_text", { text: "four" });
export const letters: number | undefined = (await run.wait({ timeoutMs: 1000 })).output?.letters;
// @ts-expect-error: the graph takes a text
await new Client().start<ScoreTextInput, ScoreTextOutput>("score_text", { text: 4 });
// @ts-expect-error: it gives letters
(await run.wait()).output?.words;
for await (const event of run.events()) if (event.type === "step_failed") event.error satisfies string;
// @ts-expect-error: not every event has an error
for await (const event of run.events()) event.error;

const worker = new Worker({ queues: ["ts"], concurrency: 16 });
worker.handler<{ text: string }>("ts.count", async ({ text }, context) => {
  if (context.attempt === 1) throw new Again("It is busy.", { retryMs: 100 });
  return text === "" ? label("again") : { letters: text.length };
});
worker.tool<{ n: number }>("ts.crawl", { about: "crawls" }, (inputs) => ({ n: inputs.n }));
// @ts-expect-error: an outcome is an object
worker.handler("ts.wrong", () => 5);
await worker.run();
)");
  const std::string compiler = (package_folder() / "node_modules/typescript/bin/tsc").string();
  const Ran checked = run_program("/usr/bin/env", {"node", compiler, "--noEmit", "--strict", "--target", "ES2022",
                                                   "--module", "NodeNext", user.string()});
  EXPECT_EQ(checked.exit, 0) << checked.out;
  const Ran wrong = run_program("/usr/bin/env", {"node", program, "none_such"});
  EXPECT_EQ(wrong.exit, 1);
  EXPECT_TRUE(wrong.err.starts_with("cairn-types: Expected a graph named none_such")) << wrong.err;
}

// The parts of each side's schema have the same names.
std::string graph_of_places(const std::string& name, const std::string& of_input, const std::string& of_output) {
  const auto side = [](const std::string& field) {
    return Json{
        {"properties",
         {{"at", {{"$ref", "#/$defs/place"}}},
          {"pair",
           {{"prefixItems", {{{"type", "string"}}, {{"type", "number"}}}}, {"items", false}, {"minItems", 2}}}}},
        {"required", {"at", "pair"}},
        {"$defs",
         {{"place", {{"type", "object"}, {"properties", {{field, {{"type", "number"}}}}}, {"required", {field}}}}}}};
  };
  return Json{{"name", name}, {"input", side(of_input)}, {"output", side(of_output)}}.dump();
}

TEST_F(TypeScriptClient, types_of_both_sides_of_two_graphs_are_kept_apart_and_tuples_are_tuples) {
  const std::string program = (package_folder() / "dist/cairn_types.js").string();
  const std::string near = write_file("near.json", graph_of_places("near", "x", "y")).string();
  const std::string far = write_file("far.json", graph_of_places("far", "z", "t")).string();
  const Ran types = run_program("/usr/bin/env", {"node", program, near, far});
  EXPECT_EQ(types.exit, 0) << types.err;
  in_place("places.mts", types.out);
  const fs::path user = in_place("places_user.mts", R"(
import type { FarInput, FarOutput, NearInput, NearOutput } from "./places.mjs";

export const right: [NearInput, NearOutput, FarInput, FarOutput] = [
  { at: { x: 1 }, pair: ["a", 1] }, { at: { y: 1 }, pair: ["a", 1] },
  { at: { z: 1 }, pair: ["a", 1] }, { at: { t: 1 }, pair: ["a", 1] },
];
// @ts-expect-error: the place of another side
export const place: NearInput = { at: { x: 1, y: 1 }, pair: ["a", 1] };
// @ts-expect-error: the second is a number
export const pair: NearInput = { at: { x: 1 }, pair: ["a", "b"] };
// @ts-expect-error: there are two
export const three: NearInput = { at: { x: 1 }, pair: ["a", 1, 2] };
)");
  const std::string compiler = (package_folder() / "node_modules/typescript/bin/tsc").string();
  const Ran checked = run_program("/usr/bin/env", {"node", compiler, "--noEmit", "--strict", "--target", "ES2022",
                                                   "--module", "NodeNext", user.string()});
  EXPECT_EQ(checked.exit, 0) << checked.out << types.out;
  const std::string other = write_file("same.json", graph_of_places("-near", "x", "y")).string();
  const Ran same = run_program("/usr/bin/env", {"node", program, near, other});
  EXPECT_EQ(same.exit, 1);
  EXPECT_NE(same.err.find("whose types have different names, but near and -near are Near."), std::string::npos)
      << same.err;
}

const std::string tests_in_typescript = R"(
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Final, Refused, Worker } from "cairn-client";
import { TestServer } from "cairn-client/testing";

const graph = {
  name: "counted", start: "rest", limits: { steps: 20 }, channels: { n: { reducer: "sum" } },
  nodes: {
    rest: { wait: { ms: 86_400_000 }, on: { fired: "one" } },
    one: { do: "ts.add", queue: "ts", labels: ["ok"], on: { ok: "two" } },
    two: { do: "ts.add", queue: "ts", labels: ["ok"], on: { ok: "end" } },
    end: { end: { status: "done", output: { n: "$n" } } },
  },
};

function workerOf(add) {
  const worker = new Worker({ queues: ["ts"], concurrency: 4 });
  worker.handler("ts.add", add);
  return worker;
}

let server;
before(async () => {
  server = await TestServer.start();
  await server.addGraph(graph);
});
after(() => server.close());

test("a day passes", async () => {
  const state = await server.execute("counted", {}, workerOf(() => ({ n: 1 })));
  assert.deepEqual(state.output, { n: 2 });
  assert.ok(state.updated_at.slice(0, 10) > state.started_at.slice(0, 10));
  assert.equal((await server.client.run(state.run).state({ at: 1 })).status, "waiting");
});

test("a server has a store of its own", async () => {
  const other = await TestServer.start();
  await assert.rejects(other.client.start("counted", {}), Refused);
  await other.close();
});

test("time can be skipped", async () => {
  const run = await server.client.start("counted", {});
  await server.working([workerOf(() => ({ n: 1 }))], async () => {
    await server.skip(86_400_000);
    assert.deepEqual((await run.wait({ timeoutMs: 30_000 })).output, { n: 2 });
  });
});

test("a worker that bears crashes", async () => {
  assert.equal(await server.crashEverywhere("counted", {}, workerOf(() => ({ n: 1 }))), 2);
});

test("a worker that does not", async () => {
  const effects = new Set();
  const add = (settings, context) => {
    const effect = `${context.run}/${context.step}`;
    const isSecond = effects.has(effect); // it was there before it crashed
    effects.add(effect);
    return { n: isSecond ? 10 : 1 };
  };
  await assert.rejects(server.crashEverywhere("counted", {}, workerOf(add)),
    /Expected done with {"n":2} after a crash at step 1, but found done with {"n":11}/);
  const seen = [];
  const check = (state) => seen.push(state.output);
  assert.equal(await server.crashEverywhere("counted", {}, workerOf(add), { check }), 2);
  assert.deepEqual(seen, [{ n: 11 }, { n: 11 }]);
});

test("a failure counts as one with and without a crash", async () => {
  const fail = () => { throw new Final("Never."); };
  assert.equal(await server.crashEverywhere("counted", {}, workerOf(fail)), 1);
});

test("a program that is not there is named", async () => {
  await assert.rejects(TestServer.start({ program: "/no/such/cairn" }), /Expected the program \/no\/such\/cairn, but/);
});
)";

TEST(TypeScriptTesting, unit_tests_have_the_real_engine_with_virtual_time_and_crashes) {
  const Variable program("CAIRN_PROGRAM", testing::cairn_program());
  const Ran ran = run_program("/usr/bin/env", {"node", "--test", in_place("counted.test.mjs", tests_in_typescript)});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("pass 7"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace cairn::program

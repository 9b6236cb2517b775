#include <cairn/engine.hpp>
#include <cmath>
#include <fstream>
#include <future>
#include <iostream>

namespace {

int faults = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++faults;
  std::cerr << "Expected that " << what << ".\n";
}

cairn::Handlers handlers_that_fail_at_first(int& calls) {
  cairn::Handlers handlers;
  handlers.add("letters.count", [&calls](const cairn::Step& step) {
    ++calls;
    if (step.attempt == 1) throw cairn::Again("It is busy.", "busy");
    return cairn::Json{{"letters", step.input.at("text").get<std::string>().size()}};
  });
  return handlers;
}

// A day passes in a moment, and a person's answer goes into the next step.
const cairn::Json patient = cairn::Json::parse(R"({
  "name": "patient", "start": "night", "limits": { "steps": 9 }, "channels": { "said": { "reducer": "last" } },
  "nodes": {
    "night": { "wait": { "ms": 86400000 }, "on": { "fired": "ask" } },
    "ask": { "ask": { "prompt": "Which word?" }, "into": "said", "on": { "answered": "done", "expired": "done" } },
    "done": { "end": { "status": "done", "output": { "$": "said" } } } } })");

void test_engine(const cairn::Json& graph) {
  int calls = 0;
  cairn::Engine engine(handlers_that_fail_at_first(calls));
  const cairn::Json ended = engine.execute(graph, {{"text", "four"}});
  expect(ended.value("output", cairn::Json()) == cairn::Json{{"letters", 4}}, "four has four letters: " + ended.dump());
  expect(calls == 2, "the second attempt follows the first");

  const cairn::Json waits = engine.execute(patient);
  const std::string run = waits.value("run", "");
  expect(waits.value("status", "") == "waiting", "it waits for an answer: " + waits.dump());
  expect(engine.client().questions().size() == 1, "one question is open");
  engine.client().answer(run, "four");
  expect(engine.settle(run).value("output", cairn::Json()) == "four", "the answer is its output");
  expect(!engine.client().events(run).empty(), "its history is there");
}

// The worker dies while a step runs: the step is lost, and another worker's attempt counts.
void test_crash(const cairn::Json& graph) {
  std::promise<void> begun, crashed;
  cairn::Handlers handlers;
  handlers.add("letters.count", [&](const cairn::Step& step) {
    if (step.attempt == 1) begun.set_value(), crashed.get_future().wait();
    return cairn::Json{{"letters", step.attempt}};
  });
  cairn::Engine engine(handlers);
  engine.client().add_graph(graph);
  const std::string run = engine.client().start("letters", {{"text", "four"}});
  begun.get_future().wait();
  engine.crash();
  crashed.set_value();
  const cairn::Json ended = engine.settle(run);
  const bool is_second = ended.value("output", cairn::Json()) == cairn::Json{{"letters", 2}};
  expect(is_second, "the lost step is tried again: " + ended.dump());
}

// A rule chooses the way, a tool gives an outcome that names its label, and Final ends the attempts.
void test_rules_and_tools() {
  int attempts = 0;
  cairn::Handlers handlers;
  handlers.threads(2);
  handlers.add_rule("letters.is_long",
                    [](const cairn::Step& step) {
                      return cairn::Outcome(step.data.at("text").get<std::string>().size() > 5 ? "long" : "short", {});
                    },
                    {.labels = {"long", "short"}, .reads = {"text"}});
  handlers.add_tool("shout", [](const cairn::Step& step) {
    return cairn::Json{{"n", step.input.at("n").get<int>() + 1}};
  });
  handlers.add("letters.never", [&](const cairn::Step&) -> cairn::Outcome {
    ++attempts;
    throw cairn::Final("Never.", "hopeless");
  });
  const cairn::Json graph = cairn::Json::parse(R"({
    "name": "ways", "start": "choose", "limits": { "steps": 9 },
    "channels": { "text": { "reducer": "last" }, "said": { "reducer": "last" } },
    "nodes": {
      "choose": { "do": "letters.is_long", "on": { "long": "shout", "short": "never" } },
      "shout": { "do": "tool.call", "with": { "tool": "shout", "inputs": { "n": 41 }, "into": "said" }, "on": { "ok": "done" } },
      "never": { "do": "letters.never", "retry": { "attempts": 5 }, "on": { "ok": "done" } },
      "done": { "end": { "status": "done", "output": "$said" } } } })");
  cairn::Engine engine(handlers);
  expect(engine.execute(graph, {{"text", "a long text"}}).value("output", cairn::Json()) == cairn::Json{{"n", 42}},
         "the rule leads to the tool");
  expect(engine.execute(graph, {{"text", "short"}}).value("status", "") == "failed", "Final fails the run");
  expect(attempts == 1, "Final is not tried again");
  expect(cairn::Engine::simulate(graph, handlers, {.seeds = 20, .input = {{"text", "short"}}}).empty(),
         "rules and tools hold under faults");
}

// An outcome that JSON cannot hold fails the attempt in one sentence, of a rule as of any other function.
void test_outcomes_that_are_no_json() {
  const cairn::Json graph = cairn::Json::parse(R"({
    "name": "odd", "start": "odd", "limits": { "steps": 9 }, "channels": { "said": { "reducer": "last" } },
    "nodes": { "odd": { "do": "letters.odd", "on": { "ok": "done" } }, "done": { "end": "done" } } })");
  for (const bool is_rule : {false, true})
    for (const cairn::Json& odd :
         {cairn::Json("\xff"), cairn::Json{{"\xff", 1}}, cairn::Json(std::nan("")), cairn::Json::binary({1})}) {
      cairn::Handlers handlers;
      const auto says = [&odd](const cairn::Step&) { return cairn::Json{{"said", {odd}}}; };
      is_rule ? handlers.add_rule("letters.odd", says) : handlers.add("letters.odd", says);
      cairn::Engine engine(handlers);
      const cairn::Json ended = engine.execute(graph);
      expect(ended.value("status", "") == "failed", "it fails the run: " + ended.value("status", ""));
      bool is_said = false;
      for (const cairn::Json& event : engine.client().events(ended.value("run", "")))
        is_said =
            is_said || event.value("message", "").rfind("Expected channels to change as JSON, but found ", 0) == 0;
      expect(is_said, "the attempt says why");
    }
}

template <class Call>
void expect_refused(const Call& call, const std::string& what) {
  try {
    call();
    expect(false, what + " is refused");
  } catch (const cairn::Refused& refused) {
    expect(std::string(refused.what()).rfind("Expected ", 0) == 0, what + " is refused in one sentence");
  }
}

void test_refusals() {
  const auto nothing = [](const cairn::Step&) { return cairn::Outcome(); };
  cairn::Handlers handlers;
  handlers.add("letters.count", nothing);
  expect_refused([&] { handlers.add("letters.count", nothing); }, "a name that is taken");
  expect_refused([&] { handlers.add("two words", nothing); }, "a name with a space");
  expect_refused([&] { handlers.add("none", nullptr); }, "no function");
  expect_refused([&] { handlers.add("no.labels", nothing, {.labels = {}}); }, "no label");
  expect_refused([&] { handlers.threads(0); }, "no thread");
  cairn::Handlers taken;
  taken.add("data.set", nothing);
  expect_refused([&] { cairn::Engine engine(taken); }, "the name of a built-in handler");
  cairn::Engine first;
  expect_refused([] { cairn::Engine second; }, "a second engine");
}

void test_simulation(const cairn::Json& graph) {
  const std::vector<std::string> found = cairn::Engine::simulate(graph, {}, {.seeds = 20, .input = {{"text", "four"}}});
  for (const std::string& line : found) std::cerr << line << "\n";
  expect(found.empty(), "the graph holds under faults");
}

}  // namespace

int main(int, char** argv) {
  std::ifstream file(argv[1]);
  const cairn::Json graph = cairn::Json::parse(file);
  test_engine(graph);
  test_crash(graph);
  test_rules_and_tools();
  test_outcomes_that_are_no_json();
  test_refusals();
  test_simulation(graph);
  return faults == 0 ? 0 : 1;
}

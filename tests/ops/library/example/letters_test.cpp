#include <cairn/engine.hpp>
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
  test_simulation(graph);
  return faults == 0 ? 0 : 1;
}

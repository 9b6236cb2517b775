// The pure functions one by one, with Google Benchmark: what one event or one step costs the processor. Built where
// that library is installed. As the benchmark's runs are: linear, 300 bytes a patch.
#include <benchmark/benchmark.h>
#include <stdexcept>

#include "engine/codec.hpp"
#include "engine/decide.hpp"
#include "engine/evolve.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/snapshot.hpp"
#include "ops/bench/rig/handlers.hpp"
#include "storage/chain.hpp"

namespace cairn {
namespace {

constexpr TimeUs begin_us = 1'700'000'000'000'000;

template <class T>
T expected(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

Graphs graphs() {
  const std::unique_ptr<Catalogue> catalogue = expected(bench_catalogue());
  Graphs made;
  for (const Json& graph : bench_graphs())
    made.add(expected(parse_graph(graph, graph_version(canonical(graph)), catalogue->handlers.labels())), true);
  return made;
}

Context context() {
  Context of;
  of.now_us = begin_us;
  of.actor = "bench";
  return of;
}

StartRun start() {
  StartRun command;
  command.run = *parse_run_id("018bcfe5-6800-7000-8000-000000000000");
  command.graph = "bench_steps";
  return command;
}

CompleteStep complete(StepId step) {
  CompleteStep command;
  command.step = step;
  command.attempt = 1;
  command.outcome.label = "ok";
  command.outcome.patch = {{"data", std::string(289, 'x')}};
  command.worker = 1;
  command.started_at = begin_us;
  return command;
}

// All events of one run, in order.
std::vector<Event> history(const Graphs& graphs) {
  RunState state;
  std::vector<Event> events = expected(decide(state, start(), context(), graphs)).events;
  for (StepId step = 1; step <= bench_steps; ++step)
    for (Event& event : expected(decide(state, complete(step), context(), graphs)).events)
      events.push_back(std::move(event));
  return events;
}

const Event& step_event(const std::vector<Event>& events) { return events.at(5); }

EventRow row_of(const Event& event) {
  EventRow row;
  row.seq = event.seq;
  row.at_us = event.at_us;
  row.type = event_type(event.body).number;
  row.version = event_type(event.body).version;
  row.step = event.step;
  row.payload = encode_payload(event.body);
  return row;
}

void decide_a_run(benchmark::State& timing) {
  const Graphs known = graphs();
  for (auto _ : timing) {
    RunState state;
    benchmark::DoNotOptimize(decide(state, start(), context(), known));
    for (StepId step = 1; step <= bench_steps; ++step)
      benchmark::DoNotOptimize(decide(state, complete(step), context(), known));
  }
  timing.SetItemsProcessed(timing.iterations() * bench_steps);
}
BENCHMARK(decide_a_run);

void evolve_a_run(benchmark::State& timing) {
  const Graphs known = graphs();
  const std::vector<Event> events = history(known);
  std::vector<BranchId> touched;
  for (auto _ : timing) {
    RunState state;
    for (const Event& event : events) {
      touched.clear();
      evolve(state, event, known, touched);
    }
    benchmark::DoNotOptimize(state);
  }
  timing.SetItemsProcessed(timing.iterations() * static_cast<std::int64_t>(events.size()));
}
BENCHMARK(evolve_a_run);

void encode_a_step(benchmark::State& timing) {
  const std::vector<Event> events = history(graphs());
  for (auto _ : timing) benchmark::DoNotOptimize(encode_payload(step_event(events).body));
  timing.SetItemsProcessed(timing.iterations());
}
BENCHMARK(encode_a_step);

void decode_a_step(benchmark::State& timing) {
  const EventRow row = row_of(step_event(history(graphs())));
  for (auto _ : timing) benchmark::DoNotOptimize(decode_payload(row.type, row.version, row.payload));
  timing.SetItemsProcessed(timing.iterations());
}
BENCHMARK(decode_a_step);

void canonical_text(benchmark::State& timing) {
  const Json value = {{"data", std::string(289, 'x')}, {"n", 12}, {"list", {1, 2, 3}}};
  for (auto _ : timing) benchmark::DoNotOptimize(canonical(value));
  timing.SetItemsProcessed(timing.iterations());
}
BENCHMARK(canonical_text);

void chain_an_event(benchmark::State& timing) {
  const EventRow row = row_of(step_event(history(graphs())));
  const RunId run = start().run;
  Hash hash = chain_start(run, "version");
  for (auto _ : timing) benchmark::DoNotOptimize(hash = chain_next(hash, 0, run, row));
  timing.SetItemsProcessed(timing.iterations());
}
BENCHMARK(chain_an_event);

void snapshot_and_back(benchmark::State& timing) {
  const Graphs known = graphs();
  RunState state;
  std::vector<BranchId> touched;
  for (const Event& event : history(known)) evolve(state, event, known, touched);
  for (auto _ : timing) benchmark::DoNotOptimize(restore_snapshot(snapshot_json(state), known));
  timing.SetItemsProcessed(timing.iterations());
}
BENCHMARK(snapshot_and_back);

}  // namespace
}  // namespace cairn

BENCHMARK_MAIN();

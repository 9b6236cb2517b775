#include "workers/simulation/seeds.hpp"

#include <chrono>

#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "workers/simulation/script.hpp"
#include "workers/simulation/shrink.hpp"
#include "workers/simulation/simulation.hpp"

namespace cairn::simulation {
namespace {

constexpr int shrink_tries = 300;

Cast cast_of(const HandlerTable& handlers, const ToolTable& tools, const Json& says) {
  Cast cast;
  cast.handlers = handlers;
  cast.tools = tools;
  cast.says = says;
  const Json said = says.value("tools", Json::object());
  for (const auto& [name, outcomes] : said.items()) cast.tools.try_emplace(name);
  return cast;
}

void count(const Course& course, SeedsReport& report) {
  ++report.seeds;
  report.events += course.events;
  for (const auto& [kind, times] : course.faults) report.faults[kind] += times;
  for (const auto& [status, times] : course.endings) report.runs[status] += times;
}

}  // namespace

Result<SeedsReport> simulate_seeds(const SeedsAsked& asked, const HandlerTable& handlers, const ToolTable& tools) {
  std::vector<GraphRef> parsed;
  for (const Json& graph : asked.graphs) parsed.push_back(stored_graph(graph, graph_version(canonical(graph))));
  if (const Status fit = check_script(asked.says, parsed, handlers); !fit) return fit.error();
  throw_on_check_failures();
  const Cast cast = cast_of(handlers, tools, asked.says);
  SeedsReport report;
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t seed = asked.first; seed < asked.first + asked.count && !report.found; ++seed) {
    const Scenario scenario = scenario_for(seed, asked.graphs, asked.input);
    const Course course = simulate_and_compare(scenario, cast);
    count(course, report);
    if (course.finding.empty()) continue;
    const Shrunk shrunk = shrink(scenario, cast, shrink_tries);
    report.found = FoundSeed{seed, shrunk.finding, lines_of(shrunk, cast)};
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return report;
}

}  // namespace cairn::simulation

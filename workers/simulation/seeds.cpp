#include "workers/simulation/seeds.hpp"

#include <chrono>

#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "workers/simulation/script.hpp"
#include "workers/simulation/shrink.hpp"
#include "workers/simulation/simulated_schedules.hpp"
#include "workers/simulation/simulation.hpp"

namespace cairn::simulation {
namespace {

constexpr int shrink_tries = 300;
constexpr std::uint64_t seeds_for_schedules = 25;  // one of so many: it takes as long as some others

// Nothing: none is to be simulated, or a run of the graph needs another input.
std::optional<SchedulePlan> schedule_plan(const SeedsAsked& asked, const std::vector<GraphRef>& graphs) {
  if (asked.catalogue == nullptr || graphs.empty()) return std::nullopt;
  SchedulePlan plan{{graphs.front()}, {graphs.begin() + 1, graphs.end()}, asked.input, 100};
  return can_be_scheduled(plan, *asked.catalogue) ? std::optional(std::move(plan)) : std::nullopt;
}

std::optional<FoundSeed> found_in_schedules(std::uint64_t seed, const SchedulePlan& plan, const Catalogue& catalogue,
                                            SeedsReport& report) {
  const ScheduleCourse course = simulate_schedules(seed, plan, catalogue);
  for (const auto& [kind, times] : course.faults) report.faults[kind] += times;
  report.runs["scheduled"] += course.runs;
  if (course.finding.empty()) return std::nullopt;
  return FoundSeed{seed, course.finding, {"schedules of " + plan.graphs.front()->name + ": " + course.finding}};
}

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
  const std::optional<SchedulePlan> plan = schedule_plan(asked, parsed);
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t seed = asked.first; seed < asked.first + asked.count && !report.found; ++seed) {
    const Scenario scenario = scenario_for(seed, asked.graphs, asked.input);
    const Course course = simulate_and_compare(scenario, cast);
    count(course, report);
    if (course.finding.empty() && plan && (seed - asked.first) % seeds_for_schedules == 0)
      report.found = found_in_schedules(seed, *plan, *asked.catalogue, report);
    if (course.finding.empty()) continue;
    const Shrunk shrunk = shrink(scenario, cast, shrink_tries);
    report.found = FoundSeed{seed, shrunk.finding, lines_of(shrunk, cast)};
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return report;
}

}  // namespace cairn::simulation

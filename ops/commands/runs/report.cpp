#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "ops/answers/run_use.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

std::string number_text(const Json& number, const char* format) {
  if (number.is_null()) return "-";
  char text[64] = {};
  std::snprintf(text, sizeof text, format, number.get<double>());
  return text;
}

// "2 of 12 (16.7 %)"; `which` says which those are.
std::string share_text(const Json& count, const Json& of, const std::string& which = "") {
  const double all = of.get<double>();
  const std::string text = count.dump() + " of " + of.dump() + (which.empty() ? "" : " " + which);
  return all > 0 ? text + " (" + number_text(100 * count.get<double>() / all, "%.1f") + " %)" : text;
}

// The sums of a part in which any model was called.
void print_totals(const std::string& title, const Json& totals) {
  const auto has_calls = [](const Json& total) { return total["calls"] != 0; };
  if (std::none_of(totals.begin(), totals.end(), has_calls)) return;
  print_line("");
  Table table({title, "RUNS", "CALLS", "TOKENS IN", "TOKENS OUT", "COST"});
  for (const auto& [name, total] : totals.items())
    table.add({name, total["runs"].dump(), total["calls"].dump(), total["tokens_in"].dump(), total["tokens_out"].dump(),
               number_text(total["cost"], "%.4f")});
  table.print();
}

// The most frequent first, each with the nodes that failed by it.
void print_errors(const Json& by_error) {
  if (by_error.empty()) return;
  std::vector<std::pair<std::string, Json>> errors;
  for (const auto& [error, sum] : by_error.items()) errors.emplace_back(error, sum);
  std::stable_sort(errors.begin(), errors.end(),
                   [](const auto& one, const auto& other) { return one.second["runs"] > other.second["runs"]; });
  print_line("");
  Table table({"ERROR", "RUNS", "AT"});
  for (const auto& [error, sum] : errors) {
    std::string nodes;
    for (const auto& [node, count] : sum["nodes"].items())
      nodes += (nodes.empty() ? "" : ", ") + node + " (" + count.dump() + ")";
    table.add({error, sum["runs"].dump(), nodes});
  }
  table.print();
}

void print_report(const Json& report) {
  Table table({"METRIC", "VALUE"});
  const Json& runs = report["runs"];
  const Json& latency = report["avg_latency_ms"];
  table.add({"runs", runs.dump() + ", " + report["ended"].dump() + " ended"});
  table.add(
      {"avg latency", latency.is_null() ? "-" : duration_text(static_cast<TimeUs>(1000 * latency.get<double>()))});
  table.add({"avg cost", number_text(report["avg_cost"], "%.4f")});
  table.add({"avg model calls", number_text(report["avg_model_calls"], "%.1f")});
  table.add({"avg tool calls", number_text(report["avg_tool_calls"], "%.1f")});
  table.add({"avg tokens in, out",
             number_text(report["avg_tokens_in"], "%.0f") + ", " + number_text(report["avg_tokens_out"], "%.0f")});
  if (report["guardrail_blocks"] != 0) table.add({"guardrail blocks", share_text(report["guardrail_blocks"], runs)});
  for (const auto& [name, budget] : report["budgets"].items())
    table.add({name + " > 1", share_text(budget["over_1"], runs)});
  const bool is_any_cancelled = report["cancelled"] != 0;
  table.add({"failures", share_text(report["failures"], report["failures_of"],
                                    is_any_cancelled ? "ended, cancelled ones aside" : "ended")});
  if (is_any_cancelled) table.add({"cancelled", share_text(report["cancelled"], runs)});
  for (const auto& [name, count] : report["outcomes"].items()) table.add({"outcome " + name, share_text(count, runs)});
  table.print();
  for (const auto& [part, title] :
       {std::pair{"by_model", "MODEL"}, {"by_graph", "GRAPH"}, {"by_tag", "TAG"}, {"by_day", "DAY (UTC)"}})
    print_totals(title, report[part]);
  print_errors(report["by_error"]);
}

Exit report_use(const Settings& settings, const RunQuery& query) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<RunFilter> filter = known_filter(*opened->store, query);
  if (!filter) return filter.error();
  UseReport report;
  std::optional<Error> fault;
  for_each_page(*opened->store, unlimited(*filter), [&](std::span<const RunRow> page) {
    for (const RunRow& row : page) {
      if (fault) return;
      const Result<RunUse> use = use_of(*opened->client, row.id);
      if (use)
        report.add(*use);
      else
        fault = use.error();
    }
  });
  if (fault) return *fault;
  settings.json ? print_json(report.json()) : print_report(report.json());
  return exit_ok;
}

}  // namespace

void add_report(CommandLine& line) {
  auto& query = line.keep<RunQuery>();
  add_run_filter(add_command(line, "report", "What runs took and came to: time, cost, calls, blocks, rounds, failures",
                             "cairn report --graph order --since 7d",
                             paged([&](const Settings& settings) { return report_use(settings, query); })),
                 query);
}

}  // namespace cairn

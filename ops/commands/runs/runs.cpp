#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "ops/answers/run_json.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

std::string tags_text(const Tags& tags) {
  std::string text;
  for (const auto& [key, value] : tags) text += (text.empty() ? "" : " ") + key + "=" + value;
  return text;
}

// A tree: each run below its origin, in the order of their starts.
void print_lineage(std::vector<RunRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const RunRow& a, const RunRow& b) {
    return std::tie(a.started_at, a.id) < std::tie(b.started_at, b.id);
  });
  std::set<RunId> listed;
  for (const RunRow& row : rows) listed.insert(row.id);
  std::map<RunId, std::vector<const RunRow*>> below;
  for (const RunRow& row : rows) {
    const std::optional<RunId> from = predecessor(row);
    below[from && listed.contains(*from) ? *from : RunId{}].push_back(&row);
  }
  Table table({"RUN", "GRAPH", "STATUS", "EVENTS", "CAME FROM"});
  const std::function<void(const RunId&, const std::string&)> add = [&](const RunId& id, const std::string& indent) {
    for (const RunRow* row : below[id]) {
      const bool is_last = row == below[id].back();
      const std::string branch = id.is_nil() ? "" : is_last ? "└─ " : "├─ ";
      const std::string from = row->forked_from ? "forked at event " + std::to_string(row->forked_from->seq)
                               : row->continues ? "continues"
                                                : "";
      table.add({indent + branch + to_string(row->id), row->graph, painted_status(status_word(*row)),
                 std::to_string(row->head), from});
      add(row->id, id.is_nil() ? "" : indent + (is_last ? "   " : "│  "));
    }
  };
  add(RunId{}, "");
  table.print();
}

Exit list_runs(const Settings& settings, const RunFilter& filter) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  if (filter.lineage && !settings.json) {
    print_lineage(opened->store->runs(filter));
    return exit_ok;
  }
  Table table({"RUN", "GRAPH", "STATUS", "EVENTS", "STARTED", "TAGS AND REASON"});
  for_each_page(*opened->store, filter, [&](std::span<const RunRow> page) {
    for (const RunRow& row : page) {
      if (settings.json) {
        print_json(run_json(row));
        continue;
      }
      const std::string tags = tags_text(row.tags);
      table.add({to_string(row.id), row.graph, painted_status(status_word(row)), std::to_string(row.head),
                 time_text(row.started_at).substr(0, 19), tags + (tags.empty() ? "" : " ") + row.reason});
    }
  });
  if (!settings.json) table.print();
  return exit_ok;
}

}  // namespace

void add_runs(CommandLine& line) {
  auto& filter = line.keep<RunFilter>();
  CLI::App& command = add_command(line, "runs", "The runs, newest first",
                                  [&](const Settings& settings) { return list_runs(settings, filter); });
  add_run_filter(command, filter);
  command.add_option("--limit", filter.limit, "At most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace cairn

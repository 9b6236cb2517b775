#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "ops/answers/run_json.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

constexpr std::size_t lineage_indent_max = 15;

std::string tags_text(const Tags& tags) {
  std::string text;
  for (const auto& [key, value] : tags) text += (text.empty() ? "" : " ") + key + "=" + value;
  return text;
}

// A tree: each run below its origin, in the order of their starts. On a terminal a long line of descent goes on without
// further indents.
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
  std::vector<std::string> ids;
  for (const RunRow& row : rows) ids.push_back(to_string(row.id));
  const std::size_t letters = letters_of_ids(std::move(ids));
  Table table({"RUN", "GRAPH", "STATUS", "EVENTS", "CAME FROM"});
  table.keep(0);
  const std::function<void(const RunId&, const std::string&)> add = [&](const RunId& id, const std::string& indent) {
    for (const RunRow* row : below[id]) {
      const bool is_last = row == below[id].back();
      const std::string branch = id.is_nil() ? "" : is_last ? "└─ " : "├─ ";
      const std::string from = row->forked_from ? "forked at event " + std::to_string(row->forked_from->seq)
                               : row->continues ? "continues"
                                                : "";
      table.add({indent + branch + to_string(row->id).substr(0, letters), row->graph, painted_status(status_word(*row)),
                 std::to_string(row->head), from});
      const bool is_deep = is_terminal() && shown_width(indent) >= lineage_indent_max;
      add(row->id, id.is_nil() ? "" : is_deep ? indent : indent + (is_last ? "   " : "│  "));
    }
  };
  add(RunId{}, "");
  table.print();
}

std::string remarks_of(const RunRow& row) {
  const std::string text = reason_text(row.reason, row.cause);
  const std::string tags = tags_text(row.tags);
  return text + (text.empty() || tags.empty() ? "" : "  ") + tags;
}

void print_runs(const std::vector<RunRow>& rows, TimeUs now_us) {
  std::vector<std::string> ids;
  for (const RunRow& row : rows) ids.push_back(to_string(row.id));
  const std::size_t letters = letters_of_ids(std::move(ids));
  const std::string zone = rows.empty() ? "" : " (" + zone_name(rows.front().started_at) + ")";
  Table table({"RUN", "GRAPH", "STATUS", "EVENTS", "STARTED" + zone, "REASON AND TAGS"});
  table.keep(0);
  for (const RunRow& row : rows)
    table.add({to_string(row.id).substr(0, letters), row.graph, painted_status(status_word(row)),
               std::to_string(row.head), listed_time(row.started_at, now_us), remarks_of(row)});
  table.print();
}

// How many of the runs were listed, the last of which is `last`; empty if there are no more. A lineage is not counted.
std::string count_shown(Store& store, const RunFilter& filter, std::int64_t shown, const RunRow& last) {
  if (filter.lineage) {
    RunFilter next = filter;
    next.after = {last.started_at, last.id};
    next.limit = 1;
    return store.runs(next).empty() ? "" : grouped(shown) + " shown";
  }
  const std::int64_t count = store.all_runs().count(filter, runs_counted_max);
  if (!filter.after && count <= shown) return "";
  return grouped(shown) + " of " + grouped(count) + (count == runs_counted_max ? " or more" : "");
}

// The tree of a lineage from its root on. One that is cut lacks the newest runs, so that each has its origin.
void print_tree(Store& store, const RunFilter& filter) {
  std::vector<RunRow> rows = store.runs(unlimited(filter));
  const std::size_t count = rows.size();
  const auto limit = static_cast<std::size_t>(filter.limit);
  if (count > limit) rows.erase(rows.begin(), rows.end() - filter.limit);
  print_lineage(std::move(rows));
  if (count > limit)
    print_list_goes_on(grouped(filter.limit) + " of " + grouped(static_cast<std::int64_t>(count)) + ". All of them:",
                       "--limit " + std::to_string(count), false);
}

Exit list_runs(const Settings& settings, const RunQuery& query) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<RunFilter> meant = known_filter(*opened->store, query);
  if (!meant) return meant.error();
  const RunFilter& filter = *meant;
  if (filter.lineage && !settings.json) {
    print_tree(*opened->store, filter);
    return exit_ok;
  }
  std::vector<RunRow> rows;
  std::int64_t shown = 0;
  std::optional<RunRow> last;
  RunPages pages(*opened->store, filter);
  for (std::vector<RunRow> page = pages.next(); !page.empty(); page = pages.next()) {
    shown += std::ssize(page);
    last = page.back();
    if (!settings.json) {
      rows.insert(rows.end(), page.begin(), page.end());
      continue;
    }
    for (const RunRow& row : page) print_json(run_json(row));
    if (!is_read()) return exit_ok;  // as a pager that was left: what would come is for no one
  }
  if (!settings.json) print_runs(rows, opened->store->database_time());
  const std::string says =
      last && shown >= filter.limit ? count_shown(*opened->store, filter, shown, *last) : std::string();
  if (!says.empty()) print_list_goes_on(says + ". The next ones:", "--after " + cursor_of(*last), settings.json);
  return exit_ok;
}

}  // namespace

void add_runs(CommandLine& line) {
  auto& query = line.keep<RunQuery>();
  CLI::App& command =
      add_command(line, "runs", "The runs, newest first", "cairn runs --status failed --since 2h --error timeout",
                  paged([&](const Settings& settings) { return list_runs(settings, query); }));
  add_run_filter(command, query);
  add_text(command, "--after", "CURSOR", "Go on where an earlier list ended",
           [&](const std::string& cursor) { return add_cursor(query.filter, cursor); });
  command.add_option("--limit", query.filter.limit, "At most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace cairn

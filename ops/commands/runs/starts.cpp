#include <CLI/CLI.hpp>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/list_part.hpp"
#include "ops/scheduling/waiting_starts.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct StartsOptions {
  std::string graph;
  std::int32_t limit = 1'000;
  StartKey after;
};

void print_start_keys(const std::vector<Json>& lines, TimeUs now_us) {
  Table table({"GRAPH", "KEY", "RUN", "WAITING", "COLLECTED", "BEGINS (" + zone_name(now_us) + ")"});
  table.keep(2);
  std::vector<std::string> ids;
  for (const Json& line : lines)
    if (line["run"].is_string()) ids.push_back(line["run"]);
  const std::size_t letters = letters_of_ids(std::move(ids));
  for (const Json& line : lines) {
    const Json& group = line["collecting"];
    const bool is_due_by_time = group.is_object() && group["due_at"].is_string();
    table.add({line["graph"], line["key"],
               line["run"].is_string() ? line["run"].get<std::string>().substr(0, letters) : "",
               std::to_string(line["waiting"].get<std::int64_t>()),
               group.is_object() ? std::to_string(group["starts"].get<std::int64_t>()) : "",
               is_due_by_time ? listed_time(group["due_at"].get<std::string>(), now_us) : ""});
  }
  table.print();
}

Exit list_starts(const Settings& settings, const StartsOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  auto lines = start_key_lines(*opened->store, options.graph, options.limit + 1, options.after);
  const bool goes_on = std::ssize(lines) > options.limit;
  if (goes_on) lines.pop_back();
  std::vector<Json> shown;
  for (auto& [of, line] : lines) settings.json ? print_json(line) : shown.push_back(line);
  if (!settings.json) print_start_keys(shown, opened->store->database_time());
  if (goes_on)
    print_list_goes_on(std::to_string(lines.size()) + " shown. The next ones:",
                       "--after " + shell_word(lines.back().first.graph + " " + lines.back().first.key), settings.json);
  return exit_ok;
}

}  // namespace

void add_starts(CommandLine& line) {
  auto& options = line.keep<StartsOptions>();
  CLI::App& command = add_command(line, "starts", "Keys of starts: which run has each, what waits and is collected",
                                  "cairn starts --graph mails",
                                  paged([&](const Settings& settings) { return list_starts(settings, options); }));
  command.add_option("--graph", options.graph, "Only of this graph")->type_name("G");
  add_text(command, "--after", "CURSOR", "Go on where an earlier list ended",
           [&options](const std::string& text) { return assign(options.after, start_cursor(text, "--after")); });
  command.add_option("--limit", options.limit, "At most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace cairn

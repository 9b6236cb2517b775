#include <CLI/CLI.hpp>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
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

// In quotes, as a shell reads it.
std::string start_cursor(const StartKey& of) {
  std::string quoted;
  for (const char c : of.graph + " " + of.key) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + quoted + "'";
}

Status read_start_cursor(const std::string& text, StartKey& after) {
  const std::size_t blank = text.find(' ');
  if (blank == 0 || blank == std::string::npos)
    return Error{Code::invalid,
                 "Expected GRAPH and KEY with a blank between them, as an earlier list ended, in --after, "
                 "but found " +
                     excerpt(Json(text), 80) + "."};
  after = {text.substr(0, blank), text.substr(blank + 1)};
  return Done{};
}

void print_start_keys(const std::vector<Json>& lines, TimeUs now_us) {
  Table table({"GRAPH", "KEY", "RUN", "WAITING", "COLLECTED", "BEGINS (" + zone_name(now_us) + ")"});
  for (const Json& line : lines) {
    const Json& group = line["collecting"];
    const bool is_due_by_time = group.is_object() && group["due_at"].is_string();
    table.add({line["graph"], line["key"], line["run"].is_string() ? line["run"].get<std::string>() : "",
               std::to_string(line["waiting"].get<std::int64_t>()),
               group.is_object() ? std::to_string(group["starts"].get<std::int64_t>()) : "",
               is_due_by_time ? local_short(*parse_time(group["due_at"].get<std::string>()), now_us) : ""});
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
  if (settings.json) return exit_ok;
  print_start_keys(shown, opened->store->database_time());
  if (goes_on)
    print_list_goes_on(std::to_string(lines.size()) + " shown. The next ones:",
                       "--after " + start_cursor(lines.back().first));
  return exit_ok;
}

}  // namespace

void add_starts(CommandLine& line) {
  auto& options = line.keep<StartsOptions>();
  CLI::App& command = add_command(line, "starts", "Keys of starts: which run has each, what waits and is collected",
                                  "cairn starts --graph mails",
                                  [&](const Settings& settings) { return list_starts(settings, options); });
  command.add_option("--graph", options.graph, "Only of this graph")->type_name("G");
  add_text(command, "--after", "CURSOR", "Go on where an earlier list ended",
           [&options](const std::string& text) { return read_start_cursor(text, options.after); });
  command.add_option("--limit", options.limit, "At most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace cairn

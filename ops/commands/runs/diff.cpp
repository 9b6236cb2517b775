#include "ops/audit/diff.hpp"

#include <CLI/CLI.hpp>
#include <limits>

#include "ops/answers/run_json.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct DiffOptions {
  std::string a;
  std::string b;                     // "": the same run
  std::optional<std::int64_t> from;  // the moment of `a`; none: its head
  std::optional<std::int64_t> to;    // the moment of `b`
};

Result<DiffSide> side_of(Opened& opened, const std::string& text, std::optional<std::int64_t> seq) {
  const Result<RunId> run = run_meant(*opened.store, text);
  if (!run) return run.error();
  Result<RunState> state = opened.client->state(*run, seq);
  if (!state) return state.error();
  return diff_side(*opened.client, *std::move(state));
}

void print_changes(const std::string& title, const Json& changes) {
  if (changes.empty()) return;
  print_line(painted(title, Paint::bold));
  for (const Json& change : changes) {
    const std::string path = change["path"];
    if (change.contains("a"))
      print_below("  " + painted("-", Paint::red) + " ", "    ",
                  painted(path + " " + excerpt(change["a"], 100), Paint::red));
    if (change.contains("b"))
      print_below("  " + painted("+", Paint::green) + " ", "    ",
                  painted(path + " " + excerpt(change["b"], 100), Paint::green));
  }
}

std::string event_line(const Json& event) {
  if (event.is_null()) return "nothing more";
  return "event " + event["seq"].dump() + " " + event["type"].get<std::string>() + "  " + event_summary(event, 120);
}

void print_diff(const Json& diff) {
  for (const char* side : {"a", "b"}) {
    const Json& of = diff[side];
    print_below(std::string(side) + "  ", "   ",
                of["run"].get<std::string>() + "  event " + of["seq"].dump() + "  " +
                    painted_status(of["status"].get<std::string>()) + "  cost " + of["cost"].dump() + "  " +
                    duration_text(of["ms"].get<std::int64_t>() * 1000));
  }
  if (diff["same"] == true) return print_line("No event differs.");
  print_line(painted("First difference", Paint::bold));
  for (const char* side : {"a", "b"})
    print_below("  " + std::string(side) + "  ", "     ", event_line(diff["first"][side]));
  print_changes("Channels", diff["channels"]);
  print_changes("Plan", diff["plan"]);
  print_changes("Budgets", diff["budgets"]);
  print_changes("Questions", diff["questions"]);
  for (const char* side : {"a", "b"}) {
    const Json& decisions = diff["decisions"][side];
    if (!decisions.empty()) print_line(painted(std::string("Decisions of ") + side, Paint::bold));
    for (const Json& decision : decisions) print_below("  ", "     ", event_line(decision));
  }
}

Exit diff_runs(const Settings& settings, const DiffOptions& options) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const Result<DiffSide> a = side_of(*opened, options.a, options.from);
  if (!a) return a.error();
  const Result<DiffSide> b = side_of(*opened, options.b.empty() ? options.a : options.b, options.to);
  if (!b) return b.error();
  const Json diff = diff_json(*a, *b);
  settings.json ? print_json(diff) : print_diff(diff);
  return diff["same"] == true ? exit_ok : exit_finding;
}

}  // namespace

void add_diff(CommandLine& line) {
  auto& options = line.keep<DiffOptions>();
  auto& second = line.keep<CLI::Option*>();
  CLI::App& command = add_command(
      line, "diff", "How two runs, or two moments of one, differ; exit 1 if they do", "cairn diff RUN OTHER",
      paged([&](const Settings& settings) { return diff_runs(settings, options); }), [&]() -> Status {
        if (!second->empty() || options.from) return Done{};
        return Error{Code::invalid,
                     "Expected a second run, or --from for another moment of the first, but found neither."};
      });
  command.add_option("RUN_A", options.a, "A run's id")->required()->type_name("");
  second = command.add_option("RUN_B", options.b, "Another run's id")->type_name("");
  const CLI::Range seqs(std::int64_t{1}, std::numeric_limits<std::int64_t>::max());
  CLI::Option* from = command.add_option("--from", options.from, "The first run's moment (default: now)")->check(seqs);
  CLI::Option* to = command.add_option("--to", options.to, "The second one's moment (default: now)")->check(seqs);
  for (CLI::Option* moment : {from, to}) moment->type_name("SEQ");
}

}  // namespace cairn

#include <CLI/CLI.hpp>
#include <utility>

#include "ops/answers/open_questions.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct InboxOptions {
  RunQuery query;
  QuestionPlace after;
};

Result<QuestionsWanted> questions_wanted(Store& store, const RunQuery& query) {
  const Result<RunFilter> filter = known_filter(store, query);
  if (!filter) return filter.error();
  QuestionsWanted wanted{.filter = *filter};
  if (!is_beyond_rows(*filter)) return wanted;
  RunFilter all = *filter;
  all.limit = family_max + 1;
  Result<std::set<RunId>> runs = family_of(store.runs(all));
  if (!runs) return runs.error();
  wanted.runs = *std::move(runs);
  return wanted;
}

std::string time_shown(const Json& line, const char* name, TimeUs now_us) {
  return line[name].is_string() ? listed_time(line[name].get<std::string>(), now_us) : "";
}

void print_questions_table(const std::vector<Json>& lines, TimeUs now_us) {
  Table table({"RUN", "QUESTION", "GRAPH", "ASKED (" + zone_name(now_us) + ")", "UNTIL", "PROMPT"});
  std::vector<std::string> ids;
  for (const Json& line : lines) ids.push_back(line["run"]);
  const std::size_t letters = letters_of_ids(std::move(ids));
  table.keep(0);
  for (const Json& line : lines) {
    const Json& prompt = line["prompt"];
    table.add({line["run"].get<std::string>().substr(0, letters), line["question"], line["graph"],
               time_shown(line, "asked_at", now_us), time_shown(line, "expires_at", now_us),
               prompt.is_string() ? prompt.get<std::string>() : prompt.dump()});
  }
  table.print();
}

Exit list_questions(const Settings& settings, const InboxOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Store& store = *opened->store;
  Result<QuestionsWanted> wanted = questions_wanted(store, options.query);
  if (!wanted) return wanted.error();
  std::vector<Json> shown;
  std::optional<QuestionPlace> next = options.after;
  for (std::int32_t left = wanted->filter.limit; next && left > 0;) {
    wanted->filter.limit = left;
    QuestionPage page = open_questions(*opened->client, store, *wanted, *next);
    next = std::move(page.next);
    left -= static_cast<std::int32_t>(page.lines.size());
    for (Json& line : page.lines) settings.json ? print_json(line) : shown.push_back(std::move(line));
  }
  if (!settings.json) print_questions_table(shown, store.database_time());
  if (next) print_list_goes_on("There may be more:", "--after " + cursor_at(*next), settings.json);
  return exit_ok;
}

}  // namespace

void add_questions(CommandLine& line) {
  auto& options = line.keep<InboxOptions>();
  CLI::App& command = add_command(line, "questions", "The inbox: open questions of all runs, oldest first",
                                  "cairn questions --graph order --limit 20",
                                  paged([&](const Settings& settings) { return list_questions(settings, options); }));
  add_run_filter(command, options.query);
  add_text(command, "--after", "CURSOR", "Go on where an earlier list ended",
           [&](const std::string& cursor) { return assign(options.after, question_place(cursor)); });
  command.add_option("--limit", options.query.filter.limit, "At most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace cairn

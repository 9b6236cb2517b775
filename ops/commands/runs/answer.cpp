#include <CLI/CLI.hpp>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/runs/started_run.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/service/run_commands.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

Exit answer_question(const Settings& settings, const AnswerRequest& request, const Waiting& waiting) {
  Result<OpenedRun> found = find_run(settings, request.run);
  if (!found) return found.error();
  const Result<std::string> question = question_meant(*found->opened.client, found->run, request.question);
  if (!question) return question.error();
  const Answer command{*question, request.value, request.by.empty() ? current_actor() : request.by, {}};
  if (const Result<Done> done = found->opened.client->command(found->run, command); !done) return done.error();
  if (waiting.wait && settings.json) return wait_and_print(found->opened, settings, found->run, waiting);
  if (settings.json)
    print_json({{"run", to_string(found->run)}, {"question", *question}});
  else
    print_paragraph("Answered " + *question + " of " + to_string(found->run) + ".");
  if (waiting.wait) return wait_and_print(found->opened, settings, found->run, waiting);
  if (!settings.json) hint_at_workers(*found->opened.store);
  return exit_ok;
}

}  // namespace

void add_answer(CommandLine& line) {
  auto& request = line.keep<AnswerRequest>();
  auto& waiting = line.keep<Waiting>();
  CLI::App& command =
      add_command(line, "answer", "Answer a run's open question", "cairn answer RUN --value '\"large\"' --wait",
                  [&](const Settings& settings) { return answer_question(settings, request, waiting); });
  add_run(command, request.run);
  command.add_option("--question", request.question, "The question's id (needed if several are open)")->type_name("ID");
  add_text(command, "--value", "JSON|@FILE|@-", R"(The answer as JSON; a text needs its quotes: '"north"')",
           [&](const std::string& text) { return assign(request.value, json_argument(text, "the answer")); })
      ->required();
  command.add_option("--by", request.by, "Who answers (default: user:NAME)")->type_name("WHO");
  add_waiting(line, command, "Execute the run here until it has ended, is paused or has only questions left", waiting);
}

}  // namespace cairn

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "ops/trials/trial_table.hpp"

namespace cairn {
namespace {

struct PlannersMeasured {
  TrialOptions trials;
  std::vector<TrialAnswers> answers;  // none: offline, the stand-in, and the model if there is one
  std::string page;                   // whose table is replaced; "": it is printed
};

Json trial_json(const TrialVerdict& verdict, TrialAnswers answers) {
  return {{"answers", to_string(answers)},
          {"planner", verdict.planner},
          {"task", verdict.task},
          {"kind", verdict.kind},
          {"outcome", verdict.outcome},
          {"doubted", verdict.is_doubted},
          {"with_faults", verdict.is_faulted},
          {"calls", verdict.calls},
          {"repairs", verdict.repairs},
          {"changed_prompts", verdict.changed},
          {"why", verdict.why}};
}

void print_failed(const std::vector<TrialVerdict>& verdicts, TrialAnswers answers) {
  for (const TrialVerdict& verdict : verdicts) {
    if (verdict.outcome == "right") continue;
    print_line(std::string(to_string(answers)) + ", " + verdict.planner + ", " + verdict.task + ": " + verdict.outcome +
               (verdict.is_doubted ? ", doubted: " : ": ") + verdict.why);
  }
}

Result<std::vector<TrialAnswers>> ways_of(const PlannersMeasured& asked) {
  if (!asked.answers.empty()) return asked.answers;
  std::vector<TrialAnswers> ways = {TrialAnswers::offline, TrialAnswers::stand_in};
  if (model_settings_from_environment().names_a_model()) ways.push_back(TrialAnswers::model);
  return ways;
}

Status check_ways(const PlannersMeasured& asked) {
  const auto is_asked = [&asked](TrialAnswers way) {
    return std::find(asked.answers.begin(), asked.answers.end(), way) != asked.answers.end();
  };
  if (is_asked(TrialAnswers::model) && !model_settings_from_environment().names_a_model())
    return Error{Code::invalid, "Expected a model in CAIRN_MODEL_URL for --answers model, but there is none."};
  if (is_asked(TrialAnswers::model) && is_asked(TrialAnswers::recordings))
    return Error{Code::invalid, "Expected --answers model or recordings, but got both."};
  return Done{};
}

// The folder of one way: what a stand-in said is kept only where it was asked for and no model's is.
std::string recordings_for(TrialAnswers way, const std::vector<TrialAnswers>& ways, const std::string& named) {
  const bool has_model = std::find(ways.begin(), ways.end(), TrialAnswers::model) != ways.end();
  if (way == TrialAnswers::offline || (way == TrialAnswers::stand_in && has_model)) return "";
  return named.empty() && way != TrialAnswers::stand_in ? "recordings" : named;
}

Status measure_way(const Settings& settings, TrialOptions trials, TrialPasses& passes, bool& is_sound) {
  Progress progress;
  int count = 0;
  trials.judged = [&](const TrialVerdict& verdict) {
    if (settings.json) print_json(trial_json(verdict, trials.answers));
    progress.show(std::to_string(++count) + " tasks " + std::string(to_string(trials.answers)) + ", the last one " +
                  verdict.task);
  };
  const auto server = [&settings] { return reach_as_owner(choose_database(settings)); };
  const Result<std::vector<TrialVerdict>> verdicts = run_trials(trials, server);
  progress.wipe();
  if (!verdicts) return verdicts.error();
  if (!settings.json) print_failed(*verdicts, trials.answers);
  passes[trials.answers] = figures_of(*verdicts);
  const TrialFigures& all = passes[trials.answers]["all"];
  if (trials.answers == TrialAnswers::stand_in) is_sound = is_sound && all.right == all.tasks;
  is_sound = is_sound && all.wrong_sure == 0;
  if (settings.json) print_json({{"answers", to_string(trials.answers)}, {"figures", all.json()}});
  if (!settings.json && all.changed > 0)
    print_line("Of the prompts " + std::to_string(all.changed) + " are not those on record.");
  return Done{};
}

Exit measure_planners(const Settings& settings, const PlannersMeasured& asked) {
  const Result<std::vector<TrialAnswers>> ways = ways_of(asked);
  if (!ways) return ways.error();
  if (!asked.page.empty())  // before minutes are spent
    if (const Status fits = check_page(asked.page); !fits) return fits.error();
  TrialPasses passes;
  bool is_sound = true;
  for (const TrialAnswers way : *ways) {
    TrialOptions trials = asked.trials;
    trials.answers = way;
    trials.recordings = recordings_for(way, *ways, asked.trials.recordings);
    if (const Status measured = measure_way(settings, std::move(trials), passes, is_sound); !measured)
      return measured.error();
  }
  const std::string table = trial_table(passes);
  if (!asked.page.empty())
    if (const Status written = write_table(asked.page, table); !written) return written.error();
  if (asked.page.empty() && !settings.json)
    for (std::size_t at = 0; at < table.size(); at = table.find('\n', at) + 1)
      print_line(table.substr(at, table.find('\n', at) - at));
  return is_sound ? exit_ok : exit_finding;
}

Status read_ways(const std::vector<std::string>& words, std::vector<TrialAnswers>& ways) {
  for (const std::string& word : words) {
    bool is_known = false;
    for (const TrialAnswers way :
         {TrialAnswers::offline, TrialAnswers::stand_in, TrialAnswers::model, TrialAnswers::recordings}) {
      if (to_string(way) != word) continue;
      ways.push_back(way);
      is_known = true;
    }
    if (!is_known)
      return Error{Code::invalid, "Expected offline, stand-in, model or recordings, but got \"" + word + "\"."};
  }
  return Done{};
}

}  // namespace

void add_planners(CommandLine& line) {
  CLI::App& group =
      add_group(line, "planners", "How well the planners do on tasks", "cairn planners measure tests/trials");
  auto& asked = line.keep<PlannersMeasured>();
  CLI::App& measure = add_command(
      line, group, "measure",
      "Run a folder of tasks and judge what comes out; exit 1 if one is wrong without a doubt, or not right with the "
      "stand-in",
      "cairn planners measure tests/trials --only seven_node --answers stand-in",
      [&asked](const Settings& settings) { return measure_planners(settings, asked); },
      [&asked] { return check_ways(asked); });
  measure.add_option("FOLDER", asked.trials.folder, "PLANNER.json, pages and databases")->required()->type_name("");
  measure.add_option("--only", asked.trials.planners, "Only this planner (repeatable)")->type_name("PLANNER");
  measure.add_option("--task", asked.trials.tasks, "Only this task (repeatable)")->type_name("NAME");
  add_list(measure, "--answers", "WAY",
           "Who answers the prompts: offline (the rule book), stand-in, model (CAIRN_MODEL_URL), recordings of it "
           "(repeatable); without it the first two, and the model if there is one",
           [&asked](const std::vector<std::string>& words) { return read_ways(words, asked.answers); });
  measure
      .add_option("--recordings", asked.trials.recordings,
                  "Where what was asked and answered is kept, and read from; of a model: recordings, unless named")
      ->type_name("DIR");
  measure.add_option("--write", asked.page, "Write the table into this page, instead of printing it")
      ->type_name("FILE");
}

}  // namespace cairn

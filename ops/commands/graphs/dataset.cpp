#include "storage/data/dataset.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/graphs/measured_questions.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

Exit load_dataset(const Settings& settings) {
  const Result<std::string> dsn = reach_as_owner(choose_database(settings));
  if (!dsn) return dsn.error();
  const Result<bool> loaded = load_sample(*dsn);
  if (!loaded) return loaded.error();
  if (settings.json)
    print_json({{"schema", sample_schema}, {"login", sample_login}, {"loaded", *loaded}});
  else if (*loaded)
    print_line("Loaded the sample into the schema " + std::string(sample_schema) + ", for the login " + sample_login +
               ".");
  else
    print_line("The sample is there already, in the schema " + std::string(sample_schema) + ".");
  return exit_ok;
}

// --- measuring -------------------------------------------------------------------------------------------------------
struct Figures {
  int questions = 0;
  int linked = 0;
  int linked_all = 0;
  double shown_all = 0;  // the largest share
  int right = 0;
  int right_sure = 0;
  int wrong_doubted = 0;
  int wrong_sure = 0;
  int asked_back = 0;
  int failed = 0;

  void add(const QuestionVerdict& verdict) {
    ++questions;
    linked += verdict.is_linked ? 1 : 0;
    linked_all += verdict.is_linked_all ? 1 : 0;
    shown_all = std::max(shown_all, verdict.shown_all);
    if (verdict.outcome == "right") {
      ++right;
      right_sure += verdict.is_doubted ? 0 : 1;
    } else if (verdict.outcome == "wrong") {
      ++(verdict.is_doubted ? wrong_doubted : wrong_sure);
    } else {
      ++(verdict.outcome == "asked_back" ? asked_back : failed);
    }
  }

  std::string percent(int part) const {
    return std::to_string(part) + " (" + std::to_string(questions == 0 ? 0 : (100 * part + questions / 2) / questions) +
           " %)";
  }

  std::vector<std::string> row(const std::string& name) const {
    return {name,
            std::to_string(questions),
            percent(linked),
            percent(linked_all),
            percent(right),
            std::to_string(right_sure),
            std::to_string(wrong_doubted),
            std::to_string(wrong_sure),
            std::to_string(asked_back),
            std::to_string(failed)};
  }

  Json json() const {
    return {{"questions", questions},
            {"linked", linked},
            {"linked_in_all", linked_all},
            {"largest_share_shown_of_all", shown_all},
            {"right", right},
            {"right_without_doubt", right_sure},
            {"wrong_with_doubt", wrong_doubted},
            {"wrong_without_doubt", wrong_sure},
            {"asked_back", asked_back},
            {"failed", failed}};
  }
};

Json verdict_json(const QuestionVerdict& verdict) {
  return {{"database", verdict.question.database},
          {"category", verdict.question.category},
          {"question", verdict.question.text},
          {"outcome", verdict.outcome},
          {"doubted", verdict.is_doubted},
          {"linked", verdict.is_linked},
          {"linked_in_all", verdict.is_linked_all},
          {"shown", verdict.shown},
          {"shown_of_all", verdict.shown_all},
          {"not_shown", verdict.unlinked},
          {"query", verdict.query},
          {"answer", verdict.says}};
}

void print_figures(const std::vector<QuestionVerdict>& verdicts, const char* by) {
  std::map<std::string, Figures> databases;
  Figures all;
  for (const QuestionVerdict& verdict : verdicts) {
    databases[verdict.question.database].add(verdict);
    all.add(verdict);
  }
  Table table({"DATABASE", "QUESTIONS", "LINKED", "LINKED IN ALL", "RIGHT", "SURE", "WRONG, DOUBTED", "WRONG, SURE",
               "ASKED BACK", "FAILED"});
  for (const auto& [name, figures] : databases) table.add(figures.row(name));
  table.add(all.row("all"));
  print_line(std::string("Answers ") + by + ":");
  table.print();
  print_line("Of all databases as one schema at most " + std::to_string(std::lround(100 * all.shown_all)) +
             " % of the tables are shown.");
}

Exit measure_dataset(const Settings& settings, MeasureOptions options) {
  const Result<std::string> dsn = reach_as_owner(choose_database(settings));
  if (!dsn) return dsn.error();
  const CatalogueOptions configured = catalogue_options_from_environment();
  std::vector<bool> passes = {false};
  if (configured.models.names_a_model()) passes.push_back(true);
  bool is_sound = true;
  for (const bool with_model : passes) {
    options.with_model = with_model;
    const Result<std::vector<QuestionVerdict>> verdicts = measure_questions(*dsn, options);
    if (!verdicts) return verdicts.error();
    Figures all;
    for (const QuestionVerdict& verdict : *verdicts) {
      all.add(verdict);
      if (settings.json) print_json(verdict_json(verdict));
    }
    is_sound = is_sound && (with_model || all.wrong_sure == 0);
    const char* by = with_model ? "with the model" : "offline";
    if (settings.json)
      print_json({{"answers", by}, {"figures", all.json()}});
    else
      print_figures(*verdicts, by);
  }
  return is_sound ? exit_ok : exit_finding;
}

}  // namespace

void add_dataset(CommandLine& line) {
  CLI::App& group =
      add_group(line, "dataset", "The sample data that round_planner answers questions on", "cairn dataset load");
  add_command(line, group, "load", "Load it into the database, with a login that may only read it",
              "cairn dataset load", load_dataset);
  auto& options = line.keep<MeasureOptions>();
  auto& without_comments = line.keep<bool>();
  CLI::App& measure =
      add_command(line, group, "measure",
                  "Answer a folder of questions with reference queries; exit 1 if a wrong answer has no doubt",
                  "cairn dataset measure", [&](const Settings& settings) {
                    options.comments = !without_comments;
                    return measure_dataset(settings, options);
                  });
  measure.add_option("FOLDER", options.folder, "NAME.sql, NAME.json and questions.jsonl")->required()->type_name("");
  measure.add_option("--only", options.only, "Only this database (repeatable)")->type_name("NAME");
  measure.add_flag("--no-comments", without_comments, "Do not load the descriptions as comments");
}

}  // namespace cairn

#include "ops/trials/trial_table.hpp"

#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

constexpr const char* all_planners = "all";

std::string row_of(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

std::string stand_in_cell(const TrialFigures& figures) {
  return std::to_string(figures.faulted_right) + " of " + std::to_string(figures.faulted);
}

// The cells of one planner in one way of answering, or as many "-".
std::vector<std::string> cells_of(const TrialPasses& passes, TrialAnswers answers, const std::string& planner) {
  const bool is_offline = answers == TrialAnswers::offline;
  const auto pass = passes.find(answers);
  if (pass == passes.end() || !pass->second.contains(planner))
    return std::vector<std::string>(is_offline ? 5 : answers == TrialAnswers::stand_in ? 4 : 3, "-");
  const TrialFigures& figures = pass->second.at(planner);
  const std::string right = std::to_string(figures.right);
  if (is_offline)
    return {right, std::to_string(figures.asked_back), std::to_string(figures.failed),
            std::to_string(figures.wrong_doubted), std::to_string(figures.wrong_sure)};
  std::vector<std::string> cells = {right, std::to_string(figures.calls), std::to_string(figures.repairs)};
  if (answers == TrialAnswers::stand_in) cells.insert(cells.begin() + 1, stand_in_cell(figures));
  return cells;
}

std::string tasks_of(const TrialPasses& passes, const std::string& planner) {
  for (const auto& [answers, figures] : passes)
    if (figures.contains(planner)) return std::to_string(figures.at(planner).tasks);
  return "";
}

}  // namespace

void TrialFigures::add(const TrialVerdict& verdict) {
  const bool is_right = verdict.outcome == "right";
  ++tasks;
  right += is_right ? 1 : 0;
  faulted += verdict.is_faulted ? 1 : 0;
  faulted_right += verdict.is_faulted && is_right ? 1 : 0;
  calls += verdict.calls;
  repairs += verdict.repairs;
  changed += verdict.changed;
  if (verdict.outcome == "asked_back") ++asked_back;
  if (verdict.outcome == "failed") ++failed;
  if (verdict.outcome == "wrong") ++(verdict.is_doubted ? wrong_doubted : wrong_sure);
}

Json TrialFigures::json() const {
  return {{"tasks", tasks},
          {"right", right},
          {"asked_back", asked_back},
          {"failed", failed},
          {"wrong_with_doubt", wrong_doubted},
          {"wrong_without_doubt", wrong_sure},
          {"with_faults", faulted},
          {"with_faults_right", faulted_right},
          {"calls", calls},
          {"repairs", repairs},
          {"changed_prompts", changed}};
}

std::map<std::string, TrialFigures> figures_of(const std::vector<TrialVerdict>& verdicts) {
  std::map<std::string, TrialFigures> figures;
  for (const TrialVerdict& verdict : verdicts) {
    figures[verdict.planner].add(verdict);
    figures[all_planners].add(verdict);
  }
  return figures;
}

std::string trial_table(const TrialPasses& passes) {
  const TrialAnswers with_model = passes.contains(TrialAnswers::model) ? TrialAnswers::model : TrialAnswers::recordings;
  std::vector<std::string> head = {"Planner", "Tasks", "Stand-in", "faults",  "calls", "repairs",
                                   "Offline", "asked", "failed",   "doubted", "wrong"};
  const bool has_model = passes.contains(with_model);
  if (has_model)
    for (const char* cell : {"Model", "calls", "repairs"}) head.emplace_back(cell);
  std::string table = row_of(head) + row_of(std::vector<std::string>(head.size(), "---"));
  std::vector<std::string> planners = measured_planners();
  planners.emplace_back(all_planners);
  for (const std::string& planner : planners) {
    std::vector<std::string> cells = {planner == all_planners ? planner : "`" + planner + "`",
                                      tasks_of(passes, planner)};
    if (cells.back().empty()) continue;
    std::vector<TrialAnswers> columns = {TrialAnswers::stand_in, TrialAnswers::offline};
    if (has_model) columns.push_back(with_model);
    for (const TrialAnswers answers : columns)
      for (std::string& cell : cells_of(passes, answers, planner)) cells.push_back(std::move(cell));
    table += row_of(cells);
  }
  return table;
}

namespace {

// A page, and the place of the table in it.
struct TablePage {
  std::string text;
  std::size_t from = 0;
  std::size_t to = 0;
};

Result<TablePage> read_page(const std::string& page) {
  Result<std::string> text = read_text_file(page, "the page of the table");
  if (!text) return text.error();
  const std::size_t begins = text->find(table_begins);
  const std::size_t ends = begins == std::string::npos ? begins : text->find(table_ends, begins);
  if (ends == std::string::npos)
    return Error{Code::invalid, "Expected the lines \"" + std::string(table_begins) + "\" and \"" + table_ends +
                                    "\" in " + page + ", but they are not there."};
  return TablePage{*std::move(text), begins + std::string(table_begins).size(), ends};
}

}  // namespace

Status check_page(const std::string& page) {
  const Result<TablePage> read = read_page(page);
  return read ? Status(Done{}) : Status(read.error());
}

Status write_table(const std::string& page, const std::string& table) {
  Result<TablePage> read = read_page(page);
  if (!read) return read.error();
  read->text.replace(read->from, read->to - read->from, "\n" + table);
  return write_text_file(page, read->text, "the table");
}

}  // namespace cairn

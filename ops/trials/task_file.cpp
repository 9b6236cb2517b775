#include "ops/trials/task_file.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "ops/trials/checks.hpp"
#include "ops/trials/stand_in.hpp"
#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

const std::set<std::string> kinds = {"easy", "hard", "ambiguous", "refused", "hostile"};
const std::set<std::string> task_members = {
    "name",      "about",   "kind",    "input",  "repository",        "database",
    "documents", "answers", "replies", "checks", "checks_with_faults"};

std::optional<std::string> unknown_member(const Json& object, const std::set<std::string>& known) {
  for (const auto& [name, value] : object.items())
    if (!known.contains(name)) return name;
  return std::nullopt;
}

std::string text_member(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

// A name that is part of a path.
bool is_plain_name(const std::string& name) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= 80 && std::all_of(name.begin(), name.end(), is_plain);
}

Error no_task(const std::string& fault) {
  return {Code::invalid, "Expected a task that can be run, but " + fault + "."};
}

Status verify_answers(const Json& answers) {
  if (!answers.is_array()) return no_task("its answers are no list");
  for (const Json& answer : answers) {
    if (!answer.is_object() || !answer.contains("value")) return no_task("an answer has no value");
    if (answer.contains("if") && !answer["if"].is_string()) return no_task("the \"if\" of an answer is no text");
  }
  return Done{};
}

Status verify_documents(const Json& task, const Json& documents) {
  const Json names = task.value("documents", Json::array());
  if (!names.is_array()) return no_task("its documents are no list");
  for (const Json& name : names)
    if (!name.is_string() || !documents.contains(name.get<std::string>()))
      return no_task("the file has no document " + excerpt(name, 100));
  return Done{};
}

Status verify_task(const Json& task, const TrialFile& file) {
  if (!is_plain_name(text_member(task, "name"))) return no_task("its name is not of small letters, digits and _");
  if (const auto unknown = unknown_member(task, task_members)) return no_task("it has an unknown \"" + *unknown + "\"");
  if (text_member(task, "about").empty()) return no_task("it does not say what it is about");
  if (!kinds.contains(text_member(task, "kind")))
    return no_task("its kind is none of easy, hard, ambiguous, refused, hostile");
  if (!task.value("input", Json()).is_object()) return no_task("its input is no object");
  if (const std::string name = text_member(task, "repository"); !name.empty() && !file.repositories.contains(name))
    return no_task("the file has no repository " + name);
  if (const std::string name = text_member(task, "database"); !name.empty() && !is_plain_name(name))
    return no_task("its database has no plain name");
  if (Status documents = verify_documents(task, file.documents); !documents) return documents;
  if (Status answers = verify_answers(task.value("answers", Json::array())); !answers) return answers;
  if (Status checks = verify_checks(task.value("checks", Json())); !checks) return checks;
  if (task.contains("checks_with_faults"))
    if (Status checks = verify_checks(task["checks_with_faults"]); !checks) return checks;
  return verify_replies(task.value("replies", Json()));
}

TrialTask task_of(const Json& task) {
  TrialTask made;
  made.name = text_member(task, "name");
  made.kind = text_member(task, "kind");
  made.input = task["input"];
  made.repository = text_member(task, "repository");
  made.database = text_member(task, "database");
  for (const Json& name : task.value("documents", Json::array())) made.documents.push_back(name.get<std::string>());
  made.answers = task.value("answers", Json::array());
  made.replies = task["replies"];
  made.checks = task["checks"];
  made.checks_with_faults = task.value("checks_with_faults", Json());
  return made;
}

Result<TrialFile> read_trial_file(const std::string& path, const std::string& planner) {
  const auto refused = [&path](Code code, const std::string& sentence) {
    return Error{code, "In " + path + ": " + sentence};
  };
  const Result<std::string> text = read_text_file(path, "the tasks of " + planner);
  if (!text) return text.error();
  if (text->size() > tasks_bytes_max)
    return refused(Code::limit, "Expected at most " + std::to_string(tasks_bytes_max) + " bytes of tasks, but it has " +
                                    std::to_string(text->size()) + ".");
  const Result<Json> read = parse_json(*text, "the tasks of " + planner);
  if (!read) return read.error();
  const Json tasks = read->is_object() ? read->value("tasks", Json()) : Json();
  if (!tasks.is_array() || tasks.empty() || tasks.size() > tasks_max)
    return refused(Code::invalid, "Expected {\"tasks\": [...]} with 1 to " + std::to_string(tasks_max) +
                                      " tasks, but there are none or too many.");
  TrialFile file{planner, read->value("repositories", Json::object()), read->value("documents", Json::object()), {}};
  if (!file.repositories.is_object() || !file.documents.is_object())
    return refused(Code::invalid, "Expected repositories and documents by name, but they are no objects.");
  std::set<std::string> names;
  for (const Json& task : tasks) {
    if (!task.is_object()) return refused(Code::invalid, "Expected a task, but got " + excerpt(task, 100) + ".");
    Status verified = verify_task(task, file);
    if (verified && !names.insert(text_member(task, "name")).second) verified = no_task("another one has its name");
    if (!verified)
      return refused(verified.error().code,
                     "Of " + excerpt(task.value("name", Json("")), 80) + ": " + verified.error().message);
    file.tasks.push_back(task_of(task));
  }
  return file;
}

}  // namespace

bool TrialTask::has_faults() const {
  return std::any_of(replies.begin(), replies.end(), [](const Json& reply) { return reply.contains("faults"); });
}

const std::vector<std::string>& measured_planners() {
  static const std::vector<std::string> planners = {"venture_scope", "plan_decomposer", "page_agent", "seven_node",
                                                    "round_planner"};
  return planners;
}

Result<std::vector<TrialFile>> read_trials(const std::string& folder, const std::vector<std::string>& planners) {
  for (const std::string& planner : planners)
    if (std::find(measured_planners().begin(), measured_planners().end(), planner) == measured_planners().end())
      return Error{Code::invalid, "Expected a planner that can be measured, but \"" + planner + "\" is none."};
  std::vector<TrialFile> files;
  for (const std::string& planner : measured_planners()) {
    const bool is_named = std::find(planners.begin(), planners.end(), planner) != planners.end();
    const std::string path = (std::filesystem::path(folder) / (planner + ".json")).string();
    if (!planners.empty() && !is_named) continue;
    if (!is_named && !std::filesystem::exists(path)) continue;
    Result<TrialFile> file = read_trial_file(path, planner);
    if (!file) return file.error();
    files.push_back(*std::move(file));
  }
  if (files.empty())
    return Error{Code::not_found, "Expected tasks like " + folder + "/seven_node.json, but there are none."};
  return files;
}

}  // namespace cairn

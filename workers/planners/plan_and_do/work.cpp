#include "workers/planners/plan_and_do/work.hpp"

#include <algorithm>
#include <utility>

#include "workers/handlers/step_fields.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t begins_bytes = 300;    // of a result that is too long to be shown
constexpr std::size_t result_bytes = 2'000;  // of one result that is shown whole

std::string task_of_call(const std::string& call) { return call.substr(0, call.rfind('!')); }

// A box that was ticked in an outline, or a person's word in an edited plan.
bool is_done_already(const PlanNode& task) {
  const Json meta = task.context.is_object() ? task.context.value("meta", Json()) : Json();
  return meta.is_object() && meta.value("done", Json()) == true;
}

std::map<std::string, std::string> texts_of(const Json& object) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : object.items()) texts[name] = value.get<std::string>();
  return texts;
}

}  // namespace

Json shown_result(const std::string& task, const Json& outputs, std::size_t bytes_max) {
  const std::string text = canonical(outputs);
  if (text.size() <= bytes_max) return outputs;
  Json slots = Json::array();
  for (const auto& [name, value] : outputs.items()) slots.push_back(name);
  return {{"from_task", task},
          {"bytes", text.size()},
          {"slots", std::move(slots)},
          {"begins", readable_line(text, std::min(begins_bytes, bytes_max))}};
}

Doing::Doing(const StepInput& input)
    : plan_(plan_seen(input)),
      given_up_(texts_of(channel(input, "given_up", Json::object()))),
      unbound_(texts_of(channel(input, "unbound", Json::object()))) {
  plan_.plan_id = channel(input, "plan_id");
  plan_.goal = channel(input, "goal", "").get<std::string>();
  const Json by_hand = channel(input, "by_hand", Json::object());
  for (const auto& [task, outputs] : by_hand.items()) by_hand_[task] = outputs;
  for (const GoalView& goal : input.plan) {
    if (goal.tool.empty()) {
      status_[goal.id] = goal.status;
      continue;
    }
    Calls& calls = calls_[task_of_call(goal.id)];
    ++calls.count;
    calls.last = &goal;
  }
  for (const RejectedView& goal : input.rejected) {
    Calls& calls = calls_[task_of_call(goal.id)];
    ++calls.count;
    if (goal.id.ends_with("!" + std::to_string(calls.count))) calls.rejection = goal.reason;
  }
  for (const PlanNode& node : plan_.nodes()) {
    if (is_leaf(node.id) && is_done_already(node)) by_hand_.emplace(node.id, Json::object());
  }
  // Children come after their parents, so each task is looked at after all that it is made of.
  for (auto node = plan_.nodes().rbegin(); node != plan_.nodes().rend(); ++node) {
    const std::vector<const PlanNode*> children = plan_.children(node->id);
    const bool is_by_parts = std::all_of(children.begin(), children.end(),
                                         [this](const PlanNode* child) { return done_.contains(child->id); });
    if (children.empty() ? is_leaf_done(node->id) : is_by_parts) done_.insert(node->id);
  }
}

bool Doing::is_leaf_done(const std::string& leaf) const {
  if (by_hand_.contains(leaf)) return true;
  const auto calls = calls_.find(leaf);
  return calls != calls_.end() && calls->second.last != nullptr && calls->second.last->status == GoalStatus::succeeded;
}

bool Doing::is_all_done() const {
  const std::vector<const PlanNode*> roots = plan_.children("");
  return !roots.empty() &&
         std::all_of(roots.begin(), roots.end(), [this](const PlanNode* root) { return is_done(root->id); });
}

bool Doing::is_some_done() const {
  return std::any_of(plan_.nodes().begin(), plan_.nodes().end(),
                     [this](const PlanNode& node) { return is_leaf(node.id) && is_done(node.id); });
}

// Why a leaf's last call did not bring it about; nothing if it has none, or it is not over.
std::optional<std::string> Doing::failure_of_call(const std::string& task) const {
  const auto found = calls_.find(task);
  if (found == calls_.end()) return std::nullopt;
  const Calls& calls = found->second;
  if (calls.rejection) return calls.rejection;
  const GoalStatus status = calls.last->status;
  if (status != GoalStatus::failed && status != GoalStatus::skipped) return std::nullopt;
  return calls.last->message.empty() ? "It ended with " + calls.last->error + "." : calls.last->message;
}

bool Doing::is_waiting(const PlanNode& leaf) const {
  for (const PlanNode* node : plan_.path(leaf.id)) {
    for (const std::string& before : node->dependencies) {
      if (!is_done(before)) return true;
    }
  }
  return false;
}

std::vector<const PlanNode*> Doing::ready() const {
  std::vector<const PlanNode*> ready;
  for (const PlanNode& node : plan_.nodes()) {
    const bool is_settled = !is_leaf(node.id) || is_done(node.id) || given_up_.contains(node.id) ||
                            unbound_.contains(node.id) || failure_of_call(node.id);
    if (!is_settled && !is_waiting(node)) ready.push_back(&node);
  }
  return ready;
}

std::vector<Trouble> Doing::troubles() const {
  std::vector<Trouble> troubles;
  for (const PlanNode& node : plan_.nodes()) {
    if (!is_leaf(node.id) || is_done(node.id) || given_up_.contains(node.id)) continue;
    if (std::optional<std::string> reason = failure_of_call(node.id)) {
      troubles.push_back({node.id, *std::move(reason), false});
    } else if (const auto unbound = unbound_.find(node.id); unbound != unbound_.end()) {
      troubles.push_back({node.id, unbound->second, true});
    }
  }
  return troubles;
}

std::string Doing::new_call(const std::string& task) const {
  const auto calls = calls_.find(task);
  return task + "!" + std::to_string(calls == calls_.end() ? 1 : calls->second.count + 1);
}

Json Doing::outputs(const std::string& task) const {
  if (!is_leaf(task) || !is_done(task)) return nullptr;
  const auto by_hand = by_hand_.find(task);
  return by_hand != by_hand_.end() ? by_hand->second : calls_.at(task).last->outputs;
}

std::string Doing::call_of(const std::string& task) const {
  return by_hand_.contains(task) ? "" : calls_.at(task).last->id;
}

Json Doing::failure_json(const PlanNode& leaf, const std::string& reason) const {
  Json failed = {{"id", leaf.id}, {"name", leaf.name}, {"reason", reason}};
  const auto calls = calls_.find(leaf.id);
  if (calls == calls_.end() || calls->second.last == nullptr) return failed;
  failed["tool"] = calls->second.last->tool;
  failed["inputs"] = shown_result(leaf.id, calls->second.last->inputs, result_bytes);
  failed["attempts"] = calls->second.last->attempts;
  return failed;
}

Json Doing::progress(std::size_t bytes_max) const {
  Json progress = {{"verified_state", Json::object()}, {"done", Json::array()}, {"failed", Json::array()}};
  std::size_t bytes = canonical(progress).size();
  std::size_t left_out = 0;
  const auto fits = [&](std::size_t more) {
    const bool has_room = bytes + more <= bytes_max;
    has_room ? bytes += more : ++left_out;
    return has_room;
  };
  const std::vector<PlanNode>& nodes = plan_.nodes();
  // The failure of a task that was broken down afterwards is shown until its parts have brought it about.
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    std::optional<std::string> reason = failure_of_call(node->id);
    if (const auto unbound = unbound_.find(node->id); !reason && unbound != unbound_.end()) reason = unbound->second;
    if (!reason || is_done(node->id)) continue;
    Json failed = failure_json(*node, *reason);
    if (fits(canonical(failed).size() + 1)) progress["failed"].push_back(std::move(failed));
  }
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (!is_leaf(node->id) || !is_done(node->id)) continue;
    const Json result = shown_result(node->id, outputs(node->id), result_bytes);
    Json done = {{"id", node->id}, {"name", node->name}};
    done["tool"] = by_hand_.contains(node->id) ? Json(nullptr) : Json(calls_.at(node->id).last->tool);
    if (!fits(canonical(result).size() + canonical(done).size() + node->id.size() + 5)) continue;
    progress["verified_state"][node->id] = result;
    progress["done"].insert(progress["done"].begin(), std::move(done));
  }
  if (progress["done"].empty() && progress["failed"].empty() && left_out == 0) return nullptr;
  if (left_out > 0) progress["left_out"] = left_out;
  return progress;
}

// In the order in which a reader of the tree meets them.
Json Doing::tasks_json() const {
  Json tasks = Json::array();
  std::vector<const PlanNode*> ahead = plan_.children("");
  std::reverse(ahead.begin(), ahead.end());
  while (!ahead.empty()) {
    const PlanNode& node = *ahead.back();
    ahead.pop_back();
    const std::vector<const PlanNode*> children = plan_.children(node.id);
    ahead.insert(ahead.end(), children.rbegin(), children.rend());
    if (children.empty()) tasks.push_back(task_json(node));
  }
  return tasks;
}

Json Doing::task_json(const PlanNode& node) const {
  Json task = {{"id", node.id}, {"name", node.name}};
  const auto calls = calls_.find(node.id);
  if (calls != calls_.end() && calls->second.last != nullptr && !by_hand_.contains(node.id)) {
    task["tool"] = calls->second.last->tool;
    task["inputs"] = calls->second.last->inputs;
  }
  if (is_done(node.id)) {
    task["status"] = "done";
    task["outputs"] = outputs(node.id);
    if (by_hand_.contains(node.id)) task["by"] = "person";
  } else if (const auto given_up = given_up_.find(node.id); given_up != given_up_.end()) {
    task["status"] = "failed";
    task["reason"] = given_up->second;
  } else {
    task["status"] = "blocked";
  }
  return task;
}

std::vector<std::string> Doing::failed() const {
  std::vector<std::string> ids;
  for (const PlanNode& node : plan_.nodes()) {
    if (is_leaf(node.id) && given_up_.contains(node.id)) ids.push_back(node.id);
  }
  return ids;
}

// The tasks that were given up, and those that they are part of.
std::set<std::string> Doing::given_up_or_above() const {
  std::set<std::string> tasks;
  const std::vector<PlanNode>& nodes = plan_.nodes();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {  // parts come before their parents
    if (is_leaf(node->id) && given_up_.contains(node->id)) tasks.insert(node->id);
    if (tasks.contains(node->id) && !node->parent.empty()) tasks.insert(node->parent);
  }
  return tasks;
}

Json Doing::status_changes() const {
  const std::set<std::string> given_up = given_up_or_above();
  Json changes = Json::array();
  for (const PlanNode& node : plan_.nodes()) {
    GoalStatus status = given_up.contains(node.id) ? GoalStatus::failed : GoalStatus::planned;
    if (is_done(node.id)) status = GoalStatus::succeeded;
    if (status_.at(node.id) != status)
      changes.push_back({{"op", "update"}, {"id", node.id}, {"status", to_string(status)}});
  }
  return changes;
}

}  // namespace cairn

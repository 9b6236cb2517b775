// The handlers that break a plan down level by level: one task after another, or several of a level side by side, is
// shown to the model, its reply is put on record, then held against the rules, then written as one event. Where a run
// stands is in its channels, so a budget outlives its worker.
#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <optional>
#include <set>
#include <utility>

#include "workers/handlers/model_call.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/planners/plan_decomposer/level.hpp"
#include "workers/planners/plan_decomposer/outline.hpp"
#include "workers/planners/plan_decomposer/prompts.hpp"
#include "workers/planners/plan_decomposer/queue.hpp"
#include "workers/planners/plan_decomposer/result.hpp"
#include "workers/planners/plan_decomposer/settings.hpp"
#include "workers/planners/planners.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using namespace decomposing;

constexpr std::size_t name_bytes_max = 200;

Record rewritten(const char* rule, Json from, Json to) {
  return record(RecordKind::decision_rewritten,
                {{"rule", rule}, {"order", 1}, {"from", std::move(from)}, {"to", std::move(to)}});
}

// --- load ------------------------------------------------------------------------------------------------------------
Result<Assignment> read_assignment(const StepInput& input, const PlanTree& plan) {
  Result<DecompositionSettings> settings =
      read_settings(channel(input, "options"), input.with.value("options", Json()));
  if (!settings) return settings.error();
  const Json node = channel(input, "node_id");
  const Json mode = channel(input, "mode", node.is_null() ? "plan_bfs" : "single_node");
  if (mode != "plan_bfs" && mode != "single_node")
    return Error{Code::invalid, "Expected the mode plan_bfs or single_node, but it is " + excerpt(mode, 60) + "."};
  if ((mode == "single_node") == node.is_null())
    return Error{Code::invalid,
                 "Expected a node_id with the mode single_node and none with plan_bfs, but the mode is " +
                     mode.get<std::string>() + " and the node_id " + excerpt(node, 60) + "."};
  Assignment assignment{*std::move(settings), mode, node.is_null() ? "" : reply_id(node)};
  if (assignment.is_single() && plan.find(assignment.root) == nullptr)
    return Error{Code::not_found,
                 "Expected node " + assignment.root + " to be a task of the plan, but there is none of that id."};
  return assignment;
}

StepResult load(const StepInput& input) {
  const Result<OutlinePlan> given = plan_given(input.data);
  if (!given) return failure_of(given.error());
  const PlanTree& plan = given->tree;
  const Result<Assignment> assignment = read_assignment(input, plan);
  if (!assignment) return failure_of(assignment.error());
  Entrance entrance{*assignment};
  if (assignment->is_single()) {
    entrance.queue.push_back({{"id", assignment->root}, {"depth", 0}});
  } else {
    for (const PlanNode* root : plan.children("")) entrance.let_in(*root, 0, !plan.children(root->id).empty());
  }
  Outcome outcome{plan.size() == 0 ? "empty" : "loaded", Json::object(), plan_facts(plan)};
  for (const DroppedDependency& one : given->dropped)
    outcome.facts.emplace_back(rewritten(one.rule.c_str(), {{"task", one.task}, {"after", one.dependency}}, nullptr));
  outcome.patch = {{"job", assignment_json(*assignment)}, {"plan_id", plan.plan_id},    {"goal", plan.goal},
                   {"base_version", plan.version},        {"tasks_given", plan.size()}, {"removed", Json::array()},
                   {"dropped", given->dropped.size()}};
  if (plan.size() == 0) outcome.patch["stopped"] = "empty_plan";
  entrance.leave(outcome.patch);
  return outcome;
}

// --- next ------------------------------------------------------------------------------------------------------------
// The budget that is used up, if one is.
std::optional<BudgetExhausted> exhausted(const StepInput& input, const Assignment& assignment) {
  const BudgetExhausted nodes{"nodes", assignment.settings.total_node_budget, count(input, "nodes_created")};
  if (nodes.used >= nodes.cap) return nodes;
  const BudgetExhausted calls{"llm_calls", assignment.settings.max_llm_calls, count(input, "llm_calls")};
  if (calls.used >= calls.cap) return calls;
  return std::nullopt;
}

StepResult next(const StepInput& input) {
  const Assignment assignment = assignment_of(input);
  const PlanTree plan = named_plan(input);
  Walk walk(input, plan, assignment);
  Outcome outcome{"expand", Json::object(), {}};
  const std::optional<Target> target = walk.to_expand(outcome);
  const bool is_drained = !target && walk.is_at_end();
  walk.leave(outcome.patch);
  if (target) {
    outcome.patch["target"] = {{"id", target->id}, {"depth", target->depth}};
    if (const std::optional<BudgetExhausted> budget = exhausted(input, assignment)) {
      outcome.label = "done";
      outcome.patch["stopped"] = budget->name == "nodes" ? "node_budget" : "llm_calls";
      outcome.facts.emplace_back(*budget);
    }
    return outcome;
  }
  outcome.label = is_drained ? "done" : "again";
  const std::int64_t depth_limited =
      count(input, "depth_limited") + outcome.patch.value("depth_limited", std::int64_t{0});
  if (is_drained && depth_limited > 0) outcome.patch["stopped"] = "depth";
  return outcome;
}

// --- advance ---------------------------------------------------------------------------------------------------------
// As next, but several tasks of a level leave together, and their replies come back through here one by one.
StepResult advance(const StepInput& input) {
  const Assignment assignment = assignment_of(input);
  if (std::optional<Outcome> reply = next_of_batch(input, assignment)) return *std::move(reply);
  StepResult single = next(input);
  if (!single || single->label != "expand") return single;
  if (std::optional<Outcome> level = level_ahead(input, assignment)) return *std::move(level);
  return single;
}

// --- expand ----------------------------------------------------------------------------------------------------------
DecompositionTask task_of(const Assignment& assignment, const Target& target) {
  return {target.id, assignment.mode, static_cast<std::size_t>(assignment.settings.max_children),
          static_cast<std::size_t>(assignment.settings.outline_bytes_max),
          assignment.settings.stop_on_empty && assignment.has_run_scope()};
}

ModelRequest request_of(const StepInput& input, const Assignment& assignment, const DecompositionTask& task) {
  const bool was_bad = input.fault_error == "bad_reply";
  ModelRequest request = request_for(input);
  request.model = assignment.settings.model;
  request.options = assignment.settings.options;
  request.messages =
      decomposition_messages(named_plan(input), task, was_bad ? input.fault : "", channel(input, "progress"));
  request.schema = decomposition_reply_schema();
  request.schema_name = decomposition_schema;
  return request;
}

StepResult read_reply(const StepInput& input, const DecompositionTask& task, const ModelReply& reply) {
  if (!reply.value.is_object()) return bad_reply("Expected the decomposition as JSON, but the reply has none.");
  if (Status fits = check_reply(reply.value, task); !fits) return bad_reply(std::move(fits).error().message);
  Outcome outcome{"replied", {{"reply", reply.value}}, {}};
  outcome.patch["source"] = source_of(reply);
  outcome.patch["llm_calls"] = input.errors + 1;
  outcome.patch["tokens_in"] = reply.tokens_in;
  outcome.patch["tokens_out"] = reply.tokens_out;
  outcome.patch["cost"] = reply.cost;
  return outcome;
}

std::string cause_of(const std::string& error) { return error == "bad_reply" ? "format" : error; }

Record decomposition_failed(const StepInput& input, const Assignment& assignment, const Target& target,
                            const Failure& failure) {
  return record(RecordKind::decomposition_failed, {{"target", target.id},
                                                   {"mode", assignment.mode},
                                                   {"depth", target.depth},
                                                   {"attempt", input.attempt},
                                                   {"error", cause_of(failure.error)},
                                                   {"reason", failure.message}});
}

asio::awaitable<StepResult> expand(StepInput input, Ports& ports) {
  const Assignment assignment = assignment_of(input);
  // In a map over a level the target is the item; the node's settings say so.
  const Target target = target_of(input.with.contains("target") ? input.with["target"] : input.data.at("target"));
  if (named_plan(input).find(target.id) == nullptr)
    co_return failure("not_found", "Expected task " + target.id + " to be in the plan, but it is not.", false);
  const DecompositionTask task = task_of(assignment, target);
  ModelRequest request = request_of(input, assignment, task);
  const auto read = [&input, &task](const ModelReply& reply) { return read_reply(input, task, reply); };
  StepResult result = co_await ask_model(std::move(request), ports, read);
  if (!result) {
    Failure& failure = result.error();
    const std::int64_t calls = count(input, "llm_calls") + input.errors + 1;
    failure.retryable = input.errors < assignment.settings.retry_limit && calls < assignment.settings.max_llm_calls;
    failure.facts.emplace_back(decomposition_failed(input, assignment, target, failure));
  }
  co_return result;
}

// --- write -----------------------------------------------------------------------------------------------------------
// A reply on its way into the plan: each rule that changes it says so.
struct Writing {
  const Assignment& assignment;
  const Target& target;
  PlanTree plan;
  Outcome outcome{"written", Json::object(), {}};
  std::vector<PlanNode> children = {};
  bool is_over_budget = false;
};

std::vector<PlanNode> children_of(const Json& reply, const Target& target) {
  std::vector<PlanNode> children;
  for (const Json& child : reply.at("children")) {
    PlanNode node{
        "", target.id, "", child.at("instruction"), {}, child.value("context", Json()), child.value("leaf", false)};
    node.name = readable_line(child.at("name").get<std::string>(), name_bytes_max);
    for (const Json& id : child.value("dependencies", Json::array())) node.dependencies.push_back(reply_id(id));
    children.push_back(std::move(node));
  }
  return children;
}

void cut_to(Writing& writing, const char* rule, std::int64_t most) {
  const std::size_t given = writing.children.size();
  if (given <= static_cast<std::size_t>(most)) return;
  writing.children.resize(static_cast<std::size_t>(most));
  writing.outcome.facts.emplace_back(
      rewritten(rule, {{"target", writing.target.id}, {"children", given}}, {{"children", most}}));
}

void force_leaves(Writing& writing) {
  if (!writing.assignment.is_single() || writing.assignment.settings.expand_depth != 1) return;
  for (PlanNode& child : writing.children) child.leaf = true;
}

// Removes the subtree below the target, and the dependencies on it.
void remove_existing(Writing& writing) {
  const std::vector<const PlanNode*> below = writing.plan.below(writing.target.id);
  if (!writing.assignment.is_single() || writing.assignment.settings.existing_children != "overwrite" ||
      writing.target.depth > 0)
    return;
  if (below.empty() || writing.children.empty()) return;
  std::set<std::string> gone;
  Json changes = Json::array();
  for (const PlanNode* node : below) {
    gone.insert(node->id);
    changes.push_back({{"op", "remove"}, {"id", node->id}});
  }
  PlanTree left = without(writing.plan, gone);
  for (const PlanNode& node : left.nodes()) {
    if (node.dependencies != writing.plan.find(node.id)->dependencies)
      changes.push_back({{"op", "update"}, {"id", node.id}, {"after", node.dependencies}});
  }
  writing.outcome.facts.emplace_back(PlanRevised{writing.plan.version + 1, "overwrite", std::move(changes)});
  writing.outcome.patch["removed"] = gone;
  writing.plan = std::move(left);
}

// A task for which there are no sub-tasks is one that is done as it stands.
void make_leaf(Writing& writing) {
  const PlanNode* target = writing.plan.find(writing.target.id);
  if (!writing.children.empty() || target->leaf || !writing.plan.children(target->id).empty()) return;
  writing.plan.make_leaf(target->id);
  Json change = {{"op", "update"}, {"id", target->id}, {"context", plan_child(*target).context}};
  writing.outcome.facts.emplace_back(PlanRevised{writing.plan.version + 1, "leaf", Json::array({std::move(change)})});
  writing.outcome.patch["leaves"] = {target->id};
}

// Gives the children their ids and puts them into the plan, without the dependencies it cannot have.
std::vector<std::string> add_children(Writing& writing) {
  const std::vector<std::string> ids = writing.plan.new_ids(writing.target.id, writing.children.size());
  for (std::size_t i = 0; i < ids.size(); ++i) writing.children[i].id = ids[i];
  std::vector<std::string> dropped;
  for (const DroppedDependency& one : add_tasks(writing.plan, writing.children)) {
    dropped.push_back(one.dependency);
    writing.outcome.facts.emplace_back(
        rewritten(one.rule.c_str(), {{"task", one.task}, {"after", one.dependency}}, nullptr));
  }
  return dropped;
}

void put_on_record(Writing& writing, const std::vector<std::string>& dropped, std::size_t given) {
  TaskDecomposed fact{writing.target.id,
                      writing.assignment.mode,
                      static_cast<std::int32_t>(writing.target.depth),
                      {},
                      dropped,
                      static_cast<std::int32_t>(given - writing.children.size())};
  for (const PlanNode& child : writing.children) fact.children.push_back(plan_child(*writing.plan.find(child.id)));
  Json& patch = writing.outcome.patch;
  patch["processed"] = {writing.target.id};
  patch["nodes_created"] = writing.children.size();
  patch["dropped"] = dropped.size();
  patch["truncated"] = fact.truncated;
  writing.outcome.facts.emplace_back(std::move(fact));
}

// Why the run ends with this reply; "" if it goes on.
std::string stop_after(const Json& reply, const Writing& writing) {
  if (writing.is_over_budget) return "node_budget";
  if (!writing.assignment.has_run_scope()) return "";
  if (reply.at("should_stop") == true) return "llm_should_stop: " + reply.at("reason").get<std::string>();
  return reply.at("children").empty() && writing.assignment.settings.stop_on_empty ? "empty_children" : "";
}

StepResult write(const StepInput& input) {
  const Assignment assignment = assignment_of(input);
  const Target target = target_of(input.data.at("target"));
  const Json& reply = input.data.at("reply");
  Writing writing{assignment, target, named_plan(input)};
  if (writing.plan.find(target.id) == nullptr)
    return failure("not_found", "Expected task " + target.id + " to be in the plan, but it is not there any more.",
                   false);
  Outcome& outcome = writing.outcome;
  outcome.facts.emplace_back(record(RecordKind::decision_proposed, {{"action", "decompose"},
                                                                    {"target", target.id},
                                                                    {"mode", assignment.mode},
                                                                    {"reason", reply.at("reason")},
                                                                    {"source", channel(input, "source")}}));
  writing.children = children_of(reply, target);
  const std::size_t given = writing.children.size();
  cut_to(writing, "max_children", assignment.settings.max_children);
  const std::int64_t budget = assignment.settings.total_node_budget - count(input, "nodes_created");
  writing.is_over_budget = static_cast<std::int64_t>(writing.children.size()) > budget;
  cut_to(writing, "node_budget", budget);
  force_leaves(writing);
  remove_existing(writing);
  put_on_record(writing, add_children(writing), given);
  if (given == 0 && assignment.makes_leaves) make_leaf(writing);
  if (writing.is_over_budget)
    outcome.facts.emplace_back(
        BudgetExhausted{"nodes", assignment.settings.total_node_budget, assignment.settings.total_node_budget});
  if (std::string stopped = stop_after(reply, writing); !stopped.empty()) {
    outcome.label = "stop";
    outcome.patch["stopped"] = std::move(stopped);
    return outcome;
  }
  if (reply.at("should_stop") == true) return outcome;
  Entrance entrance{assignment};
  for (const PlanNode& child : writing.children) entrance.let_in(child, target.depth + 1, false);
  entrance.leave(outcome.patch);
  return outcome;
}

// --- skip ------------------------------------------------------------------------------------------------------------
// A task without a usable reply is left as it is. `given` has the failure; of a task of a batch the channel `skipping`,
// and its calls are counted already.
StepResult skip(const StepInput& input) {
  const Assignment assignment = assignment_of(input);
  const Target target = target_of(input.data.at("target"));
  const bool is_of_batch = !input.given.is_object() || !input.given.contains("error");
  const Json failed = is_of_batch ? input.data.at("skipping") : input.given;
  const bool is_write = failed.at("node") != "expand";
  const std::string word = failed.at("error").get<std::string>();
  const std::string error = is_write ? "write" : cause_of(word);
  Outcome outcome{"go_on", Json::object(), {}};
  outcome.patch["failed"] = Json::array({{{"id", target.id}, {"error", error}, {"reason", failed.at("message")}}});
  if (is_of_batch) return outcome;
  if (!is_write) {
    const std::int64_t left = assignment.settings.max_llm_calls - count(input, "llm_calls");
    outcome.patch["llm_calls"] = std::min(assignment.settings.retry_limit + 1, left);
    return outcome;
  }
  outcome.facts.emplace_back(decomposition_failed(input, assignment, target, {error, failed.at("message"), false, {}}));
  if (assignment.settings.on_write_error == "continue") return outcome;
  outcome.label = "stop";
  outcome.patch["stopped"] = "write_error";
  return outcome;
}

// --- finish ----------------------------------------------------------------------------------------------------------
Json stats_of(const StepInput& input) {
  Json stats = {{"elapsed_ms", input.elapsed_ms}, {"skipped_nodes", channel(input, "skipped", Json::array())}};
  for (const char* name :
       {"llm_calls", "nodes_created", "depth_limited", "truncated", "dropped", "tokens_in", "tokens_out"})
    stats[name] = count(input, name);
  return stats;
}

StepResult finish(const StepInput& input) {
  const Assignment assignment = assignment_of(input);
  const PlanTree plan = named_plan(input);
  Decomposition done{assignment.mode,
                     assignment.root,
                     channel(input, "processed", Json::array()),
                     {},
                     {},
                     channel(input, "stopped", ""),
                     stats_of(input)};
  // The given tasks are first in the plan, and none of a run's own tasks is ever removed.
  const auto given = static_cast<std::size_t>(input.data.at("tasks_given").get<std::int64_t>());
  for (std::size_t i = given; i < input.plan.size(); ++i) {
    if (const PlanNode* node = plan.find(input.plan[i].id)) done.created.push_back(*node);
  }
  for (const Json& one : channel(input, "failed", Json::array()))
    done.failed.push_back({one.at("id"), one.at("error")});
  Outcome outcome{"done", Json::object(), {}};
  outcome.patch["result"] = result_json(plan, done);
  outcome.patch["feedback"] = {{"en", feedback_in_english(plan, done)}, {"zh", feedback_in_chinese(plan, done)}};
  return outcome;
}

}  // namespace

void add_plan_decomposer(HandlerTable& table) {
  table.add(
      "plan_decomposer",
      {{"load", {"loaded", "empty"}, {"plan", "outline", "goal", "node_id", "mode", "options"}, PureHandler(load)},
       {"next",
        {"expand", "again", "done"},
        {"job", "queue", "taken", "nodes_created", "llm_calls", "depth_limited"},
        PureHandler(next),
        reads_the_plan},
       {"advance",
        {"expand", "level", "write", "skip", "again", "done"},
        {"job", "queue", "taken", "nodes_created", "llm_calls", "depth_limited", "batch", "batch_at", "replies",
         "reply_failures"},
        PureHandler(advance),
        reads_the_plan},
       {"expand",
        {"replied"},
        {"job", "plan_id", "goal", "target", "llm_calls", "progress"},
        EffectHandler(expand),
        reads_the_plan},
       {"write",
        {"written", "stop"},
        {"job", "target", "reply", "source", "nodes_created"},
        PureHandler(write),
        reads_the_plan},
       {"skip", {"go_on", "stop"}, {"job", "target", "llm_calls", "skipping"}, PureHandler(skip)},
       {"finish",
        {"done"},
        {"job", "plan_id", "goal", "tasks_given", "processed", "failed", "skipped", "stopped", "llm_calls",
         "nodes_created", "depth_limited", "truncated", "dropped", "tokens_in", "tokens_out"},
        PureHandler(finish),
        reads_the_plan}});
}

}  // namespace cairn

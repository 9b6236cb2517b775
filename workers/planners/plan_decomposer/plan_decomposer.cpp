// Breaks a plan down level by level: one task after another, or several of a level side by side, is shown to the model,
// its reply is put on record, then held against the rules, then written as one event. Where a run stands is in its
// channels, so a budget outlives its worker.
#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <optional>
#include <set>
#include <utility>

#include "workers/handlers/model_call.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/planners/plan_decomposer/outline.hpp"
#include "workers/planners/plan_decomposer/prompts.hpp"
#include "workers/planners/plan_decomposer/result.hpp"
#include "workers/planners/plan_decomposer/settings.hpp"
#include "workers/planners/planners.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr std::size_t skips_max = 2000;  // in one step
constexpr std::size_t name_bytes_max = 200;

std::int64_t count(const StepInput& input, const char* name) { return channel(input, name, 0).get<std::int64_t>(); }

Record rewritten(const char* rule, Json from, Json to) {
  return record(RecordKind::decision_rewritten,
                {{"rule", rule}, {"order", 1}, {"from", std::move(from)}, {"to", std::move(to)}});
}

// --- what a run goes by ----------------------------------------------------------------------------------------------
// The tasks that a run is to decompose, and its settings, as `load` left them in the channel `job`.
struct Assignment {
  DecompositionSettings settings;
  std::string mode;
  std::string root;          // the given task; "": the whole plan
  bool makes_leaves = true;  // of tasks without sub-tasks; runs that began before there was this do not

  bool is_single() const { return !root.empty(); }
  std::int64_t depth_limit() const {
    return is_single() ? std::min(settings.max_depth, settings.expand_depth) : settings.max_depth;
  }
  bool has_run_scope() const { return settings.stop_scope == "run"; }
};

Json assignment_json(const Assignment& assignment) {
  return {{"settings", settings_json(assignment.settings)},
          {"mode", assignment.mode},
          {"root", assignment.root},
          {"makes_leaves", assignment.makes_leaves}};
}

Assignment assignment_of(const StepInput& input) {
  const Json& stored = input.data.at("job");
  return {stored_settings(stored.at("settings")), stored.at("mode"), stored.at("root"),
          stored.value("makes_leaves", false)};
}

PlanTree named_plan(const StepInput& input) {
  PlanTree plan = plan_seen(input);
  plan.plan_id = channel(input, "plan_id");
  plan.goal = channel(input, "goal", "").get<std::string>();
  return plan;
}

struct Target {
  std::string id;
  std::int64_t depth = 0;
};

Target target_of(const Json& entry) { return {entry.at("id"), entry.at("depth")}; }

// Admission to the queue of tasks; tasks that are not to be decomposed are turned away.
struct Entrance {
  const Assignment& assignment;
  Json queue = Json::array();
  std::int64_t depth_limited = 0;

  void let_in(const PlanNode& node, std::int64_t depth, bool has_children) {
    if (node.leaf) return;
    if (depth < assignment.depth_limit()) {
      queue.push_back({{"id", node.id}, {"depth", depth}});
    } else if (!has_children) {
      ++depth_limited;
    }
  }
  void leave(Json& patch) {
    if (!queue.empty()) patch["queue"] = std::move(queue);
    if (depth_limited > 0) patch["depth_limited"] = depth_limited;
  }
};

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
// The queue as a step walks through it: what was there, and what joins it on the way.
class Walk {
 public:
  Walk(const StepInput& input, const PlanTree& plan, const Assignment& assignment)
      : plan_(plan),
        assignment_(assignment),
        queue_(channel(input, "queue", Json::array())),
        first_(static_cast<std::size_t>(count(input, "taken"))),
        entrance_{assignment} {}

  // The next task to decompose; those that have children already are passed by, and their children join the queue.
  std::optional<Target> to_expand(Outcome& outcome) {
    while (const std::optional<Target> target = take()) {
      const PlanNode* node = plan_.find(target->id);
      if (node == nullptr) continue;
      const std::vector<const PlanNode*> children = plan_.children(target->id);
      if (assignment_.is_single() || !assignment_.settings.skip_existing || children.empty()) return target;
      pass_by(*target, children, outcome);
      if (skipped_.size() == skips_max) break;
    }
    return std::nullopt;
  }

  // More tasks of the same depth, right behind the last one, at most so many.
  std::vector<Target> more_of_its_level(const Target& first, std::int64_t most, Outcome& outcome) {
    std::vector<Target> level;
    while (static_cast<std::int64_t>(level.size()) < most && depth_ahead() == first.depth) {
      const std::optional<Target> target = to_expand(outcome);
      if (!target) break;
      level.push_back(*target);
    }
    return level;
  }

  bool is_at_end() const { return first_ + taken_ >= queue_.size() + entrance_.queue.size(); }

  void leave(Json& patch) {
    patch["taken"] = taken_;
    if (!skipped_.empty()) patch["skipped"] = skipped_;
    entrance_.leave(patch);
  }

 private:
  std::optional<Target> ahead() const {
    if (is_at_end()) return std::nullopt;
    const std::size_t at = first_ + taken_;
    return target_of(at < queue_.size() ? queue_[at] : entrance_.queue[at - queue_.size()]);
  }

  std::optional<std::int64_t> depth_ahead() const {
    const std::optional<Target> target = ahead();
    return target ? std::optional<std::int64_t>(target->depth) : std::nullopt;
  }

  std::optional<Target> take() {
    std::optional<Target> target = ahead();
    if (target) ++taken_;
    return target;
  }

  void pass_by(const Target& target, const std::vector<const PlanNode*>& children, Outcome& outcome) {
    skipped_.push_back(target.id);
    outcome.facts.emplace_back(record(RecordKind::decision_proposed, {{"action", "skip"},
                                                                      {"target", target.id},
                                                                      {"mode", assignment_.mode},
                                                                      {"reason", "has_children"},
                                                                      {"source", "rule"}}));
    for (const PlanNode* child : children)
      entrance_.let_in(*child, target.depth + 1, !plan_.children(child->id).empty());
  }

  const PlanTree& plan_;
  const Assignment& assignment_;
  const Json queue_;
  const std::size_t first_;
  std::size_t taken_ = 0;
  std::vector<std::string> skipped_;
  Entrance entrance_;
};

// The budget that is used up, if one is.
std::optional<BudgetExhausted> exhausted(const StepInput& input, const Assignment& assignment) {
  const BudgetExhausted nodes{"nodes", assignment.settings.total_node_budget, count(input, "nodes_created")};
  if (nodes.used >= nodes.cap) return nodes;
  const BudgetExhausted calls{"llm_calls", assignment.settings.max_llm_calls, count(input, "llm_calls")};
  if (calls.used >= calls.cap) return calls;
  return std::nullopt;
}

// How many tasks may be asked about side by side without passing a budget: each call may need its retries, and a reply
// of one child each is the least that is worth its call.
std::int64_t level_most(const StepInput& input, const Assignment& assignment) {
  const DecompositionSettings& settings = assignment.settings;
  const std::int64_t calls = (settings.max_llm_calls - count(input, "llm_calls")) / (settings.retry_limit + 1);
  const std::int64_t nodes = settings.total_node_budget - count(input, "nodes_created");
  return std::min({settings.at_once, calls, nodes});
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
// As next, but several tasks of a level leave together as a `level`, and their replies come back through here one by
// one: each is written, or its task skipped, as if it had been asked about alone.
struct Batch {
  Json targets;   // as the map went over them
  Json replies;   // of the map: what expand left, null where it failed
  Json failures;  // of the map
  std::size_t at = 0;
};

Batch batch_of(const StepInput& input) {
  return {channel(input, "batch", Json::array()), channel(input, "replies", Json::array()),
          channel(input, "reply_failures", Json::array()), static_cast<std::size_t>(count(input, "batch_at"))};
}

// All calls of a batch count when it comes back, whether or not its replies are used.
void count_calls(const Batch& batch, const Assignment& assignment, Json& patch) {
  std::int64_t calls = static_cast<std::int64_t>(batch.failures.size()) * (assignment.settings.retry_limit + 1);
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  double cost = 0;
  for (const Json& reply : batch.replies) {
    if (!reply.is_object()) continue;
    calls += reply.at("llm_calls").get<std::int64_t>();
    tokens_in += reply.at("tokens_in").get<std::int64_t>();
    tokens_out += reply.at("tokens_out").get<std::int64_t>();
    cost += reply.at("cost").get<double>();
  }
  patch["llm_calls"] = calls;
  patch["tokens_in"] = tokens_in;
  patch["tokens_out"] = tokens_out;
  patch["cost"] = cost;
}

// The next reply of a batch that came back, as the single path leaves it for `write` or `skip`.
Outcome next_of_batch(const Batch& batch, const Assignment& assignment) {
  Outcome outcome{"skip", {{"target", batch.targets[batch.at]}, {"batch_at", batch.at + 1}}, {}};
  if (batch.at == 0) count_calls(batch, assignment, outcome.patch);
  const Json reply = batch.at < batch.replies.size() ? batch.replies[batch.at] : Json();
  if (reply.is_object()) {
    outcome.label = "write";
    outcome.patch["reply"] = reply.at("reply");
    outcome.patch["source"] = reply.at("source");
    return outcome;
  }
  Json failed = {{"node", "expand"}, {"error", "lost"}, {"message", "Expected a reply, but there is none."}};
  for (const Json& failure : batch.failures) {
    if (failure.at("index") == batch.at) failed.update(failure);
  }
  failed.erase("index");
  outcome.patch["skipping"] = std::move(failed);
  return outcome;
}

StepResult advance(const StepInput& input) {
  const Assignment assignment = assignment_of(input);
  if (const Batch batch = batch_of(input); batch.at < batch.targets.size()) return next_of_batch(batch, assignment);
  StepResult single = next(input);
  const std::int64_t most = level_most(input, assignment);
  if (!single || single->label != "expand" || most < 2) return single;
  const PlanTree plan = named_plan(input);
  Walk walk(input, plan, assignment);
  Outcome outcome{"level", Json::object(), {}};
  const std::optional<Target> first = walk.to_expand(outcome);
  const std::vector<Target> others = walk.more_of_its_level(*first, most - 1, outcome);
  if (others.empty()) return single;
  Json targets = Json::array({{{"id", first->id}, {"depth", first->depth}}});
  for (const Target& target : others) targets.push_back({{"id", target.id}, {"depth", target.depth}});
  walk.leave(outcome.patch);
  outcome.patch["batch"] = std::move(targets);
  outcome.patch["batch_at"] = 0;
  return outcome;
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

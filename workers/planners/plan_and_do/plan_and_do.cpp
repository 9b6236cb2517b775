// The handlers that carry a plan out: the tasks that plan_decomposer left whole are bound to tools, the tools are
// called as sub-goals of the run, and a task that fails, or that no tool fits, is broken down further in the light of
// what was done. The nodes of the decomposition are plan_decomposer's own, in the same run: one plan, one queue, one
// budget.
#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <utility>

#include "workers/handlers/model_call.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/planners/plan_and_do/prompts.hpp"
#include "workers/planners/plan_and_do/review.hpp"
#include "workers/planners/plan_and_do/work.hpp"
#include "workers/planners/planners.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr std::size_t progress_bytes_max = 12'000;  // in a prompt
constexpr std::size_t failed_shown_max = 5;         // in a sentence
constexpr std::size_t ready_max = 500;              // tasks of one round

// --- settings --------------------------------------------------------------------------------------------------------
struct DoingSettings {
  bool review = false;
  std::string unbound = "decompose";  // a task that no tool fits: decompose, ask or fail
  std::int64_t redo_depth = 6;        // tasks at this depth are not broken down again
  std::int64_t max_redos = 20;        // how many tasks are
};

Result<std::int64_t> whole_number(const StepInput& input, const char* name, std::int64_t otherwise, std::int64_t most) {
  const Json value = channel(input, name, otherwise);
  if (value.is_number_integer() && value >= 0 && value <= most) return value.get<std::int64_t>();
  return Error{Code::invalid, "Expected " + std::string(name) + " to be a whole number from 0 to " +
                                  std::to_string(most) + ", but it is " + excerpt(value, 60) + "."};
}

Result<DoingSettings> settings_given(const StepInput& input) {
  DoingSettings settings;
  const Json review = channel(input, "review", settings.review);
  if (!review.is_boolean())
    return Error{Code::invalid, "Expected review to be true or false, but it is " + excerpt(review, 60) + "."};
  settings.review = review.get<bool>();
  const Json no_tool = channel(input, "no_tool", settings.unbound);
  if (no_tool != "decompose" && no_tool != "ask" && no_tool != "fail")
    return Error{Code::invalid,
                 "Expected no_tool to be decompose, ask or fail, but it is " + excerpt(no_tool, 60) + "."};
  settings.unbound = no_tool.get<std::string>();
  const Result<std::int64_t> depth = whole_number(input, "redo_depth", settings.redo_depth, 50);
  if (!depth) return depth.error();
  const Result<std::int64_t> redos = whole_number(input, "max_redos", settings.max_redos, 1000);
  if (!redos) return redos.error();
  settings.redo_depth = *depth;
  settings.max_redos = *redos;
  return settings;
}

DoingSettings settings_stored(const StepInput& input) {
  const Json& stored = input.data.at("doing");
  return {stored.at("review"), stored.at("no_tool"), stored.at("redo_depth"), stored.at("max_redos")};
}

StepResult begin(const StepInput& input) {
  const Result<DoingSettings> settings = settings_given(input);
  if (!settings) return failure_of(settings.error());
  return Outcome{"begun",
                 {{"doing",
                   {{"review", settings->review},
                    {"no_tool", settings->unbound},
                    {"redo_depth", settings->redo_depth},
                    {"max_redos", settings->max_redos}}}},
                 {}};
}

// --- review ----------------------------------------------------------------------------------------------------------
StepResult present(const StepInput& input) {
  const bool is_seen = channel(input, "is_reviewed", false).get<bool>();
  if (!settings_stored(input).review || is_seen) return Outcome{"go", Json::object(), {}};
  const Doing doing(input);
  Outcome outcome{"review", Json::object(), {}};
  outcome.patch["review_prompt"] = review_prompt(doing.plan(), channel(input, "review_fault", "").get<std::string>());
  return outcome;
}

// The answer is "run", "stop", or {"plan": the tree as it shall be}. A tree that cannot be is shown again with the
// fault.
StepResult revise(const StepInput& input) {
  const Json answer = channel(input, "reviewed");
  if (answer == "stop") return Outcome{"stop", {{"reason", "A person stopped it before it ran."}}, {}};
  Outcome outcome{"go", {{"is_reviewed", true}}, {}};
  if (answer == "run") return outcome;
  const Doing doing(input);
  Result<Json> changes = edit_of(doing.plan(), input, answer.is_object() ? answer.value("plan", Json()) : answer);
  if (!changes) return Outcome{"again", {{"review_fault", changes.error().message}}, {}};
  if (!changes->empty()) outcome.facts.emplace_back(PlanRevised{input.plan_version + 1, "review", *std::move(changes)});
  return outcome;
}

// --- choose ----------------------------------------------------------------------------------------------------------
// The step where the run stands between two rounds of work: troubles are taken up, else what is ready is bound.
struct Choosing {
  const StepInput& input;
  DoingSettings settings;
  Doing doing;
  Outcome outcome{"", Json::object(), {}};
  std::int64_t redos = 0;  // tasks that were broken down again
  Json redo = Json::array();
  std::optional<Trouble> to_ask = std::nullopt;
};

void give_up(Choosing& choosing, const Trouble& trouble, const std::string& because) {
  const std::string reason = trouble.reason + (because.empty() ? "" : " " + because);
  choosing.doing.give_up(trouble.task, reason);
  choosing.outcome.patch["given_up"][trouble.task] = reason;
  choosing.outcome.facts.emplace_back(
      record(RecordKind::replan_decided, {{"action", "give_up"}, {"target", trouble.task}, {"reason", reason}}));
}

void break_down(Choosing& choosing, const Trouble& trouble) {
  ++choosing.redos;
  choosing.redo.push_back({{"id", trouble.task}, {"depth", choosing.doing.depth(trouble.task)}});
  choosing.outcome.patch["tried"][trouble.task] = true;
  choosing.outcome.facts.emplace_back(record(
      RecordKind::replan_decided, {{"action", "decompose"}, {"target", trouble.task}, {"reason", trouble.reason}}));
}

// Why a task that was put into the queue has no sub-tasks.
std::string reason_without_parts(const Choosing& choosing, const std::string& task) {
  const Json failed = channel(choosing.input, "failed", Json::array());
  for (const Json& one : failed) {
    if (one.at("id") == task) return "It could not be broken down further: " + one.at("reason").get<std::string>();
  }
  const Json stopped = channel(choosing.input, "stopped");
  if (stopped == "node_budget") return "It was not broken down further: the budget of new tasks is used up.";
  if (stopped == "llm_calls") return "It was not broken down further: the budget of model calls is used up.";
  return "It could not be broken down further.";
}

void take_up(Choosing& choosing, const Trouble& trouble) {
  const DoingSettings& settings = choosing.settings;
  if (trouble.is_unbound && settings.unbound == "fail") return give_up(choosing, trouble, "");
  if (trouble.is_unbound && settings.unbound == "ask") {
    if (!choosing.to_ask) choosing.to_ask = trouble;
    return;
  }
  if (channel(choosing.input, "tried", Json::object()).contains(trouble.task))
    return give_up(choosing, trouble, reason_without_parts(choosing, trouble.task));
  if (choosing.doing.depth(trouble.task) >= settings.redo_depth)
    return give_up(choosing, trouble, "It is as deep as a task may be broken down again (redo_depth).");
  if (choosing.redos < settings.max_redos) return break_down(choosing, trouble);
  choosing.outcome.facts.emplace_back(BudgetExhausted{"redos", settings.max_redos, choosing.redos});
  give_up(choosing, trouble, "No more tasks may be broken down again (max_redos).");
}

Json job_of_redos(Json job) {
  job["settings"]["stop_scope"] = "node";
  job["settings"]["on_write_error"] = "continue";
  return job;
}

// Tasks that were left in the queue, or in a batch, when a decomposition stopped early stay whole. From here on a
// reply, or a write that is refused, speaks of its own task alone: each of these is broken down because it is in
// trouble, whatever becomes of another.
void queue_redos(Choosing& choosing) {
  const std::int64_t queued = static_cast<std::int64_t>(channel(choosing.input, "queue", Json::array()).size());
  choosing.outcome.patch["taken"] = queued - channel(choosing.input, "taken", 0).get<std::int64_t>();
  choosing.outcome.patch["queue"] = std::move(choosing.redo);
  choosing.outcome.patch["batch"] = Json::array();
  choosing.outcome.patch["batch_at"] = 0;
  choosing.outcome.patch["job"] = job_of_redos(choosing.input.data.at("job"));
  choosing.outcome.label = "redo";
}

std::string sentence_of_end(const Doing& doing) {
  const Json tasks = doing.tasks_json();
  if (tasks.empty()) return "Expected a plan with tasks, but it has none.";
  const auto done =
      std::count_if(tasks.begin(), tasks.end(), [](const Json& task) { return task["status"] == "done"; });
  std::string text = std::to_string(done) + " of " + std::to_string(tasks.size()) + " tasks are done.";
  std::size_t shown = 0;
  for (const Json& task : tasks) {
    if (task["status"] != "failed") continue;
    if (++shown > failed_shown_max) return text + " More failed.";
    text += " Task " + task["id"].get<std::string>() + " failed: " + task["reason"].get<std::string>();
  }
  return text;
}

void end_of(Choosing& choosing) {
  const Doing& doing = choosing.doing;
  Outcome& outcome = choosing.outcome;
  outcome.label = doing.is_all_done() ? "done" : doing.is_some_done() ? "partial" : "failed";
  outcome.patch["outcome"] = outcome.label;
  outcome.patch["reason"] = sentence_of_end(doing);
  outcome.patch["tasks"] = doing.tasks_json();
  outcome.patch["failed_tasks"] = doing.failed();
  PlanTree plan = doing.plan();
  outcome.patch["plan"] = plan_json(plan);
}

// Each binding is given its own task, and what it may refer to: no binding reads the plan.
void queue_bindings(Choosing& choosing, const std::vector<const PlanNode*>& ready) {
  std::vector<std::string> tasks;
  Json to_bind = Json::array();
  for (const PlanNode* task : ready) {
    if (tasks.size() == ready_max) break;
    tasks.push_back(task->id);
    to_bind.push_back(task_to_bind(choosing.doing, task->id));
  }
  Json progress = choosing.doing.progress(progress_bytes_max);
  choosing.outcome.label = "bind";
  choosing.outcome.patch["results_at_hand"] = results_at_hand(choosing.doing, tasks, progress);
  choosing.outcome.patch["progress"] = std::move(progress);
  choosing.outcome.patch["ready"] = std::move(tasks);
  choosing.outcome.patch["to_bind"] = std::move(to_bind);
}

StepResult choose(const StepInput& input) {
  Choosing choosing{input, settings_stored(input), Doing(input)};
  choosing.redos = static_cast<std::int64_t>(channel(input, "tried", Json::object()).size());
  for (const Trouble& trouble : choosing.doing.troubles()) take_up(choosing, trouble);
  Outcome& outcome = choosing.outcome;
  const std::vector<const PlanNode*> ready = choosing.doing.ready();
  if (!choosing.redo.empty()) {
    queue_redos(choosing);
  } else if (!ready.empty()) {
    queue_bindings(choosing, ready);
  } else if (choosing.to_ask) {
    outcome.label = "ask";
    outcome.patch["asking"] = {
        {"task", node_json(choosing.doing.plan(), *choosing.doing.plan().find(choosing.to_ask->task))},
        {"reason", choosing.to_ask->reason}};
    outcome.patch["said"] = nullptr;  // an earlier answer
  } else {
    end_of(choosing);
  }
  if (!outcome.patch.contains("progress")) outcome.patch["progress"] = choosing.doing.progress(progress_bytes_max);
  if (Json changes = choosing.doing.status_changes(); !changes.empty())
    outcome.facts.emplace_back(PlanRevised{input.plan_version + 1, "progress", std::move(changes)});
  return outcome;
}

// --- bind ------------------------------------------------------------------------------------------------------------
StepResult read_binding(const TaskAtHand& at_hand, const Json& tools, const ModelReply& reply, std::int64_t calls) {
  if (!reply.value.is_object()) return bad_reply("Expected the choice of a tool as JSON, but the reply has none.");
  Json binding = {{"tool", reply.value.at("tool")}, {"inputs", Json::object()}, {"reason", reply.value.at("reason")}};
  if (binding["tool"].is_string()) {
    Result<Json> inputs = checked_inputs(at_hand, tools, reply.value);
    if (!inputs) return bad_reply(std::move(inputs).error().message);
    binding["inputs"] = *std::move(inputs);
  }
  binding["calls"] = calls;
  binding["tokens_in"] = reply.tokens_in;
  binding["tokens_out"] = reply.tokens_out;
  binding["cost"] = reply.cost;
  Outcome outcome{"bound", std::move(binding), {}};
  outcome.facts.emplace_back(record(RecordKind::decision_proposed, {{"action", "bind"},
                                                                    {"target", at_hand.task().at("id")},
                                                                    {"tool", reply.value.at("tool")},
                                                                    {"reason", reply.value.at("reason")},
                                                                    {"source", source_of(reply)}}));
  return outcome;
}

asio::awaitable<StepResult> bind_at_hand(const StepInput& input, const TaskAtHand& at_hand, Ports& ports) {
  const Result<Json> tools = tools_for_tasks(ports.tools().table(), channel(input, "tools"));
  if (!tools) co_return failure_of(tools.error());
  ModelRequest request = request_for(input);
  const std::string fault = input.fault_error == "bad_reply" ? input.fault : "";
  request.messages = binding_messages(at_hand, text_of(input.data, "goal"), *tools, fault);
  request.schema = binding_reply_schema();
  request.schema_name = binding_schema;
  const auto read = [&](const ModelReply& reply) { return read_binding(at_hand, *tools, reply, input.errors + 1); };
  co_return co_await ask_model(std::move(request), ports, read);
}

asio::awaitable<StepResult> bind_task(StepInput input, Ports& ports) {
  const Json to_bind = input.with.at("task");
  const Json results = channel(input, "results_at_hand", Json::object());
  const Json progress = channel(input, "progress");
  const TaskAtHand at_hand(to_bind, results, progress);
  co_return co_await bind_at_hand(input, at_hand, ports);
}

// For runs that began with a graph whose `bind` names the task alone.
asio::awaitable<StepResult> bind(StepInput input, Ports& ports) {
  const std::string task = text_of(input.with, "task");
  const Doing doing(input);
  if (doing.plan().find(task) == nullptr)
    co_return failure("not_found", "Expected task " + task + " to be in the plan, but it is not.", false);
  const Json to_bind = task_to_bind(doing, task);
  const Json progress = channel(input, "progress");
  const Json results = results_at_hand(doing, {task}, progress);
  const TaskAtHand at_hand(to_bind, results, progress);
  co_return co_await bind_at_hand(input, at_hand, ports);
}

// --- open ------------------------------------------------------------------------------------------------------------
SubGoalOpened call_for(const Doing& doing, const PlanNode& task, const Json& binding) {
  SubGoalOpened call;
  call.sub_goal = doing.new_call(task.id);
  call.tool = binding.at("tool").get<std::string>();
  call.title = task.name;
  call.parent = task.id;
  call.inputs = binding.at("inputs");
  return call;
}

// The failure of a binding, as the map has it.
std::string failure_at(const Json& failures, std::size_t index) {
  for (const Json& failure : failures) {
    if (failure.at("index") == index) return failure.at("message").get<std::string>();
  }
  return "Expected a tool to be chosen, but it was not.";
}

// Calls that were given up are not in it.
Json cost_of(const Json& bindings) {
  std::int64_t calls = 0;
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  double cost = 0;
  for (const Json& binding : bindings) {
    if (!binding.is_object()) continue;
    calls += binding.at("calls").get<std::int64_t>();
    tokens_in += binding.at("tokens_in").get<std::int64_t>();
    tokens_out += binding.at("tokens_out").get<std::int64_t>();
    cost += binding.at("cost").get<double>();
  }
  return {{"binding_calls", calls}, {"tokens_in", tokens_in}, {"tokens_out", tokens_out}, {"cost", cost}};
}

StepResult open(const StepInput& input) {
  const Doing doing(input);
  const Json ready = channel(input, "ready", Json::array());
  const Json bindings = channel(input, "bindings", Json::array());
  Outcome outcome{"none", cost_of(bindings), {}};
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const auto task = ready[i].get<std::string>();
    const Json binding = i < bindings.size() ? bindings[i] : Json();
    if (!binding.is_object() || binding.at("tool").is_null()) {
      outcome.patch["unbound"][task] = binding.is_object()
                                           ? binding.at("reason").get<std::string>()
                                           : failure_at(channel(input, "binding_failures", Json::array()), i);
      continue;
    }
    outcome.facts.emplace_back(call_for(doing, *doing.plan().find(task), binding));
    outcome.label = "run";
  }
  return outcome;
}

// --- a person does a task --------------------------------------------------------------------------------------------
// The answer is {"tool", "inputs"}, {"outputs": what came of it} or {"give_up": why}; the question's schema holds it.
StepResult hear(const StepInput& input) {
  const Json said = channel(input, "said");
  const Doing doing(input);
  const auto task = input.data.at("asking").at("task").at("id").get<std::string>();
  if (said.is_object() && said.contains("tool")) {
    Outcome outcome{"run", Json::object(), {}};
    const Json binding = {{"tool", said["tool"]}, {"inputs", said.value("inputs", Json::object())}};
    outcome.facts.emplace_back(call_for(doing, *doing.plan().find(task), binding));
    return outcome;
  }
  Outcome outcome{"go", Json::object(), {}};
  if (said.is_object() && said.contains("outputs"))
    outcome.patch["by_hand"][task] = said["outputs"];
  else
    outcome.patch["given_up"][task] = said.is_object() ? said.at("give_up").get<std::string>() : "Nobody answered.";
  return outcome;
}

const std::vector<std::string> channels_of_doing = {"plan_id", "goal", "by_hand", "given_up", "unbound"};

std::vector<std::string> doing_and(std::vector<std::string> more) {
  more.insert(more.end(), channels_of_doing.begin(), channels_of_doing.end());
  return more;
}

}  // namespace

void add_plan_and_do(HandlerTable& table) {
  table.add("plan_and_do",
            {{"begin", {"begun"}, {"review", "no_tool", "redo_depth", "max_redos"}, PureHandler(begin)},
             {"present",
              {"review", "go"},
              doing_and({"doing", "is_reviewed", "review_fault"}),
              PureHandler(present),
              reads_the_plan},
             {"revise", {"go", "again", "stop"}, doing_and({"reviewed"}), PureHandler(revise), reads_the_plan},
             {"choose",
              {"redo", "bind", "ask", "done", "partial", "failed"},
              doing_and({"doing", "job", "tried", "queue", "taken", "failed", "stopped"}),
              PureHandler(choose),
              reads_the_plan},
             {"bind", {"bound"}, doing_and({"tools", "progress"}), EffectHandler(bind), reads_the_plan},
             {"bind_task", {"bound"}, {"goal", "tools", "progress", "results_at_hand"}, EffectHandler(bind_task)},
             {"open",
              {"run", "none"},
              doing_and({"ready", "bindings", "binding_failures"}),
              PureHandler(open),
              reads_the_plan},
             {"hear", {"run", "go"}, doing_and({"asking", "said"}), PureHandler(hear), reads_the_plan}});
}

}  // namespace cairn

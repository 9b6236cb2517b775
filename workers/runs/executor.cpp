#include "workers/runs/executor.hpp"

#include <algorithm>
#include <utility>

#include "storage/chain.hpp"
#include "workers/handlers/tool_call.hpp"

namespace cairn {
namespace {

Failure failure(std::string error, std::string message) { return {std::move(error), std::move(message), true, {}}; }
// Another attempt would compose the same.
Failure limit_passed(const Error& error) { return {std::string(to_string(error.code)), error.message, false, {}}; }

// The inputs as a whole were a reference, and it stands for something else.
Failure no_object(const StepInput& input) {
  return {"invalid",
          "Expected the inputs of tool " + input.tool + " to be a JSON object, but they are " +
              excerpt(input.inputs, 100) + ".",
          false,
          {}};
}

// Sentences may come from anywhere; an event holds UTF-8 alone.
std::string utf8(const std::string& text) {
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return parse_stored(quoted).get<std::string>();
}

std::size_t find_blobs_of(const StepInput& input, std::vector<Hash>& hashes) {
  std::size_t bytes = 0;
  for (const Json* part : {&input.with, &input.data, &input.given, &input.inputs}) bytes += find_blobs(*part, hashes);
  for (const GoalView& goal : input.plan) bytes += find_blobs(goal.inputs, hashes) + find_blobs(goal.outputs, hashes);
  return bytes;
}

Json plan_json(const StepInput& input) {
  Json plan = Json::array();
  for (const GoalView& goal : input.plan)
    plan.push_back({goal.id, goal.tool, goal.inputs, to_string(goal.status), goal.outputs, goal.error, goal.message,
                    goal.title, goal.parent, goal.after, goal.context});
  for (const RejectedView& goal : input.rejected) plan.push_back({goal.id, goal.tool, goal.reason});
  return plan;
}

}  // namespace

Failure memory_used_up() {
  return {"limit", "Expected room for what the step does, but the memory is used up.", true, {}};
}

void put_back(Work& work, const ReadBlob& read) {
  StepInput& input = work.input;
  std::vector<Json*> parts = {&input.with, &input.data, &input.given, &input.inputs};
  for (GoalView& goal : input.plan) {
    parts.push_back(&goal.inputs);
    parts.push_back(&goal.outputs);
  }
  Status whole = Done{};
  try {
    whole = put_back(parts, read);
  } catch (const std::bad_alloc&) {
    work.answer = memory_used_up();
  }
  if (!whole) work.answer = limit_passed(whole.error());
}

std::string cache_key(const Graph& graph, const Handler& handler, const StepInput& input) {
  return hex(sha256(canonical(Json{graph.version, input.node, handler.name, handler.version, input.with, input.data,
                                   input.given, plan_json(input), handler.reads_plan ? input.plan_version : 0})));
}

bool plans_with_unknown_tool(const Command& command, const ToolTable& tools) {
  const auto* complete = std::get_if<CompleteStep>(&command);
  if (complete == nullptr) return false;
  const std::vector<Fact>& facts = complete->outcome.facts;
  return std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
    const auto* opened = std::get_if<SubGoalOpened>(&fact);
    return opened != nullptr && !opened->tool.empty() && !tools.contains(opened->tool);
  });
}

Executor::Executor(const HandlerTable& handlers, Ports& ports, SessionId session)
    : handlers_(handlers), ports_(ports), session_(session) {}

Prepared Executor::prepare(const RunState& state, const Job& job) const {
  if (job.branch == whole_run) {
    if (!due_of_run(state)) return NotOpen{};
    return Command(Due{0});
  }
  const Step* step = find_step(state, job.step);
  if (step == nullptr || step->attempt != job.attempt || is_ended(state.status)) return NotOpen{};
  Work work;
  work.timeout_ms = job.timeout_ms;
  if (step->goal >= 0) {
    const std::string& tool = goal_of(state, *step).tool;
    if (!ports_.tools().table().contains(tool)) return Missing{"tool " + tool};
  } else {
    const DoNode* node = work_of(state, *step);
    if (node == nullptr) return Command(Due{job.step});
    work.handler = handlers_.find(node->handler);
    if (work.handler == nullptr || !work.handler->is_here) return Missing{"handler " + node->handler};
  }
  Result<StepInput> input = step_input(state, *step, work.handler);
  if (!input) return Command(FailStep{step->id, step->attempt, limit_passed(input.error()), session_, step->opened_at});
  work.input = *std::move(input);
  work.input.timeout_ms = job.timeout_ms;
  if (step->goal < 0 && state.node(*step).cache && work.handler->is_pure()) {
    work.cache_key = cache_key(*state.graph, *work.handler, work.input);
    if (const CachedOutcome* recorded = find_cached(state, step->branch, work.cache_key))
      return reused(*recorded, *step, std::move(work.cache_key));
  }
  work.blob_bytes = find_blobs_of(work.input, work.blobs);
  const bool is_pure = work.handler != nullptr && work.handler->is_pure();
  if (state.options.recorded && !is_pure) work.recorded = state.forked_from;
  return work;
}

// The report of a step whose outcome is known: nothing was run, so it began when it opened.
Command Executor::reused(const CachedOutcome& recorded, const Step& step, std::string key) const {
  return CompleteStep{step.id,  step.attempt,   {recorded.label, parse_stored(recorded.patch), {}, std::move(key)},
                      session_, step.opened_at, recorded.step};
}

StepResult Executor::made_by(const Handler& handler, StepResult result) {
  if (result && handler.version > 1) result->handler_version = handler.version;
  return result;
}

StepResult Executor::run_pure(const Work& work) {
  try {
    StepResult result = std::get<PureHandler>(work.handler->run)(work.input);
    if (result) result->cache_key = work.cache_key;
    return made_by(*work.handler, std::move(result));
  } catch (const std::bad_alloc&) {
    return memory_used_up();
  } catch (const std::exception& thrown) {
    return failure("error", thrown.what());
  }
}

boost::asio::awaitable<StepResult> Executor::run_effect(Work work, ProgressBoard::Slot slot) {
  Ports own = ports_.of_step(slot);
  if (work.answer) co_return *std::move(work.answer);
  if (work.handler != nullptr) {
    if (work.handler->is_pure()) co_return run_pure(work);
    const Handler& handler = *work.handler;
    co_return made_by(handler, co_await std::get<EffectHandler>(handler.run)(std::move(work.input), own));
  }
  StepInput& input = work.input;
  if (!input.inputs.is_object()) co_return no_object(input);
  ToolCall call;
  call.sub_goal = std::move(input.sub_goal);
  call.tool = std::move(input.tool);
  call.inputs = std::move(input.inputs);
  call.timeout_ms = work.timeout_ms;
  const auto read = [](Json outputs) -> StepResult { return Outcome{"", std::move(outputs), {}}; };
  co_return co_await call_tool(input, own, std::move(call), read);
}

Command Executor::report(const Job& job, TimeUs started_at, StepResult result, const Graph& graph,
                         std::vector<Blob>& blobs) const {
  try {
    return report_of(job, started_at, std::move(result), graph, blobs);
  } catch (const std::bad_alloc&) {
    blobs.clear();
    return FailStep{job.step, job.attempt, memory_used_up(), session_, started_at};
  }
}

Command Executor::report_of(const Job& job, TimeUs started_at, StepResult result, const Graph& graph,
                            std::vector<Blob>& blobs) const {
  if (result) {
    Status moved = move_out(result->patch, &graph, blobs);
    const bool fits = static_cast<bool>(moved);
    if (moved) moved = move_out(result->facts, blobs);
    if (moved) return CompleteStep{job.step, job.attempt, *std::move(result), session_, started_at, 0};
    blobs.clear();
    // A call whose record does not fit has been made and paid: it is not made again.
    result =
        fits ? limit_passed(moved.error()) : failure(std::string(to_string(moved.error().code)), moved.error().message);
  }
  Failure& failed = result.error();
  if (failed.error == lost_error) failed.error = "error";  // only the sweep knows of losses
  failed.message = utf8(failed.message);
  if (Status moved = move_out(failed.facts, blobs); !moved) failed.facts.clear();
  return FailStep{job.step, job.attempt, std::move(failed), session_, started_at};
}

std::optional<Command> Executor::pure_report(const RunState& state, const Job& job, TimeUs now_us) const {
  const Step* step = find_step(state, job.step);
  if (step == nullptr || step->goal >= 0 || runs_alone(*step)) return std::nullopt;
  const Handler* handler = handlers_.find(state.node(*step).handler());
  if (handler == nullptr || !handler->is_pure()) return std::nullopt;
  Prepared prepared = NotOpen{};
  try {
    prepared = prepare(state, job);
  } catch (const std::bad_alloc&) {  // by itself it fails as an attempt
    return std::nullopt;
  }
  if (auto* reused = std::get_if<Command>(&prepared)) return std::move(*reused);
  const Work* work = std::get_if<Work>(&prepared);
  if (work == nullptr || !work->blobs.empty()) return std::nullopt;
  std::vector<Blob> blobs;
  Command command = report(job, now_us, run_pure(*work), *state.graph, blobs);
  if (!blobs.empty()) return std::nullopt;
  return command;
}

}  // namespace cairn

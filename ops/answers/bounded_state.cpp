#include "ops/answers/bounded_state.hpp"

#include <algorithm>

#include "engine/run_json.hpp"

namespace cairn {
namespace {

Error too_large(const RunState& state) {
  return {Code::limit, "Expected an answer of at most " + std::to_string(answer_bytes_max) + " bytes, but run " +
                           to_string(state.id) +
                           " takes more; read its events, or a channel alone: ?channel=NAME in the API."};
}

bool plan_fits(AnswerRoom& room, const RunState& state) {
  return std::all_of(state.branches.begin(), state.branches.end(), [&room](const auto& branch) {
    const Plan& plan = branch.second.plan;
    return std::all_of(plan.goals.begin(), plan.goals.end(), [&room](const SubGoal& goal) {
      return room.take(goal.inputs) && room.take(goal.outputs) && room.take(Json(goal.message));
    });
  });
}

bool questions_fit(AnswerRoom& room, const RunState& state) {
  return std::all_of(state.questions.begin(), state.questions.end(), [&room](const auto& entry) {
    const Question& question = entry.second;
    return room.take(question.prompt) && room.take(question.schema) &&
           (!question.fallback || room.take(*question.fallback));
  });
}

}  // namespace

Result<Json> bounded_state(Client& client, const RunState& state, Shard shard, bool is_raw) {
  AnswerRoom room;
  const Json& data = state.branches.at(root_branch).data.composed(*state.graph);
  const bool is_fine =
      room.take(data) && room.take(state.output) && plan_fits(room, state) && questions_fit(room, state);
  if (!is_fine) return too_large(state);
  Json shown = state_json(state);
  if (is_raw) return shown;
  return client.expand_blobs(std::move(shown), shard, room.left());
}

Result<Json> bounded_plan(Client& client, const RunState& state, Shard shard) {
  AnswerRoom room;
  if (!plan_fits(room, state)) return too_large(state);
  return client.expand_blobs(plan_json(state), shard, room.left());
}

Result<Json> bounded_channel(Client& client, const RunState& state, Shard shard, const std::string& channel) {
  AnswerRoom room;
  const Json& data = state.branches.at(root_branch).data.composed(*state.graph);
  const auto found = data.find(channel);
  const Json value = found == data.end() ? Json(nullptr) : *found;
  if (!room.take(value)) return too_large(state);
  return Json{{"run", to_string(state.id)},
              {"seq", state.seq},
              {"channels", {{channel, client.expand_blobs(value, shard, room.left())}}}};
}

}  // namespace cairn

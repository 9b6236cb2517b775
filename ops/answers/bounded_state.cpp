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

Result<PlanPage> bounded_plan(Client& client, const RunState& state, Shard shard, const PlanPart& part) {
  AnswerRoom room;
  PlanPage page{Json::array(), {}};
  bool fits = true;
  each_plan_line(state, part.after, [&](Json line) {
    AnswerRoom rest = room;
    const bool has_all = part.limit && std::ssize(page.lines) >= *part.limit;
    fits = has_all || rest.take(line);
    if (has_all || !fits) {
      page.next = part.after + page.lines.size();
      return false;
    }
    room = rest;
    page.lines.push_back(std::move(line));
    return true;
  });
  if (!fits && (!part.limit || page.lines.empty()))
    return Error{Code::limit, "Expected a plan of at most " + std::to_string(answer_bytes_max) +
                                  " bytes, but that of run " + to_string(state.id) +
                                  " takes more; read a part of it: ?limit=N."};
  page.lines = client.expand_blobs(std::move(page.lines), shard, room.left());
  return page;
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

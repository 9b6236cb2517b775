#include "workers/runs/projection.hpp"

namespace cairn {

Projection projection_of(const RunState& state, const Hash& chain_hash) {
  Projection projection{run_row(state), jobs_of(state), question_rows(state)};
  projection.run.chain_hash = chain_hash;
  return projection;
}

RunRow run_row(const RunState& state) {
  RunRow row;
  row.id = state.id;
  row.graph = state.graph->name;
  row.version = state.graph->version;
  row.status = state.status;
  row.waiting = is_waiting(state);
  row.head = state.seq;
  if (state.parent) row.parent = state.parent->run;
  row.continues = state.continues;
  row.forked_from = state.forked_from;
  row.started_at = state.started_at;
  row.updated_at = state.last_at;
  row.reason = state.reason;
  row.tags = state.tags;
  return row;
}

std::vector<QuestionRow> question_rows(const RunState& state) {
  std::vector<QuestionRow> rows;
  if (is_ended(state.status)) return rows;
  for (const auto& [id, question] : state.questions) {
    rows.push_back({state.id, id, question.step, question.kind, question.prompt, question.schema, question.fallback,
                    question.expires_at, state.steps.at(question.step).opened_at});
  }
  return rows;
}

}  // namespace cairn

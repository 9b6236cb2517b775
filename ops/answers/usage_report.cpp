#include "ops/answers/usage_report.hpp"

namespace cairn {
namespace {

template <class Number>
Number number_at(const Json& fields, const char* name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_number() ? found->get<Number>() : Number{};
}

Json average(double sum, std::int64_t count) {
  return count == 0 ? Json(nullptr) : Json(sum / static_cast<double>(count));
}

Json average(std::int64_t sum, std::int64_t count) { return average(static_cast<double>(sum), count); }

}  // namespace

double model_cost(const EventBody& body) {
  const auto* record = std::get_if<Record>(&body);
  if (record == nullptr || record->kind != RecordKind::model_called) return 0;
  return number_at<double>(parse_stored(record->fields), "cost");
}

void RunUse::add(const Event& event) {
  const auto* record = std::get_if<Record>(&event.body);
  if (record == nullptr) return;
  if (record->kind == RecordKind::guardrail_blocked) ++guardrail_blocks;
  if (record->kind == RecordKind::tool_called) ++tool_calls;
  if (record->kind != RecordKind::model_called) return;
  const Json fields = parse_stored(record->fields);
  ++model_calls;
  tokens_in += number_at<std::int64_t>(fields, "tokens_in");
  tokens_out += number_at<std::int64_t>(fields, "tokens_out");
  cost += model_cost(event.body);
}

void RunUse::add(const RunState& state) {
  status = is_waiting(state) ? "waiting" : to_string(state.status);
  if (is_ended(state.status)) latency_us = state.last_at - state.started_at;
  for (const auto& [name, use] : state.budgets) budgets[name] = use.used;
  if (!state.output.is_object()) return;
  const auto found = state.output.find("outcome");
  if (found != state.output.end() && found->is_string()) outcome = found->get<std::string>();
}

void UseReport::add(const RunUse& use) {
  ++runs_;
  ended_ += use.latency_us ? 1 : 0;
  blocked_ += use.guardrail_blocks > 0 ? 1 : 0;
  failed_ += use.has_failed() ? 1 : 0;
  latency_us_ += use.latency_us.value_or(0);
  sum_.model_calls += use.model_calls;
  sum_.tool_calls += use.tool_calls;
  sum_.tokens_in += use.tokens_in;
  sum_.tokens_out += use.tokens_out;
  sum_.cost += use.cost;
  for (const auto& [name, used] : use.budgets) {
    BudgetSum& budget = budgets_[name];
    ++budget.runs;
    budget.used += used;
    budget.over_1 += used > 1 ? 1 : 0;
  }
  if (!use.outcome.empty()) ++outcomes_[use.outcome];
  ++statuses_[use.status];
}

Json UseReport::json() const {
  Json budgets = Json::object();
  for (const auto& [name, budget] : budgets_)
    budgets[name] = {{"avg_used", average(budget.used, budget.runs)}, {"over_1", budget.over_1}};
  return {{"runs", runs_},
          {"ended", ended_},
          {"avg_latency_ms", average(static_cast<double>(latency_us_) / 1000, ended_)},
          {"avg_cost", average(sum_.cost, runs_)},
          {"avg_model_calls", average(sum_.model_calls, runs_)},
          {"avg_tool_calls", average(sum_.tool_calls, runs_)},
          {"avg_tokens_in", average(sum_.tokens_in, runs_)},
          {"avg_tokens_out", average(sum_.tokens_out, runs_)},
          {"guardrail_blocks", blocked_},
          {"failures", failed_},
          {"budgets", budgets},
          {"outcomes", outcomes_},
          {"statuses", statuses_}};
}

}  // namespace cairn

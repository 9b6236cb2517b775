#include "ops/answers/usage_report.hpp"

#include <algorithm>
#include <limits>

namespace cairn {
namespace {

constexpr double amount_max = 1e15;

// A fact may come from anywhere: what is no number counts nothing, and none counts less than that or more than the
// bound.
double amount_at(const Json& fields, const char* name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_number() ? std::clamp(found->get<double>(), 0.0, amount_max) : 0;
}

std::int64_t count_at(const Json& fields, const char* name) {
  return static_cast<std::int64_t>(amount_at(fields, name));
}

// REQUIRES: neither is negative.
std::int64_t sum_of(std::int64_t one, std::int64_t other) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return one > most - other ? most : one + other;
}

Json average(double sum, std::int64_t count) {
  return count == 0 ? Json(nullptr) : Json(sum / static_cast<double>(count));
}

Json average(std::int64_t sum, std::int64_t count) { return average(static_cast<double>(sum), count); }

}  // namespace

double model_cost(const EventBody& body) {
  const auto* record = std::get_if<Record>(&body);
  if (record == nullptr || record->kind != RecordKind::model_called) return 0;
  return amount_at(parse_stored(record->fields), "cost");
}

void ModelUse::add(const ModelUse& other) {
  calls += other.calls;
  tokens_in = sum_of(tokens_in, other.tokens_in);
  tokens_out = sum_of(tokens_out, other.tokens_out);
  cost += other.cost;
}

void RunUse::add(const Event& event) {
  const auto* record = std::get_if<Record>(&event.body);
  if (record == nullptr) return;
  if (record->kind == RecordKind::guardrail_blocked) ++guardrail_blocks;
  if (record->kind == RecordKind::tool_called) ++tool_calls;
  if (record->kind != RecordKind::model_called) return;
  const Json fields = parse_stored(record->fields);
  const ModelUse use{1, count_at(fields, "tokens_in"), count_at(fields, "tokens_out"), amount_at(fields, "cost")};
  const Json model = fields.value("model", Json());
  model_use.add(use);
  models[model.is_string() ? model.get<std::string>() : ""].add(use);
}

void RunUse::add(const RunState& state) {
  graph = state.graph->name;
  tags = state.tags;
  day = time_text(state.started_at).substr(0, 10);
  status = is_waiting(state) ? "waiting" : to_string(state.status);
  if (is_ended(state.status)) latency_us = state.last_at - state.started_at;
  for (const auto& [name, use] : state.budgets) budgets[name] = use.used;
  if (state.cause) {
    error = state.cause->error;
    node = state.cause->node;
  }
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
  cancelled_ += use.status == "aborted" ? 1 : 0;
  tool_calls_ += use.tool_calls;
  const auto add_to = [](Total& total, const ModelUse& more) {
    ++total.runs;
    total.use.add(more);
  };
  add_to(total_, use.model_use);
  for (const auto& [model, of_model] : use.models) add_to(by_model_[model], of_model);
  add_to(by_graph_[use.graph], use.model_use);
  add_to(by_day_[use.day], use.model_use);
  for (const auto& [key, value] : use.tags) add_to(by_tag_[key + "=" + value], use.model_use);
  for (const auto& [name, used] : use.budgets) {
    BudgetSum& budget = budgets_[name];
    ++budget.runs;
    budget.used += used;
    budget.over_1 += used > 1 ? 1 : 0;
  }
  if (use.has_failed() && !use.error.empty()) {
    ErrorSum& error = by_error_[use.error];
    ++error.runs;
    ++error.nodes[use.node];
  }
  if (!use.outcome.empty()) ++outcomes_[use.outcome];
  ++statuses_[use.status];
}

Json UseReport::total_json(const Total& total) {
  return {{"runs", total.runs},
          {"calls", total.use.calls},
          {"tokens_in", total.use.tokens_in},
          {"tokens_out", total.use.tokens_out},
          {"cost", total.use.cost}};
}

Json UseReport::totals_json(const std::map<std::string, Total>& totals) {
  Json all = Json::object();
  for (const auto& [name, total] : totals) all[name] = total_json(total);
  return all;
}

Json UseReport::json() const {
  Json budgets = Json::object();
  for (const auto& [name, budget] : budgets_)
    budgets[name] = {{"avg_used", average(budget.used, budget.runs)}, {"over_1", budget.over_1}};
  Json by_error = Json::object();
  for (const auto& [error, sum] : by_error_) by_error[error] = {{"runs", sum.runs}, {"nodes", sum.nodes}};
  return {{"runs", runs_},
          {"ended", ended_},
          {"avg_latency_ms", average(static_cast<double>(latency_us_) / 1000, ended_)},
          {"avg_cost", average(total_.use.cost, runs_)},
          {"avg_model_calls", average(total_.use.calls, runs_)},
          {"avg_tool_calls", average(tool_calls_, runs_)},
          {"avg_tokens_in", average(total_.use.tokens_in, runs_)},
          {"avg_tokens_out", average(total_.use.tokens_out, runs_)},
          {"guardrail_blocks", blocked_},
          {"failures", failed_},
          {"failures_of", ended_ - cancelled_},
          {"cancelled", cancelled_},
          {"total", total_json(total_)},
          {"by_model", totals_json(by_model_)},
          {"by_graph", totals_json(by_graph_)},
          {"by_tag", totals_json(by_tag_)},
          {"by_day", totals_json(by_day_)},
          {"by_error", by_error},
          {"budgets", budgets},
          {"outcomes", outcomes_},
          {"statuses", statuses_}};
}

}  // namespace cairn

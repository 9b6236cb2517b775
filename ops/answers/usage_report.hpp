// A usage report: the time, money, model calls and tool calls of runs, added up from their events. Pure; not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/event.hpp"
#include "engine/state.hpp"

namespace cairn {

// The cost of a recorded model call, from 0 to 10^15; 0 for any other event, and where it is no number.
double model_cost(const EventBody& body);

// Calls of models, and what they took: nothing below 0; sums of tokens end at the largest number.
struct ModelUse {
  std::int64_t calls = 0;  // failed ones too
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  double cost = 0;

  void add(const ModelUse& other);
};

// The usage of one run.
struct RunUse {
  std::optional<TimeUs> latency_us;  // from its start to its end, waits included; none while it runs
  std::string graph;
  Tags tags;
  std::string day;                         // of its start, UTC: 2026-11-25
  ModelUse model_use;                      // of all models
  std::map<std::string, ModelUse> models;  // by the name on record
  std::int64_t tool_calls = 0;             // each attempt
  std::int64_t guardrail_blocks = 0;
  std::string status;
  std::string outcome;  // the text `outcome` of its output; "" without one
  std::string error;    // of the failure that led to its end, and the node that failed; "" without one
  std::string node;
  std::map<std::string, std::int64_t> budgets;

  void add(const Event& event);
  void add(const RunState& state);  // its status, budgets, outcome

  bool has_failed() const { return status == "failed" || outcome == "failed"; }  // a cancelled one has not
};

// The usage of many runs: averages per run, totals by model, graph, tag, day and error, and how many were blocked,
// failed, looped.
class UseReport {
 public:
  void add(const RunUse& use);

  // {"runs", "ended", "avg_latency_ms", "avg_cost", "avg_model_calls", "avg_tool_calls", "avg_tokens_in",
  // "avg_tokens_out", "guardrail_blocks", "failures", "failures_of", "cancelled", "budgets": {NAME: {"avg_used",
  // "over_1"}}, "outcomes": {NAME: n}, "statuses": {NAME: n}, "total": USE, "by_model", "by_graph", "by_tag", "by_day":
  // {NAME: USE}, "by_error": {ERROR: {"runs", "nodes": {NODE: n}}}, of the failures that have a cause}; USE is {"runs",
  // "calls", "tokens_in", "tokens_out", "cost"}; an average of nothing is null. "failures_of": the ended runs that were
  // not cancelled, of which the failures are some.
  Json json() const;

 private:
  struct BudgetSum {
    std::int64_t runs = 0;
    std::int64_t used = 0;
    std::int64_t over_1 = 0;
  };
  std::int64_t runs_ = 0;
  std::int64_t ended_ = 0;
  std::int64_t blocked_ = 0;
  std::int64_t failed_ = 0;
  TimeUs latency_us_ = 0;
  std::int64_t cancelled_ = 0;
  std::int64_t tool_calls_ = 0;
  struct Total {
    std::int64_t runs = 0;
    ModelUse use;
  };
  static Json totals_json(const std::map<std::string, Total>& totals);
  static Json total_json(const Total& total);
  Total total_;
  std::map<std::string, Total> by_model_;
  std::map<std::string, Total> by_graph_;
  std::map<std::string, Total> by_tag_;
  std::map<std::string, Total> by_day_;
  std::map<std::string, BudgetSum> budgets_;
  struct ErrorSum {
    std::int64_t runs = 0;
    std::map<std::string, std::int64_t> nodes;
  };
  std::map<std::string, ErrorSum> by_error_;
  std::map<std::string, std::int64_t> outcomes_;
  std::map<std::string, std::int64_t> statuses_;
};

}  // namespace cairn

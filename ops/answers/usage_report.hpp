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

// The cost of a recorded model call; 0 for any other event.
double model_cost(const EventBody& body);

// The usage of one run.
struct RunUse {
  std::optional<TimeUs> latency_us;  // from its start to its end, waits included; none while it runs
  std::int64_t model_calls = 0;      // failed ones too
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  double cost = 0;
  std::int64_t tool_calls = 0;  // each attempt
  std::int64_t guardrail_blocks = 0;
  std::string status;
  std::string outcome;  // the text `outcome` of its output; "" without one
  std::map<std::string, std::int64_t> budgets;

  void add(const Event& event);
  void add(const RunState& state);  // its status, budgets, outcome

  bool has_failed() const { return status == "failed" || status == "aborted" || outcome == "failed"; }
};

// The usage of many runs: averages per run, and how many were blocked, failed, looped.
class UseReport {
 public:
  void add(const RunUse& use);

  // {"runs", "ended", "avg_latency_ms", "avg_cost", "avg_model_calls", "avg_tool_calls", "avg_tokens_in",
  // "avg_tokens_out", "guardrail_blocks", "failures", "budgets": {NAME: {"avg_used", "over_1"}}, "outcomes": {NAME: n},
  // "statuses": {NAME: n}}; an average of nothing is null.
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
  RunUse sum_;
  std::map<std::string, BudgetSum> budgets_;
  std::map<std::string, std::int64_t> outcomes_;
  std::map<std::string, std::int64_t> statuses_;
};

}  // namespace cairn

#include "engine/reported_outcome.hpp"

#include <utility>

namespace cairn {
namespace {

std::optional<Fact> fact_of(const EventBody& body) {
  return std::visit(
      [](const auto& one) -> std::optional<Fact> {
        if constexpr (std::is_constructible_v<Fact, decltype(one)>)
          return Fact(one);
        else
          return std::nullopt;
      },
      body);
}

// Reads the event that closes an attempt; nothing if it closes none that a worker reported.
struct Closing {
  std::vector<Fact> facts;

  std::optional<StepReport> operator()(const StepSucceeded& e) {
    if (e.attempt == 0) return std::nullopt;
    Outcome outcome{e.label, parse_stored(e.patch), std::move(facts), e.cache_key, e.handler_version};
    return StepReport{0, e.attempt, std::move(outcome), e.worker, e.started_at, e.cached_from};
  }
  std::optional<StepReport> operator()(const StepFailed& e) {
    Failure failure{e.error, e.message, e.retry_at.has_value(), std::move(facts), 0, e.refused};
    return StepReport{0, e.attempt, std::move(failure), e.worker, e.started_at, 0};
  }
  std::optional<StepReport> operator()(const SubGoalClosed& e) {
    if (e.status == GoalStatus::skipped || !e.reused_from.empty()) return std::nullopt;
    StepReport report{0, e.attempt, {}, e.worker, e.started_at, 0};
    if (e.status == GoalStatus::succeeded)
      report.result = Outcome{"", parse_stored(e.outputs), std::move(facts), {}};
    else
      report.result = Failure{e.error, e.message, false, std::move(facts), 0, e.refused};
    return report;
  }
  template <class Other>
  std::optional<StepReport> operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::optional<StepReport> step_report(std::span<const Event> events) {
  Closing closing;
  for (const Event& event : events) {
    if (event.step == 0 || event.step != events.front().step) return std::nullopt;
    if (std::optional<Fact> fact = fact_of(event.body)) {
      closing.facts.push_back(*std::move(fact));
      continue;
    }
    std::optional<StepReport> report = std::visit(closing, event.body);
    if (report) report->step = event.step;
    return report;
  }
  return std::nullopt;
}

}  // namespace cairn

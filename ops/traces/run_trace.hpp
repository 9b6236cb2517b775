// The trace of a run, made from its history: a span for the run, one for each step, and one for each call of a model or
// a tool that is on record. The same history always gives the same spans, ids included, however often and wherever it
// is read, but for the link to a caller that is archived meanwhile. Used by one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/event.hpp"
#include "engine/state.hpp"
#include "ops/traces/span.hpp"

namespace cairn {

inline constexpr std::size_t span_events_max = 20;  // failed attempts of one step; the first ones

struct TraceOptions {
  bool with_contents = false;  // prompts, replies, inputs and outputs
};

class RunTrace {
 public:
  // `take` gets each span as soon as it has ended; that of the run last. `caller`: the trace of the run that called
  // this one, to be linked to; nothing: none did, or it is not known.
  RunTrace(const RunId& run, TraceOptions options, std::optional<std::string> caller,
           std::function<void(const Span&)> take);

  // The run's events, each in its order. Throws CorruptHistory as evolve() does.
  void add(const Event& event, const Graphs& graphs);
  // After the last event: the spans that it left open end with it.
  void finish();

 private:
  struct OpenStep {
    Span span;
    std::string node;
    bool is_goal = false;
  };

  Span new_span(std::string id, std::string parent, TimeUs start_us) const;
  void note_opened(StepId after, const Event& event, const std::string& from_node);
  void note_failure(const Event& event, const StepFailed& failed);
  void note_record(const Event& event, const Record& record);
  void note_model_call(const Event& event, const Json& fields);
  void note_tool_call(const Event& event, const Json& fields);
  void note_closed(const std::vector<StepId>& steps, TimeUs at_us);
  void close_step(const Event& event);
  Span call_span(const Event& event, const Json& fields) const;
  std::string span_above(const Step& step) const;
  std::string content(const std::string& text) const;
  void emit(Span span, TimeUs end_us) const;

  const RunId run_;
  const TraceOptions options_;
  const std::optional<std::string> caller_;
  const std::function<void(const Span&)> take_;
  RunState state_;
  std::vector<BranchId> touched_;  // not used; kept for its memory
  std::string trace_;
  std::string output_;  // of the run's last end
  std::map<StepId, OpenStep> open_;
};

}  // namespace cairn

// The ids by which a run is known to systems of traces (W3C Trace Context, OpenTelemetry): derived from the run and its
// steps, so that they are the same whenever and wherever they are asked for. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/event.hpp"
#include "engine/id.hpp"

namespace cairn {

// The tag in which a run keeps the `traceparent` that it was started under.
inline constexpr const char* traceparent_tag = "traceparent";

struct TraceParent {
  std::string trace;  // 32 hexadecimal digits, lower case
  std::string span;   // 16
  bool operator==(const TraceParent&) const = default;
};
// Reads version 00 of the header, and what a later version has in common with it. Nothing: it is none.
std::optional<TraceParent> parse_traceparent(std::string_view text);
// The one that the run was started under; nothing if there is none.
std::optional<TraceParent> parent_of_trace(const Tags& tags);

// 32 hexadecimal digits: of the trace that the run was started under, else of its own.
std::string trace_id(const RunId& run, const Tags& tags);
// 16 hexadecimal digits.
std::string run_span_id(const RunId& run);
std::string step_span_id(const RunId& run, StepId step);
// The span of a call of a model or a tool that event `seq` of the run records.
std::string event_span_id(const RunId& run, std::int64_t seq);

}  // namespace cairn

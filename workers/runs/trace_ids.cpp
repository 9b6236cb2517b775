#include "workers/runs/trace_ids.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "storage/digest.hpp"

namespace cairn {
namespace {

constexpr std::size_t trace_bytes = 16;
constexpr std::size_t span_bytes = 8;

// The first bytes of the hash of "cairn KIND RUN NUMBER".
std::string derived_id(std::size_t bytes, const char* kind, const RunId& run, std::int64_t number) {
  const Hash hash = sha256("cairn " + std::string(kind) + " " + to_string(run) + " " + std::to_string(number));
  return hex(std::span(hash).first(bytes));
}

// Lower-case hexadecimal digits of which not all are 0.
bool is_id(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return std::all_of(text.begin(), text.end(), is_digit) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  constexpr std::size_t size = 55;  // 00-TRACE-SPAN-FLAGS
  if (text.size() < size || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const std::string_view version = text.substr(0, 2);
  if (version == "ff" || (version != "00" && !is_id(version))) return std::nullopt;
  if (text.size() > size && (version == "00" || text[size] != '-')) return std::nullopt;
  const std::string_view flags = text.substr(53, 2);
  if (flags != "00" && !is_id(flags)) return std::nullopt;
  TraceParent parent{std::string(text.substr(3, 32)), std::string(text.substr(36, 16))};
  if (!is_id(parent.trace) || !is_id(parent.span)) return std::nullopt;
  return parent;
}

std::optional<TraceParent> parent_of_trace(const Tags& tags) {
  const auto found = tags.find(traceparent_tag);
  return found == tags.end() ? std::nullopt : parse_traceparent(found->second);
}

std::string trace_id(const RunId& run, const Tags& tags) {
  const std::optional<TraceParent> parent = parent_of_trace(tags);
  return parent ? parent->trace : derived_id(trace_bytes, "trace", run, 0);
}

std::string run_span_id(const RunId& run) { return derived_id(span_bytes, "run", run, 0); }
std::string step_span_id(const RunId& run, StepId step) { return derived_id(span_bytes, "step", run, step); }
std::string event_span_id(const RunId& run, std::int64_t seq) { return derived_id(span_bytes, "event", run, seq); }

}  // namespace cairn

#include "engine/graph_keep.hpp"

#include <string>

#include "engine/corrupt_history.hpp"
#include "engine/duration.hpp"

namespace cairn {
namespace {

constexpr DurationRange keep_range = {.least_us = 1, .count_max = 99'999, .has_ms = false};

}  // namespace

std::optional<std::int64_t> parse_keep(const Json& keep) {
  if (!keep.is_string()) return std::nullopt;
  const std::string& text = keep.get_ref<const std::string&>();
  if (text.starts_with('0')) return std::nullopt;
  return parse_duration(text, keep_range);
}

std::optional<std::int64_t> keep_us(const Graph& graph) {
  if (graph.text.find("\"keep\"") == std::string::npos) return std::nullopt;
  const Json text = Json::parse(graph.text, nullptr, false);
  const auto keep = text.find("keep");
  if (keep == text.end()) return std::nullopt;
  if (const std::optional<std::int64_t> time = parse_keep(*keep)) return time;
  throw CorruptHistory("Expected graph " + graph.name + " to keep its runs for a duration, but found " +
                       excerpt(*keep, 40) + ".");
}

}  // namespace cairn

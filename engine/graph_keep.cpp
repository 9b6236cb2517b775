#include "engine/graph_keep.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "engine/corrupt_history.hpp"

namespace cairn {
namespace {

constexpr std::size_t digits_max = 5;
constexpr std::int64_t second_us = 1'000'000;

// 0: no unit.
std::int64_t seconds_of(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3'600;
    case 'd':
      return 86'400;
    default:
      return 0;
  }
}

}  // namespace

std::optional<std::int64_t> parse_keep(const Json& keep) {
  if (!keep.is_string()) return std::nullopt;
  const std::string& text = keep.get_ref<const std::string&>();
  if (text.size() < 2 || text.size() > digits_max + 1 || text[0] == '0') return std::nullopt;
  std::int64_t count = 0;
  const char* const unit = text.data() + text.size() - 1;
  const auto read = std::from_chars(text.data(), unit, count);
  const std::int64_t seconds = seconds_of(*unit);
  if (read.ec != std::errc{} || read.ptr != unit || count < 1 || seconds == 0) return std::nullopt;
  return count * seconds * second_us;
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

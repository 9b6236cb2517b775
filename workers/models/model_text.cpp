#include "workers/models/model_text.hpp"

#include <optional>
#include <string>

#include "engine/json_scan.hpp"
#include "engine/text.hpp"
#include "workers/models/thought_tags.hpp"

namespace cairn {
namespace {

constexpr std::size_t scanned_bytes_max = 1u << 20;
constexpr int places_max = 50;
constexpr std::string_view what = "the model's reply";

// Some servers cut the opening tag, as they put it into the prompt.
std::string_view after_thoughts(std::string_view text) {
  for (const std::string_view end : thoughts_end) {
    const std::size_t at = text.rfind(end);
    if (at != std::string_view::npos) return trimmed(text.substr(at + end.size()));
  }
  return text;
}

// The text between the first two fences, without the language's name; the text itself if there are none.
std::string_view in_fence(std::string_view text) {
  constexpr std::string_view fence = "```";
  const std::size_t open = text.find(fence);
  if (open == std::string_view::npos) return text;
  const std::size_t line = text.find('\n', open);
  const std::size_t close = text.find(fence, open + fence.size());
  if (line == std::string_view::npos || close == std::string_view::npos || close < line) return text;
  return trimmed(text.substr(line, close - line));
}

// `{` and the quote of a first member: JSON, and not words in brackets.
bool opens_object(std::string_view text) { return trimmed(text.substr(1)).starts_with('"'); }

// An object that the text opens and does not close was cut off: what it holds is no reply, but a part of one.
std::optional<Json> first_object(std::string_view text) {
  std::size_t at = text.find('{');
  for (int place = 0; place < places_max && at != std::string_view::npos; ++place) {
    const std::size_t end = after_brackets(text, at);
    if (end == std::string_view::npos && opens_object(text.substr(at))) return std::nullopt;
    if (Result<Json> value = parse_json(text.substr(at, end - at), what)) return *std::move(value);
    at = text.find('{', at + 1);
  }
  return std::nullopt;
}

}  // namespace

Result<Json> json_in_reply(std::string_view text) {
  text = trimmed(text);
  Result<Json> whole = parse_json(text, what);
  if (whole) return whole;
  const std::string_view said = after_thoughts(text.substr(0, scanned_bytes_max));
  if (Result<Json> value = parse_json(said, what)) return value;
  if (Result<Json> value = parse_json(in_fence(said), what)) return value;
  if (std::optional<Json> value = first_object(said)) return *std::move(value);
  return whole;
}

}  // namespace cairn

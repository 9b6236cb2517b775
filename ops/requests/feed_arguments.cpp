#include "ops/requests/feed_arguments.hpp"

#include <algorithm>
#include <cctype>
#include <limits>

#include "engine/nearest.hpp"
#include "workers/hooks/hook.hpp"

namespace cairn {
namespace {

constexpr std::size_t consumer_name_bytes = 64;
constexpr std::size_t shown_bytes = 80;

std::vector<std::string> all_event_types() {
  std::vector<std::string> names;
  for (std::int16_t number = 0; number < std::numeric_limits<std::int8_t>::max() * 2; ++number)
    if (const auto name = event_type_name(number)) names.emplace_back(*name);
  return names;
}

}  // namespace

Result<std::string> consumer_name_argument(const std::string& text) {
  const auto is_fine = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_' || c == '@'; };
  if (is_hook_consumer(text))
    return Error{Code::invalid,
                 "Expected another name for a consumer, but those that begin with hook@ belong to hooks."};
  if (!text.empty() && text.size() <= consumer_name_bytes && std::all_of(text.begin(), text.end(), is_fine))
    return text;
  return Error{Code::invalid, "Expected a name of letters, digits and .-_@ for a consumer, at most " +
                                  std::to_string(consumer_name_bytes) + ", but found \"" + text.substr(0, shown_bytes) +
                                  "\"."};
}

Result<std::vector<std::string>> event_types_argument(const std::vector<std::string>& texts) {
  static const std::vector<std::string> known = all_event_types();
  for (const std::string& text : texts)
    if (std::find(known.begin(), known.end(), text) == known.end())
      return Error{Code::invalid, "Expected a type of events, as step_succeeded, but found \"" +
                                      text.substr(0, shown_bytes) + "\"" + did_you_mean(text, known) + "."};
  return texts;
}

Result<FeedStart> feed_start_argument(const std::string& text) {
  if (text == "history") return FeedStart::history;
  if (text == "now") return FeedStart::now;
  return Error{Code::invalid,
               "Expected history or now as a consumer's start, but found \"" + text.substr(0, shown_bytes) + "\"."};
}

}  // namespace cairn

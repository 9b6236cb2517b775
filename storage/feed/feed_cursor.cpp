#include "storage/feed/feed_cursor.hpp"

#include <charconv>
#include <limits>
#include <string_view>
#include <tuple>

namespace cairn {
namespace {

constexpr std::size_t shown_bytes = 80;
constexpr std::size_t mark_digits = 12;

std::string text_of(const FeedPlace& place) {
  std::string text = std::to_string(place.position);
  if (place.skip > 0) text += "_" + std::to_string(place.skip);
  if (!place.mark.empty()) text += "-" + place.mark;
  if (place.history) text += "h" + to_string(place.history->run) + "_" + std::to_string(place.history->seq);
  return text;
}

// The part before the first `mark`, which `rest` loses with it; all of it if there is none.
std::string_view take_until(std::string_view& rest, char mark) {
  const std::size_t end = rest.find(mark);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

bool read_count(std::string_view text, std::int64_t& count) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  return fault == std::errc() && end == text.data() + text.size() && count >= 0;
}

bool is_mark(std::string_view text) {
  return text.size() == mark_digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<FeedPlace> place_in(std::string_view text) {
  FeedPlace place;
  const bool has_history = text.find('h') != std::string_view::npos;
  std::string_view marked = take_until(text, 'h');
  const bool has_mark = marked.find('-') != std::string_view::npos;
  std::string_view stream = take_until(marked, '-');
  if (has_mark && !is_mark(marked)) return {};
  place.mark = marked;
  const bool has_skip = stream.find('_') != std::string_view::npos;
  if (!read_count(take_until(stream, '_'), place.position)) return {};
  if (has_skip && !read_count(stream, place.skip)) return {};
  if (!has_history) return place;
  const std::optional<RunId> run = parse_run_id(take_until(text, '_'));
  std::int64_t seq = 0;
  if (!run || !read_count(text, seq)) return {};
  place.history = HistoryPlace{*run, seq};
  return place;
}

}  // namespace

std::int64_t marked_position(const FeedPlace& place) {
  const bool is_in_next = place.skip > 0 && place.position < std::numeric_limits<std::int64_t>::max();
  return place.position + (is_in_next ? 1 : 0);
}

bool are_same(const FeedPlace& one, const FeedPlace& other) {
  return one.position == other.position && one.skip == other.skip && one.history == other.history;
}

// All of the history is read before the rows.
bool is_before(const FeedPlace& one, const FeedPlace& other) {
  if (one.history && !other.history) return true;
  if (!one.history && other.history) return false;
  if (one.history != other.history)
    return std::tie(one.history->run, one.history->seq) < std::tie(other.history->run, other.history->seq);
  return std::tie(one.position, one.skip) < std::tie(other.position, other.skip);
}

std::string to_text(const FeedCursor& cursor) {
  std::string text = cursor.consumer;
  for (const FeedPlace& place : cursor.places) text += "." + text_of(place);
  return text;
}

Result<FeedCursor> parse_feed_cursor(const std::string& text, std::int32_t shards) {
  const Error refusal{Code::invalid, "Expected a cursor as a page of the feed gives it, but found \"" +
                                         text.substr(0, shown_bytes) + "\"."};
  std::string_view rest = text;
  FeedCursor cursor{std::string(take_until(rest, '.')), {}};
  while (!rest.empty()) {
    const std::optional<FeedPlace> place = place_in(take_until(rest, '.'));
    if (!place) return refusal;
    cursor.places.push_back(*place);
  }
  if (cursor.consumer.empty() || cursor.places.size() != static_cast<std::size_t>(shards)) return refusal;
  return cursor;
}

}  // namespace cairn

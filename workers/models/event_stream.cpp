#include "workers/models/event_stream.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cairn {
namespace {

constexpr std::int64_t retry_ms_min = 100;  // a server that says none would be asked without a pause
constexpr std::int64_t retry_ms_max = 60'000;
constexpr std::size_t id_bytes_max = 1024;

}  // namespace

std::vector<std::string> EventStream::add(std::string_view more) {
  std::vector<std::string> events;
  for (const char byte : more) {
    const bool ends_return = byte == '\n' && was_return_;
    was_return_ = byte == '\r';
    if (ends_return) continue;
    if (byte != '\n' && byte != '\r') {
      rest_ += byte;
      continue;
    }
    const std::string line = std::exchange(rest_, {});
    take_line(line, events);
  }
  return events;
}

void EventStream::begin_again() {
  rest_.clear();
  data_.clear();
  has_data_ = false;
  was_return_ = false;
  id_.reset();
}

void EventStream::take_line(std::string_view line, std::vector<std::string>& events) {
  if (line.empty()) {
    if (id_) last_id_ = std::exchange(id_, std::nullopt);
    if (has_data_ && !data_.empty()) events.push_back(std::move(data_));
    data_.clear();
    has_data_ = false;
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (field == "id" && value.size() <= id_bytes_max) {
    id_ = std::string(value);
  } else if (field == "retry") {
    std::int64_t ms = 0;
    const auto read = std::from_chars(value.data(), value.data() + value.size(), ms);
    const bool is_number = read.ec == std::errc() && read.ptr == value.data() + value.size();
    if (is_number) retry_ms_ = std::clamp<std::int64_t>(ms, retry_ms_min, retry_ms_max);
  }
}

}  // namespace cairn

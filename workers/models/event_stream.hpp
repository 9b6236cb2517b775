// Server-sent events (text/event-stream) as they are read from models, from servers of the Model Context Protocol and
// from Cairn's API: data, the id from which a broken stream is resumed, and the time after which. Source: the HTML
// standard's section on server-sent events. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

class EventStream {
 public:
  // The data of the events that these bytes complete; events without data are passed over.
  std::vector<std::string> add(std::string_view more);

  // That of the last whole event that had one; none: the stream cannot be resumed.
  const std::optional<std::string>& last_id() const { return last_id_; }
  std::int64_t retry_ms() const { return retry_ms_; }
  // Bytes of an event that is not whole yet; the caller bounds them.
  std::size_t bytes_kept() const { return rest_.size() + data_.size(); }

  // A stream that goes on from there: what is not whole is lost.
  void begin_again();

 private:
  void take_line(std::string_view line, std::vector<std::string>& events);

  std::string rest_;  // a line that is not whole
  bool was_return_ = false;
  std::string data_;
  bool has_data_ = false;
  std::optional<std::string> id_;
  std::optional<std::string> last_id_;
  std::int64_t retry_ms_ = 1'000;
};

}  // namespace cairn

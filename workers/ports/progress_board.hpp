// The texts that running steps have written so far, until the worker passes them on: the last text of a step counts,
// and only its end is kept. Used by the worker's serial executor, one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

class ProgressBoard {
 public:
  using Slot = std::uint64_t;  // a step being executed; never used again

  struct Said {
    Slot slot = 0;
    std::string text;          // its end, of at most progress_bytes_max bytes; valid UTF-8 without NUL
    std::int64_t written = 0;  // characters of the whole text
  };

  // The whole text so far, in place of the one before. Costs what counting its characters does.
  void say(Slot slot, std::string_view text);
  // The step has ended.
  void forget(Slot slot) { texts_.erase(slot); }

  // The texts that have changed since they were taken, the longest unchanged first: of at most so many bytes together,
  // but at least one. The others come with the next call.
  std::vector<Said> take(std::size_t bytes_max);

 private:
  struct Text {
    std::string end;
    std::int64_t written = 0;
    bool is_changed = false;
  };
  std::map<Slot, Text> texts_;
  std::deque<Slot> changed_;
};

}  // namespace cairn

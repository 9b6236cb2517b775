// The session's own row, as it was last written to the store: how many queues it has as served, and whether a call that
// writes it is under way. Calls go one after another, as two could arrive in the other order. Not thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

namespace cairn {

class OwnRow {
 public:
  // False: a call is under way. Else one is to be made, whose end comes back as written() or failed().
  bool begin_writing(std::size_t queues) {
    if (std::exchange(is_being_written_, true)) return false;
    queues_ = queues;
    return true;
  }
  void written() { is_being_written_ = false; }
  void failed() {
    is_being_written_ = false;
    queues_.reset();
  }
  bool has(std::size_t queues) const { return queues_ == queues; }  // or is about to have

 private:
  std::optional<std::size_t> queues_;  // nothing: it may have the one or the other
  bool is_being_written_ = false;
};

}  // namespace cairn

// The room that is left in an answer of bounded size, measured on values before they become text. Not thread-safe.
#pragma once

#include <cstddef>

#include "engine/json.hpp"

namespace cairn {

inline constexpr std::size_t answer_bytes_max = composed_bytes_max;

class AnswerRoom {
 public:
  explicit AnswerRoom(std::size_t bytes = answer_bytes_max) : left_(bytes) {}

  // Takes about as many bytes as the value's text has. False: there are not so many left; then none are.
  bool take(const Json& value);
  std::size_t left() const { return left_; }

 private:
  bool take_bytes(std::size_t bytes);
  std::size_t left_;
};

}  // namespace cairn

// The exception for a corrupt history: stored bytes that cannot be what they claim to be (an event that cannot follow,
// a payload that is no event, a stored graph that is no graph). It stops that run, not the process, and is the one
// exception type the project defines; everything expected is a Result (result.hpp). A plain value, safe to copy.
#pragma once

#include <stdexcept>

namespace cairn {

class CorruptHistory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace cairn

// Pauses before another attempt, drawn so that the many processes that lost a database at one moment do not come back
// to it at one moment. Safe from any thread; one BackoffPauses is for one thread.
#pragma once

#include <cstdint>

namespace cairn {

// From half of `longest` to all of it, each as likely; drawn from a source of the calling thread's own, which the
// system seeds.
std::int64_t jittered(std::int64_t longest);

// The pauses of one call that is repeated: the longest is 5 ms at first, then twice the one before, a second at most.
class BackoffPauses {
 public:
  std::int64_t next_ms();  // drawn, not waited

 private:
  std::int64_t longest_ms_ = 5;
};

}  // namespace cairn

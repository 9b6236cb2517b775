// Pauses before another attempt, drawn so that the many processes that lost a database at one moment do not come back
// to it at one moment. Safe from any thread.
#pragma once

#include <cstdint>

namespace cairn {

// From half of `longest` to all of it, each as likely; drawn from a source of the calling thread's own, which the
// system seeds.
std::int64_t jittered(std::int64_t longest);

}  // namespace cairn

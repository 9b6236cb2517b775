// The disk on which the database server keeps its data: a benchmark that fills tables leaves some of it free. Safe from
// any thread, as far as the connection is.
#pragma once

#include <cstdint>
#include <string>

#include "engine/result.hpp"
#include "storage/postgres/administration.hpp"

namespace cairn {

// Free bytes that stay, also for the server's log and for all else on the machine.
inline constexpr std::int64_t free_bytes_kept = 5'000'000'000;

// Refuses `limit`: less would stay free at `directory` of `free_bytes` after `bytes` more.
Status leaves_room(const std::string& directory, std::int64_t free_bytes, std::int64_t bytes);

// The same of a server as it is now. Not of one on another machine, nor of one that does not say where its data is to
// this role: nothing is known of their disks.
Status leaves_room(Administration& database, std::int64_t bytes);

}  // namespace cairn

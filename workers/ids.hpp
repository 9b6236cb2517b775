// Ids made by this process: UUIDv7 for runs, a random number for sessions, a name-based id for runs with a key.
// Safe from any thread.
#pragma once

#include <random>
#include <string_view>

#include "engine/id.hpp"

namespace cairn {

// UUIDv7 of now.
RunId new_run_id();

// Name-based: the same graph and key always give the same id.
RunId keyed_run_id(std::string_view graph, std::string_view key);

// Below 2^53, so that every reader of JSON keeps it exactly.
SessionId new_session_id();

// The calling thread's own source of random numbers, seeded by the system.
std::mt19937_64& thread_random();

}  // namespace cairn

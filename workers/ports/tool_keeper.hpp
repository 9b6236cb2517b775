// The keeper's report, in bytes: what became of the one program that it kept, and the bytes of the keeper itself
// (tool_keeper.cpp). Plain values; constant data, safe from any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace cairn {

struct KeeperReport {
  enum Kind : std::int32_t { running, not_started, exited, signalled, lacking };  // lacking: for the keeper itself
  Kind kind = running;
  std::int32_t number = 0;  // errno, exit status, signal
};

// A program for this machine.
std::string_view keeper_program();

}  // namespace cairn

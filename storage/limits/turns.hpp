// Turns of the keys of a queue: round robin by deficit. Each key in turn may have as many jobs begun as its weight
// says; one that has no more jobs, or no room for them, is passed by. A turn that a claim has no room to finish goes on
// with the next claim. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/result.hpp"

namespace cairn {

// A key with jobs that are due, of which more may wait than are counted. `room` may be less: its own limits leave no
// more.
struct WaitingKey {
  std::string key;
  std::int64_t waiting = 0;
  std::int64_t room = 0;
  std::int64_t weight = 1;
  bool operator==(const WaitingKey&) const = default;
};

// The key whose turn it is, or the next one after it if that has no jobs; `served` of its jobs were begun in this turn.
struct KeyTurn {
  std::string key;
  std::int64_t served = 0;
  bool operator==(const KeyTurn&) const = default;
};

struct KeyShare {
  std::string key;
  std::int64_t count = 0;
  bool operator==(const KeyShare&) const = default;
};

// Keys in the order in which they come round, beginning with the turn's or the next one after it: all that have jobs,
// or the first of them.
struct KeyRing {
  std::vector<WaitingKey> keys;
  bool is_whole = true;
};

// The jobs of each key that are begun next, `limit` in all at most, each key once; `turn` becomes the next one. Each
// key of a ring that is not whole has one turn at most: the later ones come before its next.
std::vector<KeyShare> take_turns(const KeyRing& ring, std::int64_t limit, KeyTurn& turn);

}  // namespace cairn

// The database's part of erasing: which runs belong together, what else has a copy of theirs, and the removal of large
// values that nothing refers to any more, of archived runs too (run_archive.hpp removes the runs). Not thread-safe.
// Throws StoreUnavailable when the database cannot be reached.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/event.hpp"
#include "engine/result.hpp"
#include "storage/digest.hpp"

namespace cairn {

class Placements;

// A step that has put a value has committed the event that refers to it by then.
inline constexpr std::int64_t unused_for_us = 3'600'000'000;

class RunErasure {
 public:
  explicit RunErasure(const std::string& dsn);
  ~RunErasure();

  // By any thread: calls under way and later ones throw StoreUnavailable at once.
  void give_up();

  struct Member {
    RunId root;  // the run asked about that called it, directly or not; or is it
    RunId run;
    RunStatus status = RunStatus::running;
    std::int64_t head = 0;
    Hash chain_hash{};
  };
  // These runs of one shard and all runs that they called, ordered by their roots.
  std::vector<Member> families(Shard shard, std::span<const RunId> roots);

  // Runs that continue one of these or were forked from it: their first events hold a copy of what it had.
  struct Heir {
    RunId origin;
    RunId run;
    bool is_open = false;
  };
  std::vector<Heir> heirs(std::span<const RunId> runs);

  struct Values {
    std::int64_t removed = 0;
    std::int64_t bytes = 0;   // of those
    std::int64_t used = 0;    // other runs have them too
    std::int64_t recent = 0;  // put lately: they stay until the next time
  };
  // Removes the shard's large values of archived and erased runs to which no event refers any more and which nothing
  // has put for `unused_us`. In one transaction; whatever archives or erases runs waits for it, nothing else does.
  // Refuses as RunArchive::remove.
  Result<Values> remove_values(Shard shard, std::int64_t unused_us);

 private:
  std::unique_ptr<Placements> placements_;
};

}  // namespace cairn

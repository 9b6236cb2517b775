// Runs by status, counted in parts so that a reading costs the same however many runs there are. The runs lie in the
// order of their starts, in parts of some thousand; the latest part is counted each time, and one of the others: in
// turns the one that was counted longest ago, and the same of those in which runs are open. So the count of a database
// of one part is exact, and that of a large one as old as it says. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/id.hpp"

namespace cairn {

// A place in the order of the starts; runs that start later come after it.
struct StartPlace {
  TimeUs started_at = 0;
  std::string run;
  auto operator<=>(const StartPlace&) const = default;
};
StartPlace first_start();  // before all
StartPlace last_start();   // after all

// By status; a run that waits counts as "waiting".
using RunCounts = std::map<std::string, std::int64_t>;

// Reads the table. Each throws as its connection does.
struct RunReader {
  // The place of the run so many after that place; nothing: there are fewer. Reads as many rows.
  std::function<std::optional<StartPlace>(const StartPlace& after, std::int64_t rows)> place;
  // The runs after the one place, up to the other. Reads all of them.
  std::function<RunCounts(const StartPlace& after, const StartPlace& until)> count;
};

class RunTally {
 public:
  struct Reading {
    RunCounts runs;
    TimeUs oldest_us = 0;  // when the part was counted that was counted longest ago; steady
  };

  // `part_rows`: runs of a part. `parts_max`: new parts of one reading.
  explicit RunTally(std::int64_t part_rows = 10'000, int parts_max = 20)
      : part_rows_(part_rows), parts_max_(parts_max) {}

  // Reads at most 2 * part_rows * (parts_max + 3) rows. Nothing: there are parts that no reading has counted yet.
  std::optional<Reading> read(const RunReader& reader, TimeUs now_us);

 private:
  struct Part {
    StartPlace until;
    RunCounts runs;
    TimeUs counted_at = 0;
    bool has_open = false;
  };
  StartPlace begin_of(std::size_t part) const { return part == 0 ? first_start() : parts_[part - 1].until; }
  bool add_parts(const RunReader& reader, TimeUs now_us);
  void count_again(const RunReader& reader, TimeUs now_us);
  void join_if_small(std::size_t part);
  std::optional<std::size_t> oldest(bool is_open_only) const;

  const std::int64_t part_rows_;
  const int parts_max_;
  std::vector<Part> parts_;  // all but the latest
  bool is_open_next_ = false;
};

}  // namespace cairn

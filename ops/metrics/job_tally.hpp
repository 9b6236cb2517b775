// Jobs by queue, counted in parts so that a reading costs the same however many jobs wait. A reading goes on where the
// one before stopped, in the order of the table's key; the numbers of a table that one reading can pass are those of
// now, and those of a longer one as old as they say. A job that is moved while a longer one is passed may be counted
// twice or not at all. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/id.hpp"

namespace cairn {

// A place in the order of the table's key.
struct TallyPlace {
  std::int64_t shard = 0;
  std::string run;
  std::int64_t branch = 0;
  auto operator<=>(const TallyPlace&) const = default;
};
inline TallyPlace first_job() { return {-1, "00000000-0000-0000-0000-000000000000", 0}; }  // before all

struct JobCounts {
  std::int64_t ready = 0;  // due and unowned
  std::int64_t later = 0;  // not yet due
  std::int64_t held = 0;
  bool operator==(const JobCounts&) const = default;
};

struct JobPart {
  std::vector<std::pair<std::string, JobCounts>> queues;  // one may come more than once
  std::optional<TallyPlace> last;                         // of its jobs; nothing: there are no more
};

// The first `count` jobs after that place. Reads as many rows; throws as its connection does.
using JobReader = std::function<JobPart(const TallyPlace& after, std::int64_t count)>;

class JobTally {
 public:
  struct Reading {
    std::map<std::string, JobCounts> queues;
    TimeUs began_us = 0;  // when the first part was counted; steady
  };

  // `part_rows`: jobs of a part. `parts_max`: parts of one reading.
  explicit JobTally(std::int64_t part_rows = 10'000, int parts_max = 10)
      : part_rows_(part_rows), parts_max_(parts_max) {}

  // Reads at most part_rows * parts_max rows. Nothing: the table has not been passed once. A reading that throws
  // begins at the first job the next time.
  const std::optional<Reading>& read(const JobReader& reader, TimeUs now_us);
  // The counts of the part of the table that has been passed, until it has been passed once.
  const Reading& read_so_far() const { return counting_; }

 private:
  void begin(TimeUs now_us);

  const std::int64_t part_rows_;
  const int parts_max_;
  TallyPlace next_ = first_job();
  Reading counting_;
  std::optional<Reading> counted_;
};

}  // namespace cairn

#include "ops/bench/rig/copies.hpp"

#include <algorithm>

#include "ops/bench/rig/data_disk.hpp"
#include "workers/ids.hpp"

namespace cairn {
namespace {

constexpr std::int64_t at_once = 20'000;
constexpr std::int64_t bytes_of_one = 6'600;
constexpr std::size_t counted_from = 10;  // bytes 10 to 13 of an id hold the number

}  // namespace

Copies::Copies(FreshDatabase& database, const RunId& sample, std::int64_t count, Copying how)
    : count_(count), base_(new_run_id()) {
  Administration& inside = database.administration();
  for (std::int64_t first = 0; first < count; first += at_once) {
    if (how.leaves_room) are_all_ = leaves_room(inside, bytes_of_copies(count - first));
    if (!are_all_) return;
    inside.query("bench_copy_runs",
                 {to_string(sample), to_string(base_), std::to_string(first),
                  std::to_string(std::min(first + at_once, count) - 1), how.tagged ? "true" : "false"});
  }
  for (const char* table : {"run", "event", "job"}) inside.execute(std::string("VACUUM (ANALYZE) cairn.") + table);
}

std::int64_t bytes_of_copies(std::int64_t count) { return count * bytes_of_one; }

RunId Copies::id(std::int64_t n) const {
  RunId made = base_;
  for (std::size_t i = 0; i < 4; ++i)
    made.bytes[counted_from + i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(n) >> (8 * (3 - i)));
  return made;
}

}  // namespace cairn

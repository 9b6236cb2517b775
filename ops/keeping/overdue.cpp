#include "ops/keeping/overdue.hpp"

#include <algorithm>
#include <limits>

namespace cairn {
namespace {

constexpr std::int32_t oldest_max = 20;
constexpr RunArchive::Place before_all{std::numeric_limits<TimeUs>::min(), RunId{}};

bool may_go(RunArchive& archive, Shard shard, const RunId& run) {
  const std::vector<RunArchive::Member> family = archive.family(shard, run);
  return std::all_of(family.begin(), family.end(), [](const RunArchive::Member& one) { return one.has_ended; }) &&
         archive.kept_for_open_runs(family).empty();
}

}  // namespace

std::vector<std::string> overdue_graphs(Store& store, RunArchive& archive, const std::vector<KeepPolicy>& policies,
                                        std::int64_t longer_us) {
  std::vector<std::string> graphs;
  for (const KeepPolicy& policy : policies) {
    const TimeUs before = store.database_time() - policy.keep_us - longer_us;
    const std::vector<RunArchive::Place> oldest = archive.due(policy.graph, before, before_all, oldest_max);
    if (std::any_of(oldest.begin(), oldest.end(), [&](const RunArchive::Place& place) {
          return may_go(archive, shard_of(place.second, store.shards()), place.second);
        }))
      graphs.push_back(policy.graph);
  }
  return graphs;
}

}  // namespace cairn

#include "storage/hooks/stalled_runs.hpp"

#include <array>

#include "engine/json.hpp"

namespace cairn {
namespace {

constexpr int stalled_connections = 1;
constexpr auto stalled_columns = std::to_array<std::string_view>({"run_id", "head", "stands", "looked_at"});

}  // namespace

StalledRuns::StalledRuns(std::string dsn, std::int32_t shards, const std::string& identity, std::int64_t patience_ms)
    : shards_(shards), placements_(PgConnectOptions{std::move(dsn), "cairn hooks"}, stalled_connections, patience_ms) {
  placements_.expect_identity(identity);
}

StalledAnswer StalledRuns::search(const StalledQuestion& question, std::int32_t limit) {
  StalledAnswer answer{{}, question.shard, question.after, false};
  for (std::int64_t left = limit; left > 0 && answer.shard < shards_;) {
    PgParameters asked;
    asked.add(answer.shard).add(answer.after).add(static_cast<std::int32_t>(left));
    asked.add(question.moved_before).add(question.moved_after);
    question.graph.empty() ? asked.add_null(PgType::text) : asked.add(question.graph);
    asked.add(canonical(Json(question.tags)));
    const PgResult rows = placements_.query_widely(answer.shard, "stalled_runs", asked);
    rows.expect_columns(stalled_columns);
    for (int row = 0; row < rows.rows(); ++row) {
      answer.after = rows.uuid(row, 0);
      if (rows.boolean(row, 2)) answer.found.push_back({answer.after, rows.int8(row, 1), NoticeKind::stalled});
    }
    const std::int64_t scanned = rows.rows() == 0 ? 0 : rows.int8(0, 3);
    if (scanned < left) {
      ++answer.shard;
      answer.after = {};
    }
    left -= scanned;
  }
  answer.is_end = answer.shard >= shards_;
  if (answer.is_end) answer.shard = 0;
  return answer;
}

}  // namespace cairn

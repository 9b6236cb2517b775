#include "storage/postgres/store/start_table.hpp"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

constexpr int start_connections = 2;
constexpr auto key_columns = std::to_array<std::string_view>({"graph", "key", "numbers", "look_at", "state"});
constexpr auto start_columns =
    std::to_array<std::string_view>({"graph", "key", "number", "run_id", "asked_at", "actor", "request", "refusal"});
constexpr auto found_columns = std::to_array<std::string_view>(
    {"graph", "key", "number", "run_id", "asked_at", "actor", "request", "refusal", "state"});
constexpr auto front_columns = std::to_array<std::string_view>({"graph", "key", "number", "run_id", "last"});

StartKey key_at(const PgResult& found, int row) {
  return {std::string(found.text(row, 0)), std::string(found.text(row, 1))};
}

std::vector<StartKeyRow> key_rows(const PgResult& found) {
  found.expect_columns(key_columns);
  std::vector<StartKeyRow> rows;
  for (int row = 0; row < found.rows(); ++row)
    rows.push_back({.of = key_at(found, row),
                    .numbers = found.int8(row, 2),
                    .due_at = found.int8(row, 3),
                    .state = std::string(found.text(row, 4))});
  return rows;
}

WaitingStart start_at(const PgResult& found, int row) {
  WaitingStart start{found.int8(row, 2), found.uuid(row, 3), found.int8(row, 4), std::string(found.text(row, 5)),
                     std::string(found.text(row, 6))};
  if (!found.is_null(row, 7)) start.refusal = found.text(row, 7);
  return start;
}

// The first two columns of every statement about keys.
class KeyColumns {
 public:
  void add(const StartKey& key) {
    graphs_.add(key.graph);
    keys_.add(key.key);
  }
  bool is_empty() const { return graphs_.size() == 0; }
  PgParameters take() {
    PgParameters both;
    both.add(std::move(graphs_)).add(std::move(keys_));
    return both;
  }

 private:
  PgArray graphs_{PgType::text}, keys_{PgType::text};
};

PgParameters columns_of(const std::vector<StartKey>& keys) {
  KeyColumns columns;
  for (const StartKey& key : keys) columns.add(key);
  return columns.take();
}

// Read after the rows are locked: what committed while this transaction waited for them is seen.
void read_fronts(PgConnection& connection, std::vector<StartKeyRow>& rows) {
  std::vector<StartKey> keys;
  for (const StartKeyRow& row : rows) keys.push_back(row.of);
  const PgResult found = connection.query(statement("first_starts"), columns_of(keys));
  found.expect_columns(front_columns);
  for (int row = 0; row < found.rows(); ++row) {
    const StartKey of = key_at(found, row);
    const auto at = std::find_if(rows.begin(), rows.end(), [&of](const StartKeyRow& one) { return one.of == of; });
    CHECK(at != rows.end());
    at->numbers = std::max(at->numbers, found.int8(row, 4));  // a new row goes on with those of refused starts
    if (!found.is_null(row, 2)) at->front = std::pair(found.int8(row, 2), found.uuid(row, 3));
  }
}

void write_keys(PgConnection& connection, const std::vector<StartKeyWrite>& writes) {
  KeyColumns keys;
  PgArray numbers(PgType::int8), dues(PgType::int8), states(PgType::text);
  std::vector<StartKey> removed;
  for (const StartKeyWrite& write : writes) {
    if (write.is_removed) {
      removed.push_back(write.row.of);
      continue;
    }
    keys.add(write.row.of);
    numbers.add(write.row.numbers);
    dues.add(write.row.due_at);
    states.add(write.row.state);
  }
  if (!keys.is_empty()) {
    PgParameters all = keys.take();
    for (PgArray* column : {&numbers, &dues, &states}) all.add(std::move(*column));
    connection.query(statement("put_start_keys"), all);
  }
  if (!removed.empty()) connection.query(statement("remove_start_keys"), columns_of(removed));
}

void add_starts(PgConnection& connection, const std::vector<StartKeyWrite>& writes) {
  KeyColumns keys;
  PgArray numbers(PgType::int8), runs(PgType::uuid), times(PgType::int8), actors(PgType::text), requests(PgType::text);
  for (const StartKeyWrite& write : writes)
    for (const WaitingStart& start : write.added) {
      keys.add(write.row.of);
      numbers.add(start.number);
      runs.add(start.run);
      times.add(start.asked_at);
      actors.add(start.actor);
      requests.add(start.request);
    }
  if (keys.is_empty()) return;
  PgParameters all = keys.take();
  for (PgArray* column : {&numbers, &runs, &times, &actors, &requests}) all.add(std::move(*column));
  connection.query(statement("add_starts"), all);
}

void remove_starts(PgConnection& connection, const std::vector<StartKeyWrite>& writes) {
  KeyColumns keys;
  PgArray firsts(PgType::int8), lasts(PgType::int8);
  for (const StartKeyWrite& write : writes)
    for (const StartNumbers& gone : write.removed) {
      keys.add(write.row.of);
      firsts.add(gone.first);
      lasts.add(gone.last);
    }
  if (keys.is_empty()) return;
  PgParameters all = keys.take();
  for (PgArray* column : {&firsts, &lasts}) all.add(std::move(*column));
  connection.query(statement("remove_starts"), all);
}

void refuse_starts(PgConnection& connection, const std::vector<StartKeyWrite>& writes) {
  for (const StartKeyWrite& write : writes)
    for (const auto& [numbers, refusal] : write.refused)
      connection.query(statement("refuse_starts"), PgParameters()
                                                       .add(write.row.of.graph)
                                                       .add(write.row.of.key)
                                                       .add(numbers.first)
                                                       .add(numbers.last)
                                                       .add(refusal));
}

// Within the transaction that has locked the rows.
void decide_rows(PgConnection& connection, std::vector<StartKeyRow> rows, const DecideStarts& decide) {
  if (rows.empty()) return;
  read_fronts(connection, rows);
  const TimeUs now_us = connection.query(statement("database_time")).int8(0, 0);
  const std::vector<StartKeyWrite> writes = decide(now_us, rows);
  write_keys(connection, writes);
  remove_starts(connection, writes);
  add_starts(connection, writes);
  refuse_starts(connection, writes);
}

}  // namespace

StartTable::StartTable(Placements& placements, PgConnectOptions options, const std::string& identity,
                       std::int64_t patience_ms)
    : placements_(placements), deciding_(std::move(options), start_connections, patience_ms) {
  deciding_.expect_identity(identity);
}

// A row that another process removes between the two statements is made again.
void StartTable::decide_named(std::vector<StartKey> keys, const DecideStarts& decide) {
  std::sort(keys.begin(), keys.end());
  deciding_.run([&](PgConnection& connection) {
    connection.execute("BEGIN");
    std::vector<StartKeyRow> rows;
    while (rows.size() < keys.size()) {
      connection.query(statement("make_start_keys"), columns_of(keys));
      rows = key_rows(connection.query(statement("lock_start_keys"), columns_of(keys)));
    }
    decide_rows(connection, std::move(rows), decide);
    connection.execute("COMMIT");
  });
}

std::size_t StartTable::decide_due(int limit, const DecideStarts& decide) {
  return deciding_.run([&](PgConnection& connection) {
    connection.execute("BEGIN");
    std::vector<StartKeyRow> rows =
        key_rows(connection.query(statement("lock_due_start_keys"), PgParameters().add(std::int32_t{limit})));
    const std::size_t count = rows.size();
    decide_rows(connection, std::move(rows), decide);
    connection.execute("COMMIT");
    return count;
  });
}

NextDue StartTable::next_due() {
  const PgResult found = placements_.whole().query("next_start_due");
  NextDue next{found.int8(0, 0), {}};
  if (!found.is_null(0, 1)) next.at_us = found.int8(0, 1);
  return next;
}

std::int64_t StartTable::count(std::int64_t most) {
  return placements_.whole().query("count_starts", PgParameters().add(most)).int8(0, 0);
}

std::vector<WaitingStart> StartTable::starts(const StartKey& of, std::int64_t first, std::int64_t last) {
  const PgResult found =
      placements_.whole().query("starts", PgParameters().add(of.graph).add(of.key).add(first).add(last));
  found.expect_columns(start_columns);
  std::vector<WaitingStart> starts;
  for (int row = 0; row < found.rows(); ++row) starts.push_back(start_at(found, row));
  return starts;
}

std::optional<FoundStart> StartTable::start_of_run(const RunId& run) {
  const PgResult found = placements_.whole().query("start_of_run", PgParameters().add(run));
  found.expect_columns(found_columns);
  if (found.rows() == 0) return std::nullopt;
  return FoundStart{key_at(found, 0), start_at(found, 0), std::string(found.text(0, 8))};
}

std::vector<StartKeyRow> StartTable::keys(const std::string& graph, const StartKey& after, std::int32_t limit) {
  return key_rows(
      placements_.whole().query("start_keys", PgParameters().add(graph).add(after.graph).add(after.key).add(limit)));
}

void StartTable::forget_refused(TimeUs before_us) {
  placements_.whole().query("forget_refused_starts", PgParameters().add(before_us));
}

void StartTable::recall() { placements_.whole().query("recall_start_keys", PgParameters().add(clock_ahead_max_us)); }

}  // namespace cairn

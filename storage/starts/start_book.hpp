// The keys of starts, and the starts that wait, as a store keeps them: calls that both stores make. Safe from any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/id.hpp"
#include "storage/starts/next_due.hpp"

namespace cairn {

struct StartKey {
  std::string graph;
  std::string key;
  auto operator<=>(const StartKey&) const = default;
};

struct StartKeyRow {
  StartKey of;
  std::int64_t numbers = 0;  // the number of its last start
  TimeUs due_at = never_us;
  std::string state = {};                                    // of keyed_starts_json; "": it is new
  std::optional<std::pair<std::int64_t, RunId>> front = {};  // the oldest start that waits; read, never written
};

struct WaitingStart {
  std::int64_t number = 0;
  RunId run;
  TimeUs asked_at = 0;
  std::string actor;
  std::string request;                      // JSON, see keyed_starter.hpp
  std::optional<std::string> refusal = {};  // why it never became a run
};

struct StartNumbers {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// A row that was locked as it shall be, and changes of its starts: of those with the numbers that are there.
struct StartKeyWrite {
  StartKeyRow row;
  bool is_removed = false;
  std::vector<WaitingStart> added = {};
  std::vector<StartNumbers> removed = {};
  std::vector<std::pair<StartNumbers, std::string>> refused = {};  // and why
};

// Decides on the rows of keys that the caller has locked, at the database's clock. After a failure it may be called
// again, with rows that were read again.
using DecideStarts = std::function<std::vector<StartKeyWrite>(TimeUs now_us, const std::vector<StartKeyRow>& rows)>;

// A start that waits, or was refused, with its key.
struct FoundStart {
  StartKey of;
  WaitingStart start;
  std::string state = {};  // of its key
};

// All throw StoreUnavailable; what they write may then be there or not.
struct StartBook {
  // Locks the rows of these keys, in their order, makes those that are not there, and writes what `decide` returns.
  // REQUIRES: no key twice.
  std::function<void(std::vector<StartKey> keys, const DecideStarts& decide)> decide_named;
  // Locks at most `limit` rows whose time has come, which no other caller has locked. Returns how many there were.
  std::function<std::size_t(int limit, const DecideStarts& decide)> decide_due;
  std::function<NextDue()> next_due;
  // How many starts wait; `most` stands for more.
  std::function<std::int64_t(std::int64_t most)> count;

  // The starts with these numbers, in order.
  std::function<std::vector<WaitingStart>(const StartKey& of, std::int64_t first, std::int64_t last)> starts;
  // The newest start on record, waiting or refused, of those that are one run, whether or not that was ever begun.
  std::function<std::optional<FoundStart>(const RunId& run)> start_of_run;
  // After `after`, in order; of all graphs if `graph` is "".
  std::function<std::vector<StartKeyRow>(const std::string& graph, const StartKey& after, std::int32_t limit)> keys;
  // Forgets refused starts that were asked for before `before_us`.
  std::function<void(TimeUs before_us)> forget_refused;
  // Keys that were to be decided on more than clock_ahead_max_us from now are due now: the clock may have been ahead.
  std::function<void()> recall;
};

// The calls of a table that has functions of these names. REQUIRES: it outlives them.
template <class Table>
StartBook start_book_of(Table& table) {
  return {.decide_named = [&table](std::vector<StartKey> keys,
                                   const DecideStarts& decide) { table.decide_named(std::move(keys), decide); },
          .decide_due = [&table](int limit, const DecideStarts& decide) { return table.decide_due(limit, decide); },
          .next_due = [&table] { return table.next_due(); },
          .count = [&table](std::int64_t most) { return table.count(most); },
          .starts = [&table](const StartKey& of, std::int64_t first,
                             std::int64_t last) { return table.starts(of, first, last); },
          .start_of_run = [&table](const RunId& run) { return table.start_of_run(run); },
          .keys = [&table](const std::string& graph, const StartKey& after,
                           std::int32_t limit) { return table.keys(graph, after, limit); },
          .forget_refused = [&table](TimeUs before_us) { table.forget_refused(before_us); },
          .recall = [&table] { table.recall(); }};
}

}  // namespace cairn

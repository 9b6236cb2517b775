// The text that a step has written so far, as the store keeps it while a session holds that attempt: live state next to
// the hold, for those who watch. It is no event, no step reads it, and losing it costs nothing. Plain values, and the
// calls that both stores make, which are safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/id.hpp"
#include "storage/log.hpp"

namespace cairn {

inline constexpr std::size_t progress_bytes_max = 64 * 1024;  // of a text; the end of a longer one is kept
inline constexpr std::int32_t progress_rows_max = 1'000;      // that a reader of a run is given

struct ProgressPlace {
  RunId run;
  StepId step = 0;
  std::int32_t attempt = 1;
  friend bool operator==(const ProgressPlace&, const ProgressPlace&) = default;
};

struct ProgressRow {
  ProgressPlace place;
  BranchId branch = 0;
  SessionId session = 0;     // that wrote it
  std::string node;          // of the step
  std::string text;          // valid UTF-8 without NUL
  std::int64_t written = 0;  // characters of the whole text
  TimeUs at_us = 0;          // of the last change
};

// All throw StoreUnavailable.
struct ProgressBook {
  // Texts of steps that the session executes, each in place of the one before; and steps that it holds no more, whose
  // rows go. A text of an attempt that the session does not hold is dropped. Closing the session removes all of them.
  std::function<void(SessionId, std::span<const ProgressRow> texts, std::span<const ProgressPlace> ended)> put;
  // Those of the run's held steps, in the order of their steps; none that another session has taken over.
  std::function<std::vector<ProgressRow>(const RunId&)> of;
};

// The calls of a table that has functions of these names. REQUIRES: it outlives them.
template <class Table>
ProgressBook progress_book_of(Table& table) {
  return {.put = [&table](SessionId session, std::span<const ProgressRow> texts,
                          std::span<const ProgressPlace> ended) { table.put(session, texts, ended); },
          .of = [&table](const RunId& run) { return table.of(run); }};
}

}  // namespace cairn

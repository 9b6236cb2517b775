// The ledger of the clients' commands and answers, compared with the log: an acknowledged command is in the log exactly
// once, a refused one changed nothing. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "engine/command.hpp"
#include "engine/event.hpp"

namespace cairn::simulation {

class Ledger {
 public:
  enum class Response : std::uint8_t { done, refused, nothing };

  // A command that leaves one event: its kind, and what names it among others of the kind.
  struct Entry {
    RunId run;
    std::string_view event;
    std::string name;
    auto operator<=>(const Entry&) const = default;
  };
  static Entry entry_of(const RunId& run, const Command& command);

  void asked(const Entry& entry) { ++lines_[entry].under_way; }
  void answered(const Entry& entry, Response what);
  bool is_under_way(const Entry& entry) const;
  void record(const RunId& run, const Event& event);

  // Throws a Violation. REQUIRES: nothing is under way any more.
  void check() const;

 private:
  struct Line {
    std::int64_t under_way = 0;
    std::int64_t done = 0;
    std::int64_t refused = 0;
    std::int64_t in_doubt = 0;
    std::int64_t in_log = 0;
  };
  std::map<Entry, Line> lines_;
  std::set<std::pair<RunId, std::string>> endings_;  // of runs that clean up: their reasons
};

}  // namespace cairn::simulation

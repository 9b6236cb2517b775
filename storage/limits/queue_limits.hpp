// All that operators set for a queue, as one value with a revision: what a claim may take of it, and in which order.
// They hold across all workers, shards and nodes. Pure functions, safe from any thread.
//
// A queue is
// - limited while it has any limit or is paused: a step of it begins only by a claim that reads the limits, or stays
//   with the holder of its branch where GoesOn says so;
// - governed while it has a limit that releases before 28 do not know: they find it paused, and leave it alone;
// - counted while jobs held at once, or what they reserve, is limited: then the held jobs are counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "storage/limits/rate.hpp"
#include "storage/limits/unit_budget.hpp"

namespace cairn {

// How a held branch goes on to its next step in the queue, as one held job before and after. A claim passes through the
// queue's table, where all sessions count together; a branch that goes on spares that.
enum class GoesOn : std::uint8_t {
  open,    // without limits; a new branch may begin held as well
  freely,  // starts are not counted
  paced,   // a rate or budgets, of the queue or of each key, count them: the step takes one first
  never,   // each step is claimed
};

struct QueueLimits {
  std::string name;
  std::int64_t revision = 0;                     // one more with each change; 0: never set
  std::optional<std::int32_t> concurrency = {};  // jobs held at once
  bool paused = false;                           // nothing is claimed
  std::optional<StartRate> rate = {};            // of claims
  std::vector<UnitBudget> budgets = {};          // of what its steps use
  Reserves reserves = {};                        // by each of its steps
  TimeUs ageing_us = 0;  // a job that has waited so long goes before younger ones of one priority less; 0: never
  // Limits of each key of its jobs; a queue with keys is served key by key, in turns (turns.hpp).
  std::string key = {};  // "tag.NAME", or a JSON pointer into the run's input; "": none
  std::optional<std::int32_t> key_concurrency = {};
  std::optional<StartRate> key_rate = {};
  std::vector<UnitBudget> key_budgets = {};
  std::map<std::string, std::int32_t> weights = {};  // of keys, jobs in a turn; 1 of any other
  bool is_understood = true;  // false: set by a newer release, with a limit that this one does not know

  bool has_keys() const { return !key.empty(); }
  bool has_budgets() const { return !budgets.empty() || !key_budgets.empty(); }
  bool is_governed() const {
    return rate || has_budgets() || !reserves.empty() || ageing_us > 0 || has_keys() || !is_understood;
  }
  // As if they were those of a queue.
  QueueLimits of_key() const {
    return {
        .name = name, .concurrency = key_concurrency, .rate = key_rate, .budgets = key_budgets, .reserves = reserves};
  }
  bool is_counted() const {  // what is held
    return concurrency || key_concurrency || (has_budgets() && !reserves.empty());
  }
  bool counts_claims() const { return is_counted() || rate || key_rate; }  // one that is lost lets too many in
  bool is_limited() const { return paused || concurrency || is_governed(); }
  GoesOn goes_on() const {
    if (!is_limited()) return GoesOn::open;
    if (paused || !is_understood) return GoesOn::never;
    return rate || key_rate || has_budgets() ? GoesOn::paced : GoesOn::freely;
  }
  bool operator==(const QueueLimits&) const = default;
};

// Refuses `invalid`: a name that is none, a concurrency below 1, a rate that check_rate() refuses, an ageing of less
// than a millisecond or more than 30 days, any limit for the queue of timers; budgets that check_budgets() refuses; a
// key that is neither a tag nor a pointer, limits of keys without a key, weights from 1 to 1,000 of more than 1,000
// keys.
Status check_limits(const QueueLimits& limits);

// A change that an operator wants, with who that is.
struct LimitChange {
  QueueLimits limits;  // as they shall be; the revision is that of the limits which were changed
  std::string actor;
};

// A change on record. The limits are those after it.
struct LimitChangeRow {
  QueueLimits limits;
  TimeUs at_us = 0;
  std::string actor;
};

// The refusal `stale` of a change to limits that have another revision by now.
Error stale_limits(const QueueLimits& found, std::int64_t expected);

// Refuses `stale` a change of other limits than were found, and `unsupported` one of limits that a newer release has
// set, of which this one would lose a part.
Status check_change(const QueueLimits& found, const LimitChange& change);

// The part of a governed queue's limits that only releases since 28 know, as text for its row; "" for one that is not
// governed. Reading it back sets `paused` too. A text that this release does not understand leaves is_understood false.
std::string limits_text(const QueueLimits& limits);
void read_limits_text(std::string_view text, QueueLimits& limits);

// The key of a job, whose run has these tags and this input; "" where they have none. As the statements find it.
std::string limit_key(const std::string& key, const std::map<std::string, std::string>& tags, const Json& input);

// The name of the tag that a queue's key is; nothing: it is a place in the input, or none.
std::optional<std::string> tag_of_key(const std::string& key);

// The priority by which a job is chosen now, as waiting raises it: lower is sooner.
std::int64_t aged_priority(std::int32_t priority, TimeUs run_at_us, TimeUs ageing_us, TimeUs now_us);
// The order of jobs of one queue with an ageing.
TimeUs aged_rank(std::int32_t priority, TimeUs run_at_us, TimeUs ageing_us);

}  // namespace cairn

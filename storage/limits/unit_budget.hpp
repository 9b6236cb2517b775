// A budget of a queue: how much of a unit (tokens or cost of models) its steps may use in each window of the calendar
// (UTC), over all runs. A step that begins reserves as much as the queue's limits say one needs; what its events say it
// used is counted by the commit that ends it, and the reservation goes with the hold, so that none leaks. No step
// begins unless what was used, what is reserved and what it reserves fit under the cap: the cap is passed by no more
// than what steps use beyond their reservations. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/id.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

inline constexpr std::int64_t budget_amount_max = 1'000'000'000'000'000;
inline constexpr double budget_millionths = 1e6;  // in one of the currency

enum class BudgetUnit : std::uint8_t {
  tokens,  // in and out
  cost,    // in millionths of the currency in which the models' prices are set
};
enum class BudgetWindow : std::uint8_t { minute, hour, day, month };

std::string_view to_string(BudgetUnit unit);
std::string_view to_string(BudgetWindow window);
std::optional<BudgetUnit> parse_budget_unit(std::string_view word);
std::optional<BudgetWindow> parse_budget_window(std::string_view word);

struct UnitBudget {
  BudgetUnit unit = BudgetUnit::tokens;
  BudgetWindow per = BudgetWindow::day;
  std::int64_t cap = 1;
  bool operator==(const UnitBudget&) const = default;
};

// So much of a unit that one step reserves; 0 of a unit that is not named: then a step begins while any is left.
using Reserves = std::map<BudgetUnit, std::int64_t>;

// So much was used in the window that began then. An earlier window's counts no more, nor does one that begins more
// than clock_ahead_max_us from now.
struct UnitUse {
  BudgetUnit unit = BudgetUnit::tokens;
  BudgetWindow per = BudgetWindow::day;
  TimeUs since = 0;
  std::int64_t used = 0;
  bool operator==(const UnitUse&) const = default;
};

// Refuses `invalid`: a cap or a reservation below 1 or above 10^15, two budgets of one unit and window, more reserved
// by a step than a cap. A refusal names their owner `of`.
Status check_budgets(const std::vector<UnitBudget>& budgets, const Reserves& reserves, const std::string& of);

TimeUs window_start(BudgetWindow window, TimeUs at_us);
TimeUs window_end(BudgetWindow window, TimeUs at_us);  // the next window's start

std::int64_t used_of(const UnitBudget& budget, const std::vector<UnitUse>& uses, TimeUs now_us);

// Counts `amount` at `now_us`; a clock that went back, by clock_ahead_max_us at most, stays in the window that it was
// in.
void add_use(std::vector<UnitUse>& uses, const UnitBudget& budget, std::int64_t amount, TimeUs now_us);
// The uses of several places as one: of each unit and window those of the latest window, added up.
void merge_use(std::vector<UnitUse>& uses, const UnitUse& more);

// How many more steps may begin, if `held` ones hold their reservations.
std::int64_t free_steps(const UnitBudget& budget, const Reserves& reserves, std::int64_t used, std::int64_t held);
// No step may begin before the next window, whatever is given back.
bool is_used_up(const UnitBudget& budget, const Reserves& reserves, std::int64_t used);

// {"unit", "cap", "per"}
Json budget_json(const UnitBudget& budget);
std::optional<UnitBudget> read_budget(const Json& text);  // nothing: not understood

// As an amount is shown and given: tokens as they are, cost in the currency ("12.5").
Json amount_json(BudgetUnit unit, std::int64_t amount);
std::optional<std::int64_t> read_amount(BudgetUnit unit, const Json& shown);  // nothing: no number from 0 to 10^15

// Tokens and cost of the model calls of a step, and the branch under whose hold they were made.
struct StepUse {
  BranchId branch = 0;
  std::int64_t tokens = 0;
  std::int64_t cost = 0;  // in millionths
  std::int64_t of(BudgetUnit unit) const { return unit == BudgetUnit::tokens ? tokens : cost; }
};

}  // namespace cairn

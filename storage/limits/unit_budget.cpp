#include "storage/limits/unit_budget.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

namespace cairn {
namespace {

constexpr std::array<std::string_view, 2> unit_words = {"tokens", "cost"};
constexpr std::array<std::string_view, 4> window_words = {"minute", "hour", "day", "month"};

template <class Enum, std::size_t n>
std::optional<Enum> parse(const std::array<std::string_view, n>& words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

std::int64_t reserved_by_one(const UnitBudget& budget, const Reserves& reserves) {
  const auto found = reserves.find(budget.unit);
  return found == reserves.end() ? 0 : found->second;
}

// The first moment of the month that lies `later` months after that of the time.
TimeUs month_start(TimeUs at_us, int later) {
  using namespace std::chrono;
  const sys_time<microseconds> at{microseconds(at_us)};
  const year_month_day day{floor<days>(at)};
  const sys_days first = year_month_day{(day.year() / day.month() + months(later)) / 1};
  return duration_cast<microseconds>(first.time_since_epoch()).count();
}

// Counted by a clock that was ahead.
bool is_ahead(const UnitUse& use, TimeUs now_us) { return use.since > now_us + clock_ahead_max_us; }

TimeUs length_of(BudgetWindow window) {
  constexpr TimeUs minute_us = 60'000'000;
  if (window == BudgetWindow::minute) return minute_us;
  return window == BudgetWindow::hour ? 60 * minute_us : 24 * 60 * minute_us;
}

}  // namespace

std::string_view to_string(BudgetUnit unit) { return unit_words.at(static_cast<std::size_t>(unit)); }
std::string_view to_string(BudgetWindow window) { return window_words.at(static_cast<std::size_t>(window)); }
std::optional<BudgetUnit> parse_budget_unit(std::string_view word) { return parse<BudgetUnit>(unit_words, word); }
std::optional<BudgetWindow> parse_budget_window(std::string_view word) {
  return parse<BudgetWindow>(window_words, word);
}

Status check_budgets(const std::vector<UnitBudget>& budgets, const Reserves& reserves, const std::string& of) {
  std::set<std::pair<BudgetUnit, BudgetWindow>> seen;
  for (const UnitBudget& budget : budgets) {
    const std::string unit(to_string(budget.unit));
    const std::string named = unit + " per " + std::string(to_string(budget.per));
    if (budget.cap < 1 || budget.cap > budget_amount_max)
      return Error{Code::invalid, "Expected a budget of " + of + " above nothing and of at most 10^15, but got " +
                                      amount_json(budget.unit, budget.cap).dump() + " " + named + "."};
    if (!seen.emplace(budget.unit, budget.per).second)
      return Error{Code::invalid, "Expected one budget of " + named + " of " + of + ", but got two."};
    if (const std::int64_t one = reserved_by_one(budget, reserves); one > budget.cap)
      return Error{Code::invalid, "Expected a step of " + of + " to reserve no more than its budget of " +
                                      amount_json(budget.unit, budget.cap).dump() + " " + named + ", but got " +
                                      amount_json(budget.unit, one).dump() + ": none could begin."};
  }
  for (const auto& [unit, amount] : reserves)
    if (amount < 1 || amount > budget_amount_max)
      return Error{Code::invalid, "Expected a step of " + of + " to reserve some " + std::string(to_string(unit)) +
                                      " and at most 10^15, but got " + amount_json(unit, amount).dump() + "."};
  return Done{};
}

TimeUs window_start(BudgetWindow window, TimeUs at_us) {
  if (window == BudgetWindow::month) return month_start(at_us, 0);
  const TimeUs length = length_of(window);
  return at_us - ((at_us % length) + length) % length;
}

TimeUs window_end(BudgetWindow window, TimeUs at_us) {
  if (window == BudgetWindow::month) return month_start(at_us, 1);
  return window_start(window, at_us) + length_of(window);
}

std::int64_t used_of(const UnitBudget& budget, const std::vector<UnitUse>& uses, TimeUs now_us) {
  for (const UnitUse& use : uses)
    if (use.unit == budget.unit && use.per == budget.per && use.since >= window_start(budget.per, now_us) &&
        !is_ahead(use, now_us))
      return use.used;
  return 0;
}

void add_use(std::vector<UnitUse>& uses, const UnitBudget& budget, std::int64_t amount, TimeUs now_us) {
  std::erase_if(uses, [now_us](const UnitUse& use) { return is_ahead(use, now_us); });
  UnitUse more{budget.unit, budget.per, window_start(budget.per, now_us), amount};
  for (const UnitUse& use : uses)
    if (use.unit == more.unit && use.per == more.per) more.since = std::max(more.since, use.since);
  merge_use(uses, more);
}

void merge_use(std::vector<UnitUse>& uses, const UnitUse& more) {
  const auto is_same = [&](const UnitUse& use) { return use.unit == more.unit && use.per == more.per; };
  const auto use = std::find_if(uses.begin(), uses.end(), is_same);
  if (use == uses.end())
    uses.push_back(more);
  else if (more.since > use->since)
    *use = more;
  else if (more.since == use->since)
    use->used = std::min(use->used + more.used, budget_amount_max);
}

std::int64_t free_steps(const UnitBudget& budget, const Reserves& reserves, std::int64_t used, std::int64_t held) {
  const std::int64_t left = budget.cap - used;
  const std::int64_t one = reserved_by_one(budget, reserves);
  if (one == 0) return left > 0 ? budget_amount_max : 0;
  return std::max<std::int64_t>(left / one - held, 0);
}

bool is_used_up(const UnitBudget& budget, const Reserves& reserves, std::int64_t used) {
  return free_steps(budget, reserves, used, 0) == 0;
}

Json budget_json(const UnitBudget& budget) {
  return {{"unit", to_string(budget.unit)}, {"cap", budget.cap}, {"per", to_string(budget.per)}};
}

std::optional<UnitBudget> read_budget(const Json& text) {
  if (!text.is_object() || !text.contains("cap") || !text["cap"].is_number_integer()) return std::nullopt;
  const auto unit = parse_budget_unit(text.value("unit", ""));
  const auto per = parse_budget_window(text.value("per", ""));
  if (!unit || !per) return std::nullopt;
  const UnitBudget budget{*unit, *per, text["cap"].get<std::int64_t>()};
  return budget.cap >= 1 && budget.cap <= budget_amount_max ? std::optional(budget) : std::nullopt;
}

Json amount_json(BudgetUnit unit, std::int64_t amount) {
  if (unit == BudgetUnit::tokens) return amount;
  return static_cast<double>(amount) / budget_millionths;
}

std::optional<std::int64_t> read_amount(BudgetUnit unit, const Json& shown) {
  if (unit == BudgetUnit::tokens ? !shown.is_number_integer() : !shown.is_number()) return std::nullopt;
  const double amount = std::round(shown.get<double>() * (unit == BudgetUnit::tokens ? 1 : budget_millionths));
  if (!(amount >= 0 && amount <= static_cast<double>(budget_amount_max))) return std::nullopt;
  return static_cast<std::int64_t>(amount);
}

}  // namespace cairn

#include "ops/answers/queues.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/duration.hpp"

namespace cairn {
namespace {

// No job is in it, and what was once set is as if it never had been.
bool is_unused(const QueueLine& line) {
  return line.row.ready + line.row.later + line.row.held == 0 && !line.limits.is_limited();
}

Json budgets_json(const std::vector<UnitBudget>& budgets) {
  Json shown = Json::array();
  for (const UnitBudget& budget : budgets)
    shown.push_back({{"unit", to_string(budget.unit)},
                     {"cap", amount_json(budget.unit, budget.cap)},
                     {"per", to_string(budget.per)}});
  return shown;
}

Json reserves_json(const Reserves& reserves) {
  Json shown = Json::object();
  for (const auto& [unit, amount] : reserves) shown[std::string(to_string(unit))] = amount_json(unit, amount);
  return shown;
}

// Those of the queue, then those of its keys, of each budget the `limit` keys that used most.
Result<std::vector<BudgetLine>> budget_lines(Store& store, const std::string& queue, std::int32_t limit) {
  const QueueLimits limits = limits_of(store.limits(), queue);
  if (!limits.has_budgets())
    return Error{Code::not_found,
                 "Expected a queue with a budget, but none is named " + excerpt(Json(queue), 100) + "."};
  const TimeUs now_us = store.database_time();
  std::vector<BudgetLine> lines;
  const std::map<std::string, QueueUse> uses = store.limits().queue_uses({queue});
  const auto use = uses.find(queue);
  for (const UnitBudget& budget : limits.budgets) {
    const std::int64_t used = use == uses.end() ? 0 : used_of(budget, use->second.budgets, now_us);
    lines.push_back({std::nullopt, budget, used, window_end(budget.per, now_us)});
  }
  for (const KeyUnitUse& one : store.limits().budget_uses(queue, limit))
    for (const UnitBudget& budget : limits.key_budgets)
      if (const std::int64_t used = used_of(budget, {one.use}, now_us); used > 0)
        lines.push_back({one.key, budget, used, window_end(budget.per, now_us)});
  return lines;
}

}  // namespace

std::map<std::string, QueueLine> queue_lines(Store& store) {
  std::map<std::string, QueueLine> lines;
  for (QueueRow& row : store.jobs().queues()) lines[row.name].row = std::move(row);
  for (QueueLimits& limits : store.limits().queue_limits()) lines[limits.name].limits = std::move(limits);
  std::erase_if(lines, [](const auto& entry) { return is_unused(entry.second); });
  return lines;
}

Json rate_shown(const StartRate& rate) {
  return {{"n", rate.n}, {"per_ms", rate.per_us / 1'000}, {"burst", rate.burst}};
}

Json limits_json(const QueueLimits& limits) {
  return {{"queue", limits.name},
          {"concurrency", limits.concurrency ? Json(*limits.concurrency) : Json(nullptr)},
          {"rate", limits.rate ? rate_shown(*limits.rate) : Json(nullptr)},
          {"budgets", budgets_json(limits.budgets)},
          {"reserve", reserves_json(limits.reserves)},
          {"key", limits.has_keys() ? Json(limits.key) : Json(nullptr)},
          {"key_concurrency", limits.key_concurrency ? Json(*limits.key_concurrency) : Json(nullptr)},
          {"key_rate", limits.key_rate ? rate_shown(*limits.key_rate) : Json(nullptr)},
          {"key_budgets", budgets_json(limits.key_budgets)},
          {"weights", Json(limits.weights)},
          {"ageing_ms", limits.ageing_us > 0 ? Json(limits.ageing_us / 1'000) : Json(nullptr)},
          {"paused", limits.paused},
          {"revision", limits.revision}};
}

Json queue_json(const std::string& name, const QueueLine& line) {
  Json json = limits_json(line.limits);
  json["queue"] = name;
  json["ready"] = line.row.ready;
  json["later"] = line.row.later;
  json["held"] = line.row.held;
  json["oldest"] = line.row.oldest_us ? Json(time_text(*line.row.oldest_us)) : Json(nullptr);
  return json;
}

Result<BudgetPage> budget_page(Store& store, const std::string& queue, KeyPlaces keys) {
  const std::int32_t last = keys.limit > 0 ? std::min(keys.after + keys.limit, budget_keys_max) : 0;
  Result<std::vector<BudgetLine>> all = budget_lines(store, queue, last);
  if (!all) return all.error();
  BudgetPage page;
  std::map<std::pair<BudgetUnit, BudgetWindow>, std::int32_t> places;  // of the last key of each budget
  for (BudgetLine& line : *all) {
    const std::int32_t place = line.key ? ++places[{line.budget.unit, line.budget.per}] : 0;
    if (place > 0 && place == last && last < budget_keys_max) page.next = last;
    if (place > keys.after || keys.after == 0) page.lines.push_back(std::move(line));
  }
  return page;
}

Json budget_line_json(const BudgetLine& line) {
  const BudgetUnit unit = line.budget.unit;
  return {{"key", line.key ? Json(*line.key) : Json(nullptr)},
          {"unit", to_string(unit)},
          {"per", to_string(line.budget.per)},
          {"used", amount_json(unit, line.used)},
          {"cap", amount_json(unit, line.budget.cap)},
          {"until", time_text(line.until_us)}};
}

std::string budget_text(const UnitBudget& budget) {
  return amount_json(budget.unit, budget.cap).dump() + " " + std::string(to_string(budget.unit)) + " per " +
         std::string(to_string(budget.per));
}

Json limit_change_json(const LimitChangeRow& change) {
  Json json = limits_json(change.limits);
  json["at"] = time_text(change.at_us);
  json["actor"] = change.actor;
  return json;
}

std::string rate_text(const StartRate& rate) {
  return std::to_string(rate.n) + " per " + written_duration(rate.per_us) + ", burst " + std::to_string(rate.burst);
}

std::string limits_words(const QueueLimits& limits) {
  std::string words = "limit " + (limits.concurrency ? std::to_string(*limits.concurrency) : "none");
  if (limits.rate) words += ", rate " + rate_text(*limits.rate);
  for (const UnitBudget& budget : limits.budgets) words += ", budget " + budget_text(budget);
  const std::string further = further_limits_words(limits);
  return words + (further.empty() ? "" : ", " + further) + (limits.paused ? ", paused" : "");
}

std::string further_limits_words(const QueueLimits& limits) {
  std::vector<std::string> words;
  for (const auto& [unit, amount] : limits.reserves)
    words.push_back("each step reserves " + amount_json(unit, amount).dump() + " " + std::string(to_string(unit)));
  if (limits.has_keys()) words.push_back("in turns by " + limits.key);
  if (limits.key_concurrency) words.push_back("each limit " + std::to_string(*limits.key_concurrency));
  if (limits.key_rate) words.push_back("each rate " + rate_text(*limits.key_rate));
  for (const UnitBudget& budget : limits.key_budgets) words.push_back("each budget " + budget_text(budget));
  for (const auto& [key, weight] : limits.weights) words.push_back(key + " weighs " + std::to_string(weight));
  if (limits.ageing_us > 0) words.push_back("ageing " + written_duration(limits.ageing_us));
  std::string text;
  for (const std::string& part : words) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace cairn

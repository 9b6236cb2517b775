#include "ops/requests/budget_arguments.hpp"

#include <optional>
#include <utility>

namespace cairn {
namespace {

constexpr std::size_t budgets_max = 8;  // each unit in each window
constexpr std::size_t excerpt_bytes = 100;

Error no_budget(const std::string& of, const std::string& form, const Json& found) {
  return {Code::invalid, "Expected " + of + " as " + form + ", but found " + excerpt(found, excerpt_bytes) + "."};
}

bool is_none(const std::vector<std::string>& texts) { return texts.size() == 1 && texts.front() == "none"; }

// The text as it is between the places of two signs; nothing where one is missing.
std::optional<std::pair<std::string, std::string>> parts_of(const std::string& text, char sign) {
  const auto at = text.find(sign);
  if (at == std::string::npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

std::optional<std::int64_t> amount_in(BudgetUnit unit, const std::string& text) {
  const Json number = Json::parse(text, nullptr, false);
  return number.is_discarded() ? std::nullopt : read_amount(unit, number);
}

std::optional<UnitBudget> budget_in(const std::string& text) {
  const auto named = parts_of(text, '=');
  const auto amount = named ? parts_of(named->second, '/') : std::nullopt;
  if (!amount) return std::nullopt;
  const auto unit = parse_budget_unit(named->first);
  const auto per = parse_budget_window(amount->second);
  const auto cap = unit ? amount_in(*unit, amount->first) : std::nullopt;
  if (!unit || !per || !cap) return std::nullopt;
  return UnitBudget{*unit, *per, *cap};
}

std::optional<UnitBudget> budget_of(const Json& given) {
  if (!given.is_object() || given.size() != 3) return std::nullopt;
  const auto word = [&](const char* field) {
    const auto found = given.find(field);
    return found != given.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto unit = parse_budget_unit(word("unit"));
  const auto per = parse_budget_window(word("per"));
  const auto cap = unit && given.contains("cap") ? read_amount(*unit, given["cap"]) : std::nullopt;
  if (!unit || !per || !cap) return std::nullopt;
  return UnitBudget{*unit, *per, *cap};
}

}  // namespace

Result<std::vector<UnitBudget>> budgets_argument(const std::vector<std::string>& texts, const std::string& option) {
  std::vector<UnitBudget> budgets;
  if (is_none(texts)) return budgets;
  for (const std::string& text : texts) {
    const std::optional<UnitBudget> budget = budget_in(text);
    if (!budget || budgets.size() == budgets_max)
      return no_budget(option, "tokens=N/WINDOW or cost=N/WINDOW, where WINDOW is minute, hour, day or month, or none",
                       text);
    budgets.push_back(*budget);
  }
  return budgets;
}

Result<Reserves> reserves_argument(const std::vector<std::string>& texts, const std::string& option) {
  Reserves reserves;
  if (is_none(texts)) return reserves;
  for (const std::string& text : texts) {
    const auto named = parts_of(text, '=');
    const auto unit = named ? parse_budget_unit(named->first) : std::nullopt;
    const auto amount = unit ? amount_in(*unit, named->second) : std::nullopt;
    if (!amount || !reserves.emplace(*unit, *amount).second)
      return no_budget(option, "tokens=N or cost=N, each once, or none", text);
  }
  return reserves;
}

Result<std::vector<UnitBudget>> read_budgets_body(const Json& given, const std::string& name) {
  std::vector<UnitBudget> budgets;
  if (given.is_null()) return budgets;
  const std::string form =
      "a list of {\"unit\": \"tokens\" or \"cost\", \"cap\": a number, \"per\": \"minute\", "
      "\"hour\", \"day\" or \"month\"}";
  if (!given.is_array() || given.size() > budgets_max) return no_budget("\"" + name + "\"", form, given);
  for (const Json& one : given) {
    const std::optional<UnitBudget> budget = budget_of(one);
    if (!budget) return no_budget("\"" + name + "\"", form, one);
    budgets.push_back(*budget);
  }
  return budgets;
}

Result<Reserves> read_reserves_body(const Json& given, const std::string& name) {
  Reserves reserves;
  if (given.is_null()) return reserves;
  const std::string form = "an object of numbers by \"tokens\" and \"cost\"";
  if (!given.is_object()) return no_budget("\"" + name + "\"", form, given);
  for (const auto& [word, shown] : given.items()) {
    const auto unit = parse_budget_unit(word);
    const auto amount = unit ? read_amount(*unit, shown) : std::nullopt;
    if (!amount) return no_budget("\"" + name + "\"", form, given);
    reserves[*unit] = *amount;
  }
  return reserves;
}

}  // namespace cairn

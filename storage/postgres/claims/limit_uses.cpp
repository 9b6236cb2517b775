#include "storage/postgres/claims/limit_uses.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "storage/postgres/claim_parameters.hpp"

namespace cairn {
namespace {

// Read by their places.
constexpr std::array<std::string_view, 2> rate_columns{"queue", "max"};
constexpr std::array<std::string_view, 2> permit_columns{"queue", "count"};
constexpr std::array<std::string_view, 3> key_use_columns{"key", "held", "full_at"};
constexpr std::array<std::string_view, 6> budget_columns{"queue", "key", "unit", "per", "since", "used"};

}  // namespace

void add_permits(const PgResult& rows, LimitUses& uses) {
  rows.expect_columns(permit_columns);
  for (int row = 0; row < rows.rows(); ++row) uses[std::string(rows.text(row, 0))].held += rows.int8(row, 1);
}

void add_rates(const PgResult& rows, LimitUses& uses) {
  rows.expect_columns(rate_columns);
  for (int row = 0; row < rows.rows(); ++row) {
    std::optional<TimeUs>& full_at = uses[std::string(rows.text(row, 0))].full_at;
    full_at = std::max(full_at.value_or(rows.int8(row, 1)), rows.int8(row, 1));
  }
}

void add_key_uses(const PgResult& rows, LimitUses& uses) {
  rows.expect_columns(key_use_columns);
  for (int row = 0; row < rows.rows(); ++row) {
    QueueUse& use = uses[std::string(rows.text(row, 0))];
    use.held += rows.int8(row, 1);
    if (!rows.is_null(row, 2)) use.full_at = std::max(use.full_at.value_or(rows.int8(row, 2)), rows.int8(row, 2));
  }
}

void add_budget_uses(const PgResult& rows, bool by_key, LimitUses& uses) {
  rows.expect_columns(budget_columns);
  for (int row = 0; row < rows.rows(); ++row) {
    const auto unit = parse_budget_unit(rows.text(row, 2));
    const auto per = parse_budget_window(rows.text(row, 3));
    if (!unit || !per) continue;  // a newer release's
    const std::string of(by_key ? rows.text(row, 1).substr(1) : rows.text(row, 0));
    merge_use(uses[of].budgets, {*unit, *per, rows.int8(row, 4), rows.int8(row, 5)});
  }
}

AskEachNode asking_here(PgConnection& connection) {
  return [&connection](std::string_view name, const PgParameters& parameters) {
    connection.send(statement(name), parameters);
    connection.sync();
    std::vector<PgResult> parts;
    parts.push_back(connection.receive());
    return parts;
  };
}

LimitUses uses_of_keys(const QueueLimits& limits, const std::vector<std::string>& keys, const AskEachNode& ask_each) {
  LimitUses uses;
  if (limits.of_key().is_limited())
    for (const PgResult& part : ask_each("key_uses", PgParameters().add(limits.name).add(text_array(keys))))
      add_key_uses(part, uses);
  if (!limits.key_budgets.empty())
    for (const PgResult& part : ask_each("budget_uses", budgets_of_keys(limits.name, keys)))
      add_budget_uses(part, true, uses);
  return uses;
}

PgParameters budgets_of_queues(const std::vector<std::string>& queues) {
  return PgParameters().add(text_array(queues)).add(text_array(std::vector<std::string>{""}));
}

PgParameters budgets_of_keys(const std::string& queue, const std::vector<std::string>& keys) {
  std::vector<std::string> named;
  for (const std::string& key : keys) named.push_back("=" + key);
  return PgParameters().add(text_array(std::vector<std::string>{queue})).add(text_array(named));
}

QueueUse use_of(const LimitUses& uses, const std::string& name) {
  const auto use = uses.find(name);
  return use == uses.end() ? QueueUse{} : use->second;
}

}  // namespace cairn

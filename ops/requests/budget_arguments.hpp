// Budgets of queues as they are given on the command line and in bodies. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "storage/limits/unit_budget.hpp"

namespace cairn {

// UNIT=AMOUNT/WINDOW for each ("tokens=2000000/day"), or "none" alone. `option` is named in the sentence.
Result<std::vector<UnitBudget>> budgets_argument(const std::vector<std::string>& texts, const std::string& option);
// UNIT=AMOUNT for each ("cost=0.02"), or "none" alone.
Result<Reserves> reserves_argument(const std::vector<std::string>& texts, const std::string& option);

// [{"unit", "cap", "per"}], and {UNIT: AMOUNT}; null is none. A refusal names the field `name`.
Result<std::vector<UnitBudget>> read_budgets_body(const Json& given, const std::string& name);
Result<Reserves> read_reserves_body(const Json& given, const std::string& name);

}  // namespace cairn

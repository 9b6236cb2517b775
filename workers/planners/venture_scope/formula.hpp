// Formulas over named numbers: `units.sold * product.price`. Numbers, names, + - * / ^, parentheses and a few functions
// (min, max, sum, mean, abs, sqrt, round); ^ binds to the right and closer than a sign. Pure functions, safe from any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/result.hpp"

namespace cairn {

inline constexpr std::size_t formula_bytes_max = 2000;

// The value of a name: its number, nothing yet, or a sentence why it can have no number.
struct NoValueYet {};
using NamedNumber = std::variant<double, NoValueYet, std::string>;
using ReadName = std::function<NamedNumber(const std::string& name)>;

enum class CalculationStatus : std::uint8_t { success, blocked, error };
std::string_view to_string(CalculationStatus status);  // "SUCCESS", "BLOCKED", "ERROR"

struct Calculation {
  CalculationStatus status = CalculationStatus::error;
  double value = 0;          // of a success
  std::string blocked_path;  // the first name without a value
  std::string message;       // one sentence, unless it succeeded
};

// Errors are a formula that cannot be read, a name that can have no number, a division by zero and a result that is not
// finite. Otherwise a name without a value blocks the calculation.
Calculation calculate(std::string_view formula, const ReadName& read);

// The names in the order of their first use. Refuses `invalid`: a text that is no formula.
Result<std::vector<std::string>> names_in(std::string_view formula);

}  // namespace cairn

#include "workers/planners/venture_scope/answers.hpp"

#include <limits>
#include <utility>

#include "engine/text.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/planners/venture_scope/readings.hpp"

namespace cairn {
namespace {

constexpr std::size_t text_bytes_max = 1000;
constexpr double no_limit = std::numeric_limits<double>::max();

// "20 years" for a field in years, "1 year" too.
std::string without_unit(const std::string& text, const std::string& unit) {
  const std::string plain(trimmed(text));
  const std::string lower = lowered(plain);
  const bool is_plural = unit.size() > 3 && unit.ends_with('s');
  for (std::string_view name : {std::string_view(unit), std::string_view(unit).substr(0, unit.size() - is_plural)}) {
    if (!lower.ends_with(" " + std::string(name))) continue;
    return std::string(trimmed(std::string_view(plain).substr(0, plain.size() - name.size())));
  }
  return plain;
}

}  // namespace

bool is_no_answer(const Json& answer) {
  if (answer.is_null()) return true;
  if (!answer.is_string()) return false;
  const auto& text = answer.get_ref<const std::string&>();
  return trimmed(text).empty() || lowered(text) == "unknown";
}

Result<Json> read_answer(const Venture& venture, const std::string& path, const Json& answer) {
  const auto found = venture.schema.find(path);
  const auto refused = [&path](const std::string& wanted) {
    return Error{Code::invalid, "Expected a value for " + path + " " + wanted};
  };
  if (found == venture.schema.end()) return refused("to have a field, but there is none.");
  if (text_of(*found, "type") == "text") {
    if (answer.is_string() && answer.get_ref<const std::string&>().size() <= text_bytes_max) return answer;
    return refused("to be a text, but it is " + excerpt(answer, 60) + ".");
  }
  const Sought sought = sought_of(venture, path);
  const std::string unit = lowered(text_of(*found, "unit"));
  const std::string said = !answer.is_string() ? ""
                           : unit.size() < 2   ? answer.get<std::string>()
                                               : without_unit(answer.get<std::string>(), unit);
  Quantity quantity;
  if (answer.is_number()) {
    quantity.value = answer.get<double>();
  } else if (const auto read = answer.is_string() ? read_quantity(said) : std::nullopt) {
    quantity = *read;
  } else {
    return refused("to be one number that can be read in one way only, but it is " + excerpt(answer, 60) + ".");
  }
  if (!quantity.per.empty() && quantity.per != sought.per) return refused("that is no rate per " + quantity.per + ".");
  if (quantity.is_percent && sought.kind != Sought::Kind::share) return refused("that is no percentage.");
  if (!quantity.currency.empty() && quantity.currency != sought.currency)
    return refused("in " + sought.currency + ", but it is in " + quantity.currency + ".");
  if (quantity.value < sought.min || quantity.value > sought.max)
    return refused("of at least " + number_text(sought.min) +
                   (sought.max < no_limit ? " and at most " + number_text(sought.max) : "") + ", but it is " +
                   number_text(quantity.value) + ".");
  return answer.is_number() ? answer : Json(quantity.value);
}

}  // namespace cairn

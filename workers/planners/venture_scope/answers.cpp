#include "workers/planners/venture_scope/answers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <utility>

#include "workers/handlers/step_fields.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/venture_scope/evidence.hpp"

namespace cairn {
namespace {

constexpr std::size_t text_bytes_max = 1000;
constexpr double no_limit = std::numeric_limits<double>::max();

std::vector<std::string> phrases(const Venture& venture, const Json& find, const char* name) {
  std::vector<std::string> texts;
  for (const Json& text : find.value(name, Json::array())) texts.push_back(filled(venture, text.get<std::string>()));
  return texts;
}

Sought::Kind kind_of(const Json& field) {
  const std::string type = text_of(field, "type");
  if (type == "share") return Sought::Kind::share;
  return type == "money" ? Sought::Kind::money : Sought::Kind::number;
}

Sought sought_of(const Venture& venture, const Json& field) {
  const Json find = field.value("find", Json::object());
  const Sought::Kind kind = kind_of(field);
  return {kind,
          venture.currency,
          phrases(venture, find, "about"),
          phrases(venture, find, "context"),
          field.value("min", kind == Sought::Kind::number ? -no_limit : 0.0),
          field.value("max", kind == Sought::Kind::share ? 1.0 : no_limit)};
}

// --- numbers for people ----------------------------------------------------------------------------------------------
std::string with_commas(std::string digits) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = point; at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string number_text(double number) {
  char text[64];
  const bool is_large = std::fabs(number) >= 1000;
  if (is_large && std::fabs(number) < 1e18) {
    std::snprintf(text, sizeof text, "%.0f", number);
    return with_commas(text);
  }
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

std::string value_text(const Venture& venture, const std::string& path, const Json& value) {
  const Json& field = venture.schema.at(path);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return canonical(value);
  const std::string type = text_of(field, "type");
  if (type == "share") return number_text(value.get<double>() * 100) + " %";
  const std::string unit = type == "money" ? venture.currency : filled(venture, text_of(field, "unit"));
  return number_text(value.get<double>()) + (unit.empty() ? "" : " " + unit);
}

std::string origin_text(const Json& field) {
  const std::string source = text_of(field, "source");
  if (source == "derived") return "= " + text_of(field, "formula");
  if (source == "user")
    return "said by " + (text_of(field, "by").empty() ? std::string("a person") : text_of(field, "by"));
  if (source != "search") return "given";
  const Json evidence = field.value("evidence", Json::object());
  return text_of(evidence, "source") + ": \"" + text_of(evidence, "says") + "\"";
}

// Derived fields before their components.
void add_lines(const Venture& venture, const std::string& path, std::set<std::string>& listed, std::string& text) {
  if (!listed.insert(path).second || !venture.schema.contains(path)) return;
  if (path != target_of(venture)) {
    const auto known = venture.fields.find(path);
    text += "  " + path + ": ";
    text += known == venture.fields.end()
                ? "missing\n"
                : value_text(venture, path, known->at("value")) + "   " + origin_text(*known) + "\n";
  }
  if (!venture.recipes.contains(path)) return;
  for (const Json& component : venture.recipes.at(path).at("components"))
    add_lines(venture, component.get<std::string>(), listed, text);
}

}  // namespace

bool is_no_answer(const Json& answer) {
  if (answer.is_null()) return true;
  if (!answer.is_string()) return false;
  std::string text = answer.get<std::string>();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text.find_first_not_of(" \t\r\n") == std::string::npos || text == "unknown";
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
  const Sought sought = sought_of(venture, *found);
  Quantity quantity;
  if (answer.is_number()) {
    quantity.value = answer.get<double>();
  } else if (const auto read = answer.is_string() ? read_quantity(answer.get<std::string>()) : std::nullopt) {
    quantity = *read;
  } else {
    return refused("to be a number, but it is " + excerpt(answer, 60) + ".");
  }
  if (quantity.is_percent && sought.kind != Sought::Kind::share) return refused("that is no percentage.");
  if (!quantity.currency.empty() && quantity.currency != sought.currency)
    return refused("in " + sought.currency + ", but it is in " + quantity.currency + ".");
  if (quantity.value < sought.min || quantity.value > sought.max)
    return refused("of at least " + number_text(sought.min) +
                   (sought.max < no_limit ? " and at most " + number_text(sought.max) : "") + ", but it is " +
                   number_text(quantity.value) + ".");
  return answer.is_number() ? answer : Json(quantity.value);
}

Json read_hits(const Venture& venture, const std::string& path, const Json& hits) {
  const auto found = venture.schema.find(path);
  if (found == venture.schema.end() || text_of(*found, "type") == "text") return nullptr;
  const Sought sought = sought_of(venture, *found);
  for (const Json& hit : hits) {
    const std::string title = text_of(hit, "title");
    const std::optional<Evidence> evidence = find_evidence(title, text_of(hit, "excerpt"), sought);
    if (!evidence) continue;
    return {{"value", evidence->value},
            {"evidence", {{"title", title}, {"source", text_of(hit, "source")}, {"says", evidence->says}}}};
  }
  return nullptr;
}

std::string report_text(const Venture& venture, const std::string& status, const std::string& reason,
                        const std::string& decided_by) {
  const std::string target = target_of(venture);
  std::string text;
  if (!target.empty() && has_current_success(venture)) {
    std::string title = text_of_field(venture, target, "title");
    if (title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
    text = title + ": " + value_text(venture, target, venture.calculation.at("result")) + ".";
  } else if (!target.empty()) {
    text = "There is no result for " + target + ": " + reason + ".";
    if (venture.calculation.contains("message")) text += " " + text_of(venture.calculation, "message");
  } else {
    text = status == "done" ? "This is what was found." : "It was not finished: " + reason + ".";
  }
  text += "\n\n";
  std::set<std::string> seen;
  if (!target.empty()) {
    text += "  " + target + " = " + text_of(venture.schema.at(target), "formula") + "\n";
    add_lines(venture, target, seen, text);
  }
  for (const auto& [path, field] : venture.schema.items())
    if (field.value("required", true)) add_lines(venture, path, seen, text);
  if (decided_by == rule_book_name)
    text +=
        "\nNo language model is configured: a rule book decided what to look for, and word rules read the documents.";
  else if (!decided_by.empty())
    text += "\nThe model " + decided_by + " decided what to look for; word rules read the documents.";
  return text;
}

}  // namespace cairn

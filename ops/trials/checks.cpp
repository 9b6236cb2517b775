#include "ops/trials/checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

namespace cairn {
namespace {

constexpr std::size_t shown_bytes_max = 400;
const std::set<std::string> judges = {"is",   "in",     "has",   "has_any",  "lacks",
                                      "says", "number", "count", "at_least", "at_most"};

std::string lower_text(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

std::string text_of_value(const Json& value) { return value.is_string() ? value.get<std::string>() : canonical(value); }

Json as_list(const Json& value) { return value.is_array() ? value : Json::array({value}); }

std::vector<std::string> parts_of_place(const std::string& place) {
  std::vector<std::string> parts;
  for (std::size_t at = 1; at <= place.size() && !place.empty();) {
    const std::size_t end = std::min(place.find('/', at), place.size());
    parts.push_back(place.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

void collect(const Json& value, const std::vector<std::string>& parts, std::size_t at, std::vector<Json>& found) {
  if (at == parts.size()) {
    found.push_back(value);
    return;
  }
  const std::string& part = parts[at];
  if (part == "*" && value.is_structured()) {
    for (const Json& member : value) collect(member, parts, at + 1, found);
  } else if (value.is_object() && value.contains(part)) {
    collect(value[part], parts, at + 1, found);
  } else if (value.is_array()) {
    const Json::json_pointer index("/" + part);
    try {
      collect(value.at(index), parts, at + 1, found);
    } catch (const Json::exception&) {
      return;  // no such member
    }
  }
}

bool has_text(const Json& value, const Json& text) {
  return lower_text(text_of_value(value)).find(lower_text(text_of_value(text))) != std::string::npos;
}

bool is_near(double value, double wanted, double share) {
  return std::abs(value - wanted) <= std::max(std::abs(wanted) * share, 1e-9);
}

bool fits(const Json& check, const Json& value) {
  const auto has = [&value](const Json& text) { return has_text(value, text); };
  if (check.contains("is")) return value == check["is"];
  if (check.contains("in")) return std::find(check["in"].begin(), check["in"].end(), value) != check["in"].end();
  if (check.contains("number"))
    return value.is_number() && is_near(value.get<double>(), check["number"].get<double>(), check.value("within", 0.0));
  if (check.contains("has_any")) return std::any_of(check["has_any"].begin(), check["has_any"].end(), has);
  if (check.contains("says")) {
    const Json numbers = numbers_in(text_of_value(value));
    const Json wanted = as_list(check["says"]);
    return std::all_of(wanted.begin(), wanted.end(), [&](const Json& one) {
      return std::any_of(numbers.begin(), numbers.end(), [&](const Json& number) {
        return is_near(number.get<double>(), one.get<double>(), check.value("within", 0.0));
      });
    });
  }
  const Json texts = as_list(check.value("has", Json::array()));
  return std::all_of(texts.begin(), texts.end(), has);
}

bool lacks_all(const Json& texts, const std::vector<Json>& values) {
  return std::none_of(values.begin(), values.end(), [&texts](const Json& value) {
    return std::any_of(texts.begin(), texts.end(), [&value](const Json& text) { return has_text(value, text); });
  });
}

bool holds(const Json& check, const std::vector<Json>& values, bool is_one_place) {
  std::int64_t count = static_cast<std::int64_t>(values.size());
  if (is_one_place && count == 1 && values[0].is_structured()) count = static_cast<std::int64_t>(values[0].size());
  if (is_one_place && count == 1 && values[0].is_number_integer()) count = values[0].get<std::int64_t>();
  if (check.contains("count")) return count == check["count"];
  if (check.contains("at_least")) return count >= check["at_least"];
  if (check.contains("at_most")) return count <= check["at_most"];
  if (check.contains("lacks")) return lacks_all(as_list(check["lacks"]), values);
  return std::any_of(values.begin(), values.end(), [&check](const Json& value) { return fits(check, value); });
}

bool are_numbers(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& one) { return one.is_number(); });
}

Error no_check(const std::string& fault) { return {Code::invalid, "Expected a check, but " + fault + "."}; }

Status verify_check(const Json& check) {
  if (!check.is_object() || !check.value("at", Json()).is_string()) return no_check("one has no \"at\"");
  const std::string at = check["at"].get<std::string>();
  const std::string this_one = "the one at " + at;
  std::size_t count = 0;
  for (const auto& [name, value] : check.items()) {
    count += judges.contains(name) ? 1 : 0;
    if (!judges.contains(name) && name != "at" && name != "within")
      return no_check(this_one + " has an unknown \"" + name + "\"");
  }
  if (count != 1) return no_check(this_one + " does not have one thing to hold");
  for (const char* name : {"in", "has_any"})
    if (check.contains(name) && !check[name].is_array()) return no_check(this_one + " has no list");
  for (const char* name : {"says", "number", "count", "at_least", "at_most", "within"})
    if (check.contains(name) && !are_numbers(as_list(check[name]))) return no_check(this_one + " has no number");
  return Done{};
}

}  // namespace

Status verify_checks(const Json& checks) {
  if (!checks.is_array() || checks.empty()) return no_check("there are no checks");
  for (const Json& check : checks)
    if (Status verified = verify_check(check); !verified) return verified;
  return Done{};
}

Status hold_checks(const Json& checks, const Json& document) {
  for (const Json& check : checks) {
    const std::string at = check["at"].get<std::string>();
    std::vector<Json> values;
    collect(document, parts_of_place(at), 0, values);
    if (holds(check, values, at.find('*') == std::string::npos)) continue;
    return Error{Code::conflict,
                 "Expected " + canonical(check) + ", but there is " + excerpt(Json(values), shown_bytes_max) + "."};
  }
  return Done{};
}

Json numbers_in(const std::string& text) {
  Json numbers = Json::array();
  const auto is_digit = [&text](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  const auto is_group = [&](std::size_t i) {  // ",234", and no digit after it
    return i < text.size() && (text[i] == ',' || text[i] == '\'') && is_digit(i + 1) && is_digit(i + 2) &&
           is_digit(i + 3) && !is_digit(i + 4);
  };
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(i)) {
      ++i;
      continue;
    }
    std::string number;
    const auto sign = i > 0 && text[i - 1] == '-' && (i == 1 || !is_digit(i - 2)) ? "-" : "";
    while (is_digit(i) || is_group(i)) {
      if (is_digit(i)) number += text[i];
      ++i;
    }
    if (i < text.size() && text[i] == '.' && is_digit(i + 1)) {
      number += text[i++];
      while (is_digit(i)) number += text[i++];
    }
    numbers.push_back(std::strtod((sign + number).c_str(), nullptr));
  }
  return numbers;
}

}  // namespace cairn

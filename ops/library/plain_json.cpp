#include "ops/library/plain_json.hpp"

#include <cmath>
#include <vector>

#include "workers/ports/untrusted_text.hpp"

namespace cairn::library {
namespace {

constexpr const char* no_text = "text that is no UTF-8";

// The same for this value alone, without those in it.
std::string beyond_json_alone(const Json& value) {
  if (value.is_string()) return is_utf8(value.get_ref<const std::string&>()) ? "" : no_text;
  if (value.is_number_float()) return std::isfinite(value.get<double>()) ? "" : "a number that is not finite";
  if (value.is_binary()) return "bytes";
  if (value.is_discarded()) return "what a parser has refused";
  if (!value.is_object()) return "";
  for (const auto& [key, member] : value.items())
    if (!is_utf8(key)) return no_text;
  return "";
}

}  // namespace

std::string beyond_json(const Json& value) {
  std::vector<const Json*> left = {&value};  // not by calls of itself: a program's value may be of any depth
  while (!left.empty()) {
    const Json& next = *left.back();
    left.pop_back();
    if (std::string found = beyond_json_alone(next); !found.empty()) return found;
    if (next.is_structured())
      for (const Json& part : next) left.push_back(&part);
  }
  return "";
}

}  // namespace cairn::library

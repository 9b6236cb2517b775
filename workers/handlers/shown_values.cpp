#include "workers/handlers/shown_values.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace cairn {
namespace {

// Between two letters, with a sign for what is left out.
std::string shortened(const std::string& text, std::size_t bytes_max) {
  std::size_t end = std::min(text.size(), bytes_max);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return end == text.size() ? text : text.substr(0, end) + "…";
}

// The first elements that fit, each whole.
Json first_of(const Json& list, std::size_t bytes_max, std::size_t& left_out) {
  Json shown = Json::array();
  std::size_t bytes = 2;
  for (const Json& element : list) {
    bytes += canonical(element).size() + 1;
    if (bytes > bytes_max) break;
    shown.push_back(element);
  }
  left_out = list.size() - shown.size();
  return shown;
}

}  // namespace

Json shown_within(Json value, std::size_t bytes_max) {
  if (canonical(value).size() <= bytes_max) return value;
  if (value.is_string()) return shortened(value.get_ref<const std::string&>(), bytes_max);
  if (value.is_array()) {
    std::size_t left_out = 0;
    Json shown = first_of(value, bytes_max, left_out);
    return {{"first", std::move(shown)}, {"left_out", left_out}};
  }
  if (!value.is_object()) return value;
  // The smallest members first: whole, as long as there is room; the others share the rest.
  std::vector<std::pair<std::size_t, std::string>> sizes;
  for (const auto& [name, member] : value.items()) sizes.emplace_back(canonical(member).size() + name.size() + 4, name);
  std::sort(sizes.begin(), sizes.end());
  Json shown = Json::object();
  std::size_t room = bytes_max;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto& [bytes, name] = sizes[i];
    const std::size_t share = room / (sizes.size() - i);
    std::size_t left_out = 0;
    if (bytes <= share)
      shown[name] = value[name];
    else if (value[name].is_array())
      shown[name] = first_of(value[name], share, left_out);
    else
      shown[name] = shown_within(value[name], share);
    if (left_out > 0) shown[name + "_left_out"] = left_out;
    room -= std::min(room, bytes <= share ? bytes : share);
  }
  return shown;
}

void show_together(const std::vector<Json*>& values, std::size_t each_bytes_max, std::size_t bytes_max) {
  if (values.empty()) return;
  const std::size_t least = bytes_max / 2 / values.size();
  std::vector<std::size_t> sizes;
  std::size_t kept = 0;  // for those that come later
  for (const Json* value : values) {
    sizes.push_back(canonical(*value).size());
    kept += std::min(sizes.back(), least);
  }
  std::size_t room = bytes_max;
  for (std::size_t i = 0; i < values.size(); ++i) {
    kept -= std::min(sizes[i], least);
    const std::size_t share = std::min(each_bytes_max, room - std::min(room, kept));
    Json shown = shown_within(*values[i], share);
    // Many small members, or many signs that JSON escapes: a text of it, whose escapes at most double it.
    if (canonical(shown).size() > share + share / 4 + 100)  // signs for what is left out come on top
      shown = shortened(canonical(*values[i]), share / 2);
    room -= std::min(room, canonical(shown).size());
    *values[i] = std::move(shown);
  }
}

}  // namespace cairn

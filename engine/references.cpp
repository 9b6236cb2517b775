#include "engine/references.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "engine/json.hpp"

namespace cairn {
namespace {

Error missing(std::string_view reference) {
  const std::size_t slash = reference.find('/');
  const std::string channel(reference.substr(0, slash));
  if (slash == std::string_view::npos)
    return {Code::invalid, "Expected channel " + channel + " to be there, but nothing wrote it."};
  return {Code::invalid,
          "Expected channel " + channel + " to hold " + std::string(reference.substr(slash)) + ", but it does not."};
}

std::string_view without_spaces_around(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// In braces a reference is of these, so that code and other templates stay as they are.
bool may_be_named(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0 || std::string_view("_-./~:").find(c) != std::string_view::npos;
}

// The inside of "{{" and "}}".
struct Slot {
  std::string_view reference;
  std::optional<std::string_view> otherwise;
};

// Nothing if that is no reference. Goes no further than the first byte that belongs to none: the braces may close far
// away.
std::optional<Slot> slot_of(std::string_view inner) {
  const auto stop = std::find_if_not(inner.begin(), inner.end(), [](char c) { return c == ' ' || may_be_named(c); });
  const bool has_bar = stop != inner.end() && *stop == '|';
  if (stop != inner.end() && !has_bar) return std::nullopt;
  const auto length = static_cast<std::size_t>(stop - inner.begin());
  Slot slot{without_spaces_around(inner.substr(0, length)), {}};
  if (has_bar) slot.otherwise = without_spaces_around(inner.substr(length + 1));
  if (slot.reference.empty() || slot.reference.find(' ') != std::string_view::npos) return std::nullopt;
  return slot;
}

// {"$": reference}, perhaps with a default.
bool is_named(const Json& setting) {
  if (!setting.is_object() || !setting.contains("$") || !setting["$"].is_string()) return false;
  return setting.size() == 1 || (setting.size() == 2 && setting.contains("default"));
}

// "{{name" that is meant to be one: the name ends with the text, a blank, a brace or a bar.
std::string_view unclosed_slot(std::string_view text) {
  std::string_view inner = text.substr(2);
  inner.remove_prefix(std::min(inner.find_first_not_of(' '), inner.size()));
  const auto stop = std::find_if_not(inner.begin(), inner.end(), may_be_named);
  if (stop == inner.begin()) return {};
  const bool ends = stop == inner.end() || std::string_view(" }|").find(*stop) != std::string_view::npos;
  if (!ends) return {};
  return text.substr(0, static_cast<std::size_t>(stop - text.begin()));
}

// "$channel", but not "$$x".
bool is_marked(const std::string& text) { return text.size() > 1 && text[0] == '$' && text[1] != '$'; }

// Takes a text with slots apart, in order: `text` gets what stands as it is, `slot` the rest until it is false.
template <class Text, class SlotTaken>
void take_apart(std::string_view whole, const Text& text, const SlotTaken& taken) {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t at = 0, close = 0;  // the first "}}" after the latest "{{": searched again once that is passed
  for (std::size_t open = whole.find("{{"); open != none; open = whole.find("{{", at)) {
    text(whole.substr(at, open - at));
    const bool is_doubled = whole.substr(open).starts_with("{{{{");
    if (close != none && close < open + 2) close = whole.find("}}", open + 2);
    const auto slot = is_doubled || close == none ? std::nullopt : slot_of(whole.substr(open + 2, close - open - 2));
    if (slot && !taken(*slot)) return;
    if (!slot) text(std::string_view("{{"));
    at = is_doubled ? open + 4 : slot ? close + 2 : open + 2;
  }
  text(whole.substr(at));
}

// The value that a reference names in its channel; null: it is missing.
const Json* part_named(std::string_view reference, const std::optional<Json>& channel) {
  const std::size_t slash = reference.find('/');
  if (!channel || slash == std::string_view::npos) return channel ? &*channel : nullptr;
  try {
    return &channel->at(Json::json_pointer(std::string(reference.substr(slash))));
  } catch (const Json::exception&) {
    return nullptr;
  }
}

class Resolving {
 public:
  Resolving(const ReadChannel& read, std::int32_t language) : read_(read), language_(language) {}

  Result<Json> value(const Json& setting, int level) {
    if (setting.is_string()) return bounded(text(setting.get_ref<const std::string&>()), level);
    if (!setting.is_structured()) return setting;
    if (is_reference(setting)) return bounded(named(setting), level);
    Json resolved = setting;
    for (Json& member : resolved) {
      Result<Json> inner = value(member, level + 1);
      if (!inner) return inner;
      member = *std::move(inner);
    }
    return resolved;
  }

 private:
  Result<Json> bounded(Result<Json> found, int level) {
    if (!found) return found;
    if (Status fits = bound_.add(*found, level); !fits) return fits.error();
    return found;
  }

  bool is_reference(const Json& setting) const { return language_ >= 2 && is_named(setting); }

  // Each channel is read once, however often it is named.
  const Json* found(std::string_view reference) {
    const std::string_view channel = reference.substr(0, reference.find('/'));
    auto read = channels_.find(channel);
    if (read == channels_.end()) read = channels_.emplace(channel, read_(channel)).first;
    return part_named(reference, read->second);
  }

  Result<Json> named(const Json& setting) {
    const auto& reference = setting["$"].get_ref<const std::string&>();
    if (const Json* there = found(reference)) return *there;
    if (setting.contains("default")) return setting["default"];
    return missing(reference);
  }

  Result<Json> text(const std::string& setting) {
    if (setting.starts_with("$$")) return Json(setting.substr(1));
    if (!is_marked(setting)) return language_ < 2 ? Json(setting) : filled(setting);
    const std::string_view reference = std::string_view(setting).substr(1);
    if (const Json* there = found(reference)) return *there;
    if (language_ < 2) return Json();
    return missing(reference);
  }

  Result<Json> filled(const std::string& setting) {
    if (setting.find("{{") == std::string::npos) return Json(setting);
    std::string whole;
    std::optional<Error> lacks;
    const auto add = [&](std::string_view text) { whole += text; };
    const auto fill = [&](const Slot& slot) {
      if (const Json* there = found(slot.reference))
        whole += there->is_string() ? there->get_ref<const std::string&>() : canonical(*there);
      else if (slot.otherwise)
        whole += *slot.otherwise;
      else
        lacks = missing(slot.reference);
      return !lacks && whole.size() <= composed_bytes_max;  // the bound says so
    };
    take_apart(setting, add, fill);
    if (lacks) return *std::move(lacks);
    return Json(std::move(whole));
  }

  const ReadChannel& read_;
  std::int32_t language_;
  CompositionBound bound_;
  std::map<std::string, std::optional<Json>, std::less<>> channels_;
};

}  // namespace

std::optional<Json> referred(std::string_view reference, const ReadChannel& read) {
  const std::optional<Json> channel = read(reference.substr(0, reference.find('/')));
  const Json* part = part_named(reference, channel);
  return part == nullptr ? std::nullopt : std::optional<Json>(*part);
}

Result<Json> resolve_references(const Json& setting, const ReadChannel& read, std::int32_t language) {
  return Resolving(read, language).value(setting, 0);
}

void each_reference(const Json& setting, const SeeReference& see) {
  if (setting.is_string()) {
    const auto& text = setting.get_ref<const std::string&>();
    if (is_marked(text)) return see(std::string_view(text).substr(1), false);
    if (text.starts_with('$')) return;
    const auto slot = [&](const Slot& one) { return see(one.reference, one.otherwise.has_value()), true; };
    return take_apart(
        text, [](std::string_view) {}, slot);
  }
  if (is_named(setting)) return see(setting["$"].get_ref<const std::string&>(), setting.contains("default"));
  if (!setting.is_structured()) return;
  for (const Json& member : setting) each_reference(member, see);
}

bool has_reference(const Json& setting) {
  bool found = false;
  each_reference(setting, [&](std::string_view, bool) { found = true; });
  return found;
}

std::string stray_key(const Json& setting) {
  if (!setting.is_structured()) return "";
  if (setting.is_object() && setting.contains("$") && setting["$"].is_string() && !is_named(setting))
    for (const auto& [key, value] : setting.items())
      if (key != "$" && key != "default") return key;
  for (const Json& member : setting) {
    std::string found = stray_key(member);
    if (!found.empty()) return found;
  }
  return "";
}

std::string unclosed_reference(const Json& setting) {
  if (setting.is_string()) {
    std::string_view text = setting.get_ref<const std::string&>();
    if (text.starts_with('$')) return "";
    const std::size_t close = text.rfind("}}");
    std::size_t open = text.find("{{", close == std::string_view::npos ? 0 : close + 2);
    while (open != std::string_view::npos) {
      const bool is_doubled = text.substr(open).starts_with("{{{{");
      const std::string_view slot = is_doubled ? std::string_view() : unclosed_slot(text.substr(open));
      if (!slot.empty()) return std::string(slot);
      open = text.find("{{", open + (is_doubled ? 4 : 2));
    }
    return "";
  }
  if (!setting.is_structured()) return "";
  for (const Json& member : setting) {
    std::string found = unclosed_reference(member);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace cairn

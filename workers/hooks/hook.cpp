#include "workers/hooks/hook.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/nearest.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/secrets.hpp"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 5> on_words = {"ended", "failed", "waits", "budget", "stalled"};
constexpr std::array<std::string_view, 5> on_sentences = {"has ended", "has failed", "has opened a question",
                                                          "has used up a budget or broken a limit", "stands still"};
constexpr std::size_t hook_name_bytes_max = 50;
constexpr std::size_t hook_text_bytes_max = 200;
constexpr std::size_t hook_tags_max = 50;

Error unlike_hook(const std::string& expected, const Json& found) {
  return {Code::invalid, "Expected " + expected + " of a hook, but found " + excerpt(found, 60) + "."};
}

// The fields of what was asked; the first fault is kept.
class HookFields {
 public:
  explicit HookFields(const Json& asked) : asked_(asked) {}

  std::string text(const char* name, std::size_t bytes_max) {
    const Json* value = find(name);
    if (value == nullptr) return "";
    const bool fits = value->is_string() && !value->get_ref<const std::string&>().empty() &&
                      value->get_ref<const std::string&>().size() <= bytes_max &&
                      value->get_ref<const std::string&>().find('\0') == std::string::npos;
    if (fits) return value->get<std::string>();
    refuse(unlike_hook("a text of 1 to " + std::to_string(bytes_max) + " bytes as " + name, *value));
    return "";
  }
  bool flag(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) refuse(unlike_hook(std::string("true or false as ") + name, *value));
    return value->is_boolean() && value->get<bool>();
  }
  std::int64_t number(const char* name, std::int64_t least, std::int64_t most, std::int64_t without) {
    const Json* value = find(name);
    if (value == nullptr) return without;
    if (value->is_number_integer() && *value >= least && *value <= most) return value->get<std::int64_t>();
    refuse(unlike_hook("a whole number from " + std::to_string(least) + " to " + std::to_string(most) + " as " + name,
                       *value));
    return without;
  }
  std::set<HookOn> occasions() {
    const Json* value = find("on");
    std::set<HookOn> on;
    if (value == nullptr || !value->is_array() || value->empty() || value->size() > on_words.size()) {
      refuse(
          unlike_hook("a list of ended, failed, waits, budget and stalled as on", value == nullptr ? Json() : *value));
      return on;
    }
    for (const Json& word : *value) {
      const auto found = std::find_if(on_words.begin(), on_words.end(),
                                      [&word](std::string_view known) { return word == Json(known); });
      if (found == on_words.end())
        refuse(unlike_hook("ended, failed, waits, budget or stalled as on", word));
      else
        on.insert(static_cast<HookOn>(found - on_words.begin()));
    }
    return on;
  }
  Tags tags() {
    const Json* value = find("tags");
    if (value == nullptr) return {};
    const bool fits = value->is_object() && value->size() <= hook_tags_max &&
                      std::all_of(value->begin(), value->end(), [](const Json& one) {
                        return one.is_string() && one.get_ref<const std::string&>().size() <= hook_text_bytes_max;
                      });
    if (fits) return value->get<Tags>();
    refuse(unlike_hook("an object of at most 50 short texts as tags", *value));
    return {};
  }

  const Json* find(const char* name) const {
    const auto found = asked_.find(name);
    return found == asked_.end() || found->is_null() ? nullptr : &*found;
  }
  void refuse(const Error& fault) {
    if (!fault_) fault_ = fault;
  }
  const std::optional<Error>& fault() const { return fault_; }

 private:
  const Json& asked_;
  std::optional<Error> fault_;
};

Status check_hook_fields(const Json& asked) {
  static const std::vector<std::string> known = {"url",      "command",          "on",         "graph",
                                                 "tags",     "secret",           "ordered",    "private",
                                                 "attempts", "stalled_after_ms", "backoff_ms", "timeout_ms"};
  if (!asked.is_object()) return Error{Code::invalid, "Expected a hook as an object, but found another value."};
  for (auto field = asked.begin(); field != asked.end(); ++field)
    if (std::find(known.begin(), known.end(), field.key()) == known.end())
      return Error{Code::invalid, "Expected the fields of a hook, but found " + excerpt(Json(field.key()), 60) +
                                      did_you_mean(field.key(), known) + "."};
  return Done{};
}

Status check_target(const HookDefinition& hook) {
  if (hook.url.empty() == hook.command.empty())
    return Error{Code::invalid, std::string("Expected a URL or a command of a hook, but found ") +
                                    (hook.url.empty() ? "neither." : "both.")};
  if (!hook.command.empty()) {
    if (!hook.secret.empty())
      return Error{Code::invalid, "Expected a secret with a URL, but found one with a command, which checks nothing."};
    return Done{};
  }
  if (hook.url.find('#') != std::string::npos)
    return Error{Code::invalid, "Expected a URL without a # of a hook, but it has one."};
  return check_url(hook.url);
}

Status check_together(const HookDefinition& hook) {
  if (const Status target = check_target(hook); !target) return target;
  if (!hook.secret.empty() && !is_secret_name(hook.secret))
    return unlike_hook("the name of a secret (letters, digits and _ . -) as secret", hook.secret);
  const bool looks = hook.on.contains(HookOn::stalled);
  if (looks && hook.stalled_after_ms == 0)
    return Error{Code::invalid, "Expected the time after which a run stands still (stalled_after_ms), but found none."};
  if (!looks && hook.stalled_after_ms != 0)
    return Error{Code::invalid,
                 "Expected stalled among what the hook is on, as it says after which time, but it is "
                 "not there."};
  return Done{};
}

std::string occasions_in_words(const std::set<HookOn>& on) {
  std::string text;
  std::size_t left = on.size();
  for (const HookOn one : on) {
    text += (text.empty() ? "" : (left == 1 ? " or " : ", "));
    text += on_sentences.at(static_cast<std::size_t>(one));
    --left;
  }
  return text;
}

}  // namespace

std::string_view to_string(HookOn on) { return on_words.at(static_cast<std::size_t>(on)); }

Result<HookDefinition> parse_hook(const Json& asked) {
  if (const Status known = check_hook_fields(asked); !known) return known.error();
  HookFields fields(asked);
  HookDefinition hook;
  hook.url = fields.text("url", hook_url_bytes_max);
  hook.command = fields.text("command", hook_command_bytes_max);
  hook.on = fields.occasions();
  hook.graph = fields.text("graph", hook_text_bytes_max);
  hook.tags = fields.tags();
  hook.secret = fields.text("secret", hook_text_bytes_max);
  hook.is_ordered = fields.flag("ordered");
  hook.may_reach_private = fields.flag("private");
  hook.stalled_after_ms = fields.number("stalled_after_ms", 1'000, hook_stalled_ms_max, 0);
  hook.attempts = fields.number("attempts", 1, 100, hook.attempts);
  hook.backoff_ms = fields.number("backoff_ms", 10, 3'600'000, hook.backoff_ms);
  hook.timeout_ms = fields.number("timeout_ms", 100, 60'000, hook.timeout_ms);
  if (fields.fault()) return *fields.fault();
  if (const Status fits = check_together(hook); !fits) return fits.error();
  return hook;
}

Json hook_json(const HookDefinition& hook) {
  Json on = Json::array();
  for (const HookOn one : hook.on) on.push_back(to_string(one));
  Json made = {{"on", std::move(on)},          {"tags", hook.tags},
               {"ordered", hook.is_ordered},   {"private", hook.may_reach_private},
               {"attempts", hook.attempts},    {"backoff_ms", hook.backoff_ms},
               {"timeout_ms", hook.timeout_ms}};
  if (!hook.url.empty()) made["url"] = hook.url;
  if (!hook.command.empty()) made["command"] = hook.command;
  if (!hook.graph.empty()) made["graph"] = hook.graph;
  if (!hook.secret.empty()) made["secret"] = hook.secret;
  if (hook.stalled_after_ms > 0) made["stalled_after_ms"] = hook.stalled_after_ms;
  return made;
}

Status check_hook_name(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const bool fits =
      !name.empty() && name.size() <= hook_name_bytes_max && is_letter(name.front()) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || c == '.' || c == '_' || c == '-'; });
  if (fits) return Done{};
  return Error{Code::invalid,
               "Expected a name of 1 to 50 letters, digits, dots, underscores and hyphens for a hook, but found " +
                   excerpt(Json(name), 60) + "."};
}

std::string hook_consumer(const std::string& name) { return "hook@" + name; }

std::string in_words(const HookDefinition& hook) {
  std::string words = hook.url.empty() ? "runs " + excerpt(Json(hook.command), 60) : "sends to " + hook.url;
  words += " when a run " + occasions_in_words(hook.on);
  if (!hook.graph.empty()) words += ", of graph " + hook.graph;
  for (const auto& [key, value] : hook.tags) words += ", tagged " + key + "=" + value;
  if (hook.is_ordered) words += ", in order";
  return words;
}

}  // namespace cairn

#include "workers/hooks/hook.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/bounds.hpp"
#include "engine/definition_fields.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/secrets.hpp"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 5> on_words = {"ended", "failed", "waits", "budget", "stalled"};
constexpr std::array<std::string_view, 5> on_sentences = {"has ended", "has failed", "has opened a question",
                                                          "has used up a budget or broken a limit", "stands still"};
constexpr std::string_view consumer_prefix = "hook@";
constexpr std::size_t hook_name_bytes_max = 50;
constexpr std::size_t hook_text_bytes_max = 200;
constexpr std::size_t hook_tags_max = 50;

const std::vector<std::string> hook_field_names = {"url",      "command",          "on",         "graph",
                                                   "tags",     "secret",           "ordered",    "private",
                                                   "attempts", "stalled_after_ms", "backoff_ms", "timeout_ms"};

class HookFields : public DefinitionFields {
 public:
  explicit HookFields(const Json& asked) : DefinitionFields(asked, "hook", hook_field_names) {}

  bool flag(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) refuse(std::string("true or false as ") + name, *value);
    return value->is_boolean() && value->get<bool>();
  }
  std::set<HookOn> occasions() {
    const Json* value = find("on");
    std::set<HookOn> on;
    if (value == nullptr || !value->is_array() || value->empty() || value->size() > on_words.size()) {
      refuse("a list of ended, failed, waits, budget and stalled as on", value == nullptr ? Json() : *value);
      return on;
    }
    for (const Json& word : *value) {
      const auto found = std::find_if(on_words.begin(), on_words.end(),
                                      [&word](std::string_view known) { return word == Json(known); });
      if (found == on_words.end())
        refuse("ended, failed, waits, budget or stalled as on", word);
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
    refuse("an object of at most 50 short texts as tags", *value);
    return {};
  }
};

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

Status check_together(const HookFields& fields, const HookDefinition& hook) {
  if (const Status target = check_target(hook); !target) return target;
  if (const Status fits = check_tags(hook.tags); !fits) return fits;
  if (!hook.secret.empty() && !is_secret_name(hook.secret))
    return fields.unlike("the name of a secret (letters, digits and _ . -) as secret", hook.secret);
  const bool on_stalled = hook.on.contains(HookOn::stalled);
  if (on_stalled && hook.stalled_after_ms == 0)
    return Error{Code::invalid, "Expected the time after which a run stands still (stalled_after_ms), but found none."};
  if (!on_stalled && hook.stalled_after_ms != 0)
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
  if (const Status fits = check_together(fields, hook); !fits) return fits.error();
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

Status check_hook_name(const std::string& name) { return check_definition_name(name, "hook", hook_name_bytes_max); }

std::string hook_consumer(const std::string& name) { return std::string(consumer_prefix) + name; }
bool is_hook_consumer(std::string_view consumer) { return consumer.starts_with(consumer_prefix); }

std::string in_words(const HookDefinition& hook) {
  std::string words = hook.url.empty() ? "runs " + excerpt(Json(hook.command), 60) : "sends to " + hook.url;
  words += " when a run " + occasions_in_words(hook.on);
  if (!hook.graph.empty()) words += ", of graph " + hook.graph;
  for (const auto& [key, value] : hook.tags) words += ", tagged " + key + "=" + value;
  if (hook.is_ordered) words += ", in order";
  return words;
}

}  // namespace cairn

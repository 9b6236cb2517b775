#include "storage/limits/queue_limits.hpp"

#include <algorithm>
#include <vector>

#include "engine/bounds.hpp"
#include "engine/job.hpp"

namespace cairn {
namespace {

constexpr TimeUs ageing_min_us = 1'000;
constexpr TimeUs ageing_max_us = std::int64_t{30} * 24 * 3'600 * 1'000'000;
constexpr std::int32_t aged_priority_max = 1'000;  // priorities further from 0 age as this one

std::optional<StartRate> read_rate(const Json& text) {
  const StartRate rate{text.at("n").get<std::int64_t>(), text.at("per_us").get<std::int64_t>(),
                       text.at("burst").get<std::int64_t>()};
  return check_rate(rate, "a queue") ? std::optional(rate) : std::nullopt;
}

constexpr std::string_view tag_prefix = "tag.";
constexpr std::size_t weights_max = 1'000;
constexpr std::int32_t weight_max = 1'000;
constexpr std::size_t key_bytes_max = 200;  // of a value; a longer one is known by its digest

Error bad_limits(const QueueLimits& limits, const std::string& expected, const std::string& found) {
  return {Code::invalid, "Expected " + expected + " of the queue " + limits.name + ", but got " + found + "."};
}

bool is_tag(const std::string& key) { return key.starts_with(tag_prefix) && key.size() > tag_prefix.size(); }

// The parts of a JSON pointer; nothing if it is none.
std::optional<std::vector<std::string>> pointer_parts(const std::string& pointer) {
  std::vector<std::string> parts;
  if (pointer.size() < 2 || pointer.front() != '/') return std::nullopt;
  for (std::size_t at = 0; at < pointer.size(); ++at) {
    if (pointer[at] == '/') {
      parts.emplace_back();
    } else if (pointer[at] != '~') {
      parts.back() += pointer[at];
    } else {
      const char next = at + 1 < pointer.size() ? pointer[++at] : ' ';
      if (next != '0' && next != '1') return std::nullopt;
      parts.back() += next == '0' ? '~' : '/';
    }
  }
  return parts;
}

// The parts as an array of PostgreSQL.
std::string array_text(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    text += text.empty() ? "{\"" : ",\"";
    for (const char c : part) text += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    text += '"';
  }
  return text + "}";
}

Json key_json(const std::string& key) {
  if (is_tag(key)) return {{"tag", key.substr(tag_prefix.size())}};
  return {{"path", array_text(*pointer_parts(key))}, {"pointer", key}};
}

std::string read_key(const Json& key) {
  if (key.contains("tag")) return std::string(tag_prefix) + key.at("tag").get<std::string>();
  return key.at("pointer").get<std::string>();
}

Status check_keys(const QueueLimits& limits) {
  if (!limits.has_keys()) {
    if (limits.key_concurrency || limits.key_rate || !limits.key_budgets.empty() || !limits.weights.empty())
      return bad_limits(limits, "a key", "limits of keys without one");
    return Done{};
  }
  if (limits.key.size() > key_bytes_max || (!is_tag(limits.key) && !pointer_parts(limits.key)))
    return bad_limits(limits, "tag.NAME or a JSON pointer into the input like /customer/id as the key",
                      excerpt(Json(limits.key), 100));
  if (limits.key_concurrency && *limits.key_concurrency < 1)
    return bad_limits(limits, "a concurrency of 1 or more for each key", std::to_string(*limits.key_concurrency));
  if (limits.key_rate)
    if (Status fits = check_rate(*limits.key_rate, "each key of the queue " + limits.name); !fits) return fits;
  if (Status fits = check_budgets(limits.key_budgets, limits.reserves, "each key of the queue " + limits.name); !fits)
    return fits;
  if (limits.weights.size() > weights_max)
    return bad_limits(limits, "weights of at most 1000 keys", std::to_string(limits.weights.size()));
  for (const auto& [key, weight] : limits.weights)
    if (weight < 1 || weight > weight_max || key.size() > key_bytes_max)
      return bad_limits(limits, "weights from 1 to 1000", std::to_string(weight) + " for " + excerpt(Json(key), 100));
  return Done{};
}

// "each": of each key.
void read_budgets(const Json& text, QueueLimits& limits) {
  for (const Json& one : text) {
    const std::optional<UnitBudget> budget = read_budget(one);
    if (budget)
      (one.value("each", false) ? limits.key_budgets : limits.budgets).push_back(*budget);
    else
      limits.is_understood = false;
  }
}

void read_reserves(const Json& text, QueueLimits& limits) {
  for (const auto& [word, amount] : text.items()) {
    const std::optional<BudgetUnit> unit = parse_budget_unit(word);
    if (unit && amount.is_number_integer())
      limits.reserves[*unit] = std::max<std::int64_t>(amount.get<std::int64_t>(), 1);
    else
      limits.is_understood = false;
  }
}

Json budgets_text(const QueueLimits& limits) {
  Json text = Json::array();
  for (const UnitBudget& budget : limits.budgets) text.push_back(budget_json(budget));
  for (const UnitBudget& budget : limits.key_budgets) {
    text.push_back(budget_json(budget));
    text.back()["each"] = true;
  }
  return text;
}

void read_weights(const Json& text, QueueLimits& limits) {
  for (const auto& [key, weight] : text.items()) {
    if (weight.is_number_integer())
      limits.weights[key] = std::clamp<std::int32_t>(weight.get<std::int32_t>(), 1, weight_max);
    else
      limits.is_understood = false;
  }
}

// True if this release understands the field.
bool read_field(const std::string& field, const Json& value, QueueLimits& limits) {
  if (field == "paused" && value.is_boolean())
    limits.paused = value.get<bool>();
  else if (field == "rate" && value.is_object())
    limits.rate = read_rate(value);
  else if (field == "ageing_us" && value.is_number_integer())
    limits.ageing_us = std::clamp(value.get<TimeUs>(), ageing_min_us, ageing_max_us);
  else if (field == "key" && value.is_object())
    limits.key = read_key(value);
  else if (field == "key_concurrency" && value.is_number_integer())
    limits.key_concurrency = value.get<std::int32_t>();
  else if (field == "key_rate" && value.is_object())
    limits.key_rate = read_rate(value);
  else if (field == "weights" && value.is_object())
    read_weights(value, limits);
  else if (field == "budgets" && value.is_array())
    read_budgets(value, limits);
  else if (field == "reserves" && value.is_object())
    read_reserves(value, limits);
  else
    return false;
  return (field != "rate" || limits.rate) && (field != "key_rate" || limits.key_rate);
}

}  // namespace

Status check_limits(const QueueLimits& limits) {
  if (limits.name.empty()) return Error{Code::invalid, "Expected the name of a queue, but got an empty text."};
  if (Status fits = check_name(limits.name, "the name of a queue"); !fits) return fits;
  if (limits.name == timer_queue && limits.is_limited())
    return Error{Code::invalid, "Expected a queue of steps, but " + limits.name +
                                    " is where time waits: it can be neither limited nor paused."};
  if (limits.concurrency && *limits.concurrency < 1)
    return Error{Code::invalid, "Expected a concurrency of 1 or more for the queue " + limits.name + ", but got " +
                                    std::to_string(*limits.concurrency) + "; pause it to stop it."};
  if (limits.rate)
    if (Status fits = check_rate(*limits.rate, "the queue " + limits.name); !fits) return fits;
  if (Status fits = check_budgets(limits.budgets, limits.reserves, "the queue " + limits.name); !fits) return fits;
  if (limits.ageing_us != 0 && (limits.ageing_us < ageing_min_us || limits.ageing_us > ageing_max_us))
    return Error{Code::invalid, "Expected an ageing of the queue " + limits.name +
                                    " from 1 millisecond to 30 days, but got " + std::to_string(limits.ageing_us) +
                                    " microseconds."};
  return check_keys(limits);
}

Error stale_limits(const QueueLimits& found, std::int64_t expected) {
  return {Code::stale, "Expected revision " + std::to_string(expected) + " of queue " + found.name +
                           " to change, but it has revision " + std::to_string(found.revision) + " by now."};
}

Status check_change(const QueueLimits& found, const LimitChange& change) {
  if (found.revision != change.limits.revision) return stale_limits(found, change.limits.revision);
  if (found.is_understood) return Done{};
  return Error{Code::unsupported, "Expected limits of queue " + found.name +
                                      " that this release knows, but a newer one has set them: it changes them, too."};
}

std::string limits_text(const QueueLimits& limits) {
  if (!limits.is_governed()) return "";
  Json text = {{"paused", limits.paused}};
  if (limits.rate) text["rate"] = rate_json(*limits.rate);
  if (limits.ageing_us > 0) text["ageing_us"] = limits.ageing_us;
  if (limits.has_keys()) text["key"] = key_json(limits.key);
  if (limits.key_concurrency) text["key_concurrency"] = *limits.key_concurrency;
  if (limits.key_rate) text["key_rate"] = rate_json(*limits.key_rate);
  if (!limits.weights.empty()) text["weights"] = Json(limits.weights);
  if (limits.has_budgets()) text["budgets"] = budgets_text(limits);
  for (const auto& [unit, amount] : limits.reserves) text["reserves"][std::string(to_string(unit))] = amount;
  return canonical(text);
}

void read_limits_text(std::string_view text, QueueLimits& limits) {
  const Json read = parse_stored_object(text);
  for (const auto& [field, value] : read.items())
    if (!read_field(field, value, limits)) limits.is_understood = false;
}

std::optional<std::string> tag_of_key(const std::string& key) {
  return is_tag(key) ? std::optional(key.substr(tag_prefix.size())) : std::nullopt;
}

std::string limit_key(const std::string& key, const std::map<std::string, std::string>& tags, const Json& input) {
  std::string value;
  if (is_tag(key)) {
    const auto tag = tags.find(key.substr(tag_prefix.size()));
    if (tag != tags.end()) value = tag->second;
  } else if (const Json::json_pointer place(key); input.contains(place) && !input.at(place).is_null()) {
    const Json& found = input.at(place);
    value = found.is_string() ? found.get<std::string>() : canonical(found);
  }
  return value;
}

TimeUs aged_rank(std::int32_t priority, TimeUs run_at_us, TimeUs ageing_us) {
  return run_at_us + std::clamp(priority, -aged_priority_max, aged_priority_max) * ageing_us;
}

std::int64_t aged_priority(std::int32_t priority, TimeUs run_at_us, TimeUs ageing_us, TimeUs now_us) {
  if (ageing_us == 0) return priority;
  return std::clamp(priority, -aged_priority_max, aged_priority_max) - (now_us - run_at_us) / ageing_us;
}

}  // namespace cairn

#include "engine/start_policy.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "engine/definition_fields.hpp"
#include "engine/duration.hpp"

namespace cairn {
namespace {

constexpr std::array<const char*, 3> policy_words = {"singleton", "debounce", "batch"};
constexpr std::size_t start_key_place_bytes_max = 200;
constexpr std::string_view start_tag_prefix = "tag.";

constexpr DurationRange wait_range = {.least_us = 1, .most_us = start_wait_us_max};

bool is_key_place(std::string_view place) {
  if (place.starts_with(start_tag_prefix)) return place.size() > start_tag_prefix.size();
  if (!place.starts_with('/')) return false;
  for (std::size_t at = place.find('~'); at != std::string_view::npos; at = place.find('~', at + 1))
    if (at + 1 == place.size() || (place[at + 1] != '0' && place[at + 1] != '1')) return false;
  return true;
}

class PolicyFields : public DefinitionFields {
 public:
  PolicyFields(const Json& asked, const std::string& word, const std::vector<std::string>& known)
      : DefinitionFields(asked, word, known) {}

  std::string key() {
    const std::string place = text("key", start_key_place_bytes_max);
    if (!place.empty() && !is_key_place(place))
      refuse("a pointer like /customer or a tag like tag.customer as key", place);
    return place;
  }
  TimeUs duration(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return 0;
    const std::optional<TimeUs> found =
        value->is_string() ? parse_duration(value->get_ref<const std::string&>(), wait_range) : std::nullopt;
    if (!found) refuse(std::string("a duration of at most 30 days like 500ms, 10s, 5m or 1h as ") + name, *value);
    return found.value_or(0);
  }
  TimeUs needed_duration(const char* name) {
    if (find(name) == nullptr) refuse(std::string("the duration ") + name, Json());
    return duration(name);
  }
};

// As of every other object of a graph.
Status check_names(const Json& asked, const std::string& word, const std::vector<std::string>& known) {
  if (!asked.is_object()) return Done{};
  std::string all;
  for (std::size_t n = 0; n < known.size(); ++n)
    all += (n == 0 ? "" : n + 1 == known.size() ? " and " : ", ") + known[n];
  for (const auto& [name, value] : asked.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Error{Code::invalid, "Expected the graph's " + word + " to have only the keys " + all + ", but it has " +
                                      excerpt(Json(name), 60) + "."};
    if (value.is_null())
      return Error{Code::invalid, "Expected a value of " + name + " in the graph's " + word + ", but it is null."};
  }
  return Done{};
}

std::variant<SingletonStarts, DebouncedStarts, BatchedStarts> singleton_in(PolicyFields& fields) {
  const std::string when = fields.text("when", 10);
  if (when.empty() || when == "skip") return SingletonStarts{SingletonStarts::When::skip};
  if (when == "cancel") return SingletonStarts{SingletonStarts::When::cancel};
  if (when == "queue") return SingletonStarts{SingletonStarts::When::queue};
  fields.refuse("skip, cancel or queue as when", when);
  return SingletonStarts{};
}

std::variant<SingletonStarts, DebouncedStarts, BatchedStarts> debounce_in(PolicyFields& fields) {
  const DebouncedStarts debounce{fields.needed_duration("quiet"), fields.duration("at_most")};
  if (debounce.at_most_us != 0 && debounce.at_most_us < debounce.quiet_us)
    fields.refuse("an at_most that is no shorter than quiet", *fields.find("at_most"));
  return debounce;
}

std::variant<SingletonStarts, DebouncedStarts, BatchedStarts> batch_in(PolicyFields& fields) {
  if (fields.find("size") == nullptr) fields.refuse("a size", Json());
  return BatchedStarts{fields.number("size", 1, batch_size_max, 1), fields.needed_duration("after")};
}

}  // namespace

std::string_view StartPolicy::word() const { return policy_words[rule.index()]; }

Result<std::optional<StartPolicy>> parse_start_policy(const Json& graph) {
  std::vector<const char*> said;
  for (const char* word : policy_words)
    if (graph.contains(word)) said.push_back(word);
  if (said.empty()) return std::optional<StartPolicy>();
  if (said.size() > 1)
    return Error{Code::invalid, std::string("Expected one of singleton, debounce and batch, but found ") + said[0] +
                                    " and " + said[1] + "."};
  const std::string word = said[0];
  const std::vector<std::string> known = word == "singleton"  ? std::vector<std::string>{"key", "when"}
                                         : word == "debounce" ? std::vector<std::string>{"key", "quiet", "at_most"}
                                                              : std::vector<std::string>{"key", "size", "after"};
  const Json& asked = graph[word];
  if (const Status fits = check_names(asked, word, known); !fits) return fits.error();
  PolicyFields fields(asked, word, known);
  if (fields.fault()) return *fields.fault();
  StartPolicy policy{fields.key(), {}};
  policy.rule = word == "singleton"  ? singleton_in(fields)
                : word == "debounce" ? debounce_in(fields)
                                     : batch_in(fields);
  if (fields.fault()) return *fields.fault();
  return std::optional<StartPolicy>(std::move(policy));
}

}  // namespace cairn

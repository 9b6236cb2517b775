#include "workers/planners/plan_decomposer/settings.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using Settings = DecompositionSettings;

struct Number {
  const char* name;
  std::int64_t Settings::*value;
  std::int64_t least;
  std::int64_t most;
};
constexpr std::array<Number, 8> numbers = {{{"max_depth", &Settings::max_depth, 0, 50},
                                            {"max_children", &Settings::max_children, 1, 100},
                                            {"total_node_budget", &Settings::total_node_budget, 0, 5000},
                                            {"max_llm_calls", &Settings::max_llm_calls, 0, 20'000},
                                            {"retry_limit", &Settings::retry_limit, 0, 3},
                                            {"expand_depth", &Settings::expand_depth, 1, 50},
                                            {"at_once", &Settings::at_once, 1, 100},
                                            {"outline_bytes_max", &Settings::outline_bytes_max, 200, 65'536}}};

struct Switch {
  const char* name;
  bool Settings::*value;
};
constexpr std::array<Switch, 2> switches = {
    {{"stop_on_empty", &Settings::stop_on_empty}, {"skip_existing", &Settings::skip_existing}}};

struct Choice {
  const char* name;
  std::string Settings::*value;
  std::array<std::string_view, 2> words;
};
constexpr std::array<Choice, 3> choices = {
    {{"stop_scope", &Settings::stop_scope, {"run", "node"}},
     {"on_write_error", &Settings::on_write_error, {"stop", "continue"}},
     {"existing_children", &Settings::existing_children, {"append", "overwrite"}}}};

Error invalid(const std::string& name, const std::string& wanted, const Json& found) {
  return {Code::invalid,
          "Expected the setting " + name + " to be " + wanted + ", but it is " + excerpt(found, 60) + "."};
}

// Sets it if it is one of the table, and says what is wrong with it.
std::optional<Status> set_number(Settings& settings, const std::string& name, const Json& value) {
  for (const Number& one : numbers) {
    if (one.name != name) continue;
    if (!value.is_number_integer() || value < one.least || value > one.most)
      return invalid(name, "a whole number from " + std::to_string(one.least) + " to " + std::to_string(one.most),
                     value);
    settings.*one.value = value.get<std::int64_t>();
    return Done{};
  }
  return std::nullopt;
}

std::optional<Status> set_switch(Settings& settings, const std::string& name, const Json& value) {
  for (const Switch& one : switches) {
    if (one.name != name) continue;
    if (!value.is_boolean()) return invalid(name, "true or false", value);
    settings.*one.value = value.get<bool>();
    return Done{};
  }
  return std::nullopt;
}

std::optional<Status> set_choice(Settings& settings, const std::string& name, const Json& value) {
  for (const Choice& one : choices) {
    if (one.name != name) continue;
    const bool is_word = value.is_string() && (value == one.words[0] || value == one.words[1]);
    if (!is_word) return invalid(name, std::string(one.words[0]) + " or " + std::string(one.words[1]), value);
    settings.*one.value = value.get<std::string>();
    return Done{};
  }
  return std::nullopt;
}

Status set(Settings& settings, const std::string& name, const Json& value) {
  if (name == "model") {
    if (!value.is_string()) return invalid(name, "the name of a model", value);
    settings.model = value.get<std::string>();
    return Done{};
  }
  if (name == "options") {
    if (!value.is_object() && !value.is_null()) return invalid(name, "an object of the endpoint's options", value);
    settings.options = value;
    return Done{};
  }
  if (std::optional<Status> done = set_number(settings, name, value)) return *std::move(done);
  if (std::optional<Status> done = set_switch(settings, name, value)) return *std::move(done);
  if (std::optional<Status> done = set_choice(settings, name, value)) return *std::move(done);
  return Error{Code::invalid, "Expected settings of plan_decomposer, but there is none of the name " + name + "."};
}

Status set_all(Settings& settings, const Json& object) {
  if (object.is_null()) return Done{};
  if (!object.is_object())
    return Error{Code::invalid, "Expected the options to be an object, but they are " + excerpt(object, 60) + "."};
  for (const auto& [name, value] : object.items()) {
    if (Status status = set(settings, name, value); !status) return status;
  }
  return Done{};
}

}  // namespace

Result<DecompositionSettings> read_settings(const Json& options, const Json& defaults) {
  Settings settings;
  for (const Json* object : {&defaults, &options}) {
    if (Status status = set_all(settings, *object); !status) return status.error();
  }
  return settings;
}

Json settings_json(const DecompositionSettings& settings) {
  Json json = {{"model", settings.model}};
  if (!settings.options.is_null()) json["options"] = settings.options;
  for (const Number& one : numbers) json[one.name] = settings.*one.value;
  for (const Switch& one : switches) json[one.name] = settings.*one.value;
  for (const Choice& one : choices) json[one.name] = settings.*one.value;
  return json;
}

DecompositionSettings stored_settings(const Json& settings) { return *read_settings(settings, nullptr); }

}  // namespace cairn

#include "workers/planners/plan_and_do/rules.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/json_scan.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/planners/plan_and_do/prompts.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The place after a word in a text where it stands by itself; npos if it does not.
std::size_t after_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_of_word(text[at - 1]);
    const bool ends = end == text.size() || !is_of_word(text[end]);
    if (begins && ends) return end;
  }
  return std::string::npos;
}

// The names that stand in the text, each once; one within another is not one of its own.
std::vector<std::string> tools_named(const std::string& text, const Json& tools) {
  std::vector<std::string> names;
  for (const auto& [name, tool] : tools.items()) {
    if (after_word(text, name) != std::string::npos) names.push_back(name);
  }
  std::erase_if(names, [&names](const std::string& name) {
    return std::any_of(names.begin(), names.end(), [&name](const std::string& other) {
      return other != name && other.find(name) != std::string::npos;
    });
  });
  return names;
}

// The text without its JSON and without what stands in quotes: tools are not named there. A bracket or a quote that is
// never closed is a character like any other.
std::string bare_text(const std::string& said) {
  const std::string text = said + "\n";  // so that whatever is closed ends before its end
  std::string bare;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.size();
    if (text[at] == '{') end = after_brackets(text, at);
    if (text[at] == '"') end = after_string(text, at + 1);
    const bool is_closed = end < text.size();
    bare += is_closed ? ' ' : text[at];
    at = is_closed ? end : at + 1;
  }
  return bare;
}

std::string listed_tools(const Json& tools) {
  std::string text;
  for (const auto& [name, tool] : tools.items()) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "there are none" : text;
}

// The first JSON object in a text.
std::optional<Json> object_in(const std::string& text) {
  for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open + 1)) {
    const std::size_t end = after_brackets(text, open);
    if (end == std::string::npos) continue;
    if (Result<Json> value = parse_json(text.substr(open, end - open), "the inputs")) return *std::move(value);
  }
  return std::nullopt;
}

// The value after "name=": a text in quotes, else up to a blank, comma or semicolon; a number where it is one.
std::optional<Json> value_of_name(const std::string& text, const std::string& name) {
  std::size_t at = after_word(text, name);
  if (at == std::string::npos || at >= text.size() || text[at] != '=') return std::nullopt;
  ++at;
  if (at < text.size() && text[at] == '"') {
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string::npos) return std::nullopt;
    return Json(text.substr(at + 1, end - at - 1));
  }
  const std::string word = text.substr(at, std::min(text.find_first_of(" ,;\n\t", at), text.size()) - at);
  if (word.empty()) return std::nullopt;
  const Result<Json> value = parse_json(word, "a value");
  return value && (value->is_number() || value->is_boolean()) ? *value : Json(word);
}

// The inputs that a tool says it takes, as far as it does.
std::set<std::string> names_of_inputs(const Json& tool) {
  std::set<std::string> names;
  for (const Json& need : tool.at("needs")) {
    const auto name = need.get<std::string>();
    if (!name.starts_with("$") && !name.starts_with("*.")) names.insert(name);
  }
  const Json schema = tool.value("inputs", Json::object());
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, property] : properties.items()) names.insert(name);
  return names;
}

std::vector<std::string> required_inputs(const Json& tool) {
  std::vector<std::string> names;
  for (const Json& need : tool.at("needs")) {
    if (!need.get_ref<const std::string&>().starts_with("$")) names.push_back(need.get<std::string>());
  }
  const Json schema = tool.value("inputs", Json::object());
  for (const Json& name : schema.value("required", Json::array())) names.push_back(name.get<std::string>());
  return names;
}

// The slot of the last task before this one that has it.
std::optional<Json> slot_before(const Json& comes_after, const std::string& slot) {
  for (auto before = comes_after.rbegin(); before != comes_after.rend(); ++before) {
    const Json& results = before->at("results");
    const Json slots = results.contains("from_task") ? results.value("slots", Json::array()) : Json();
    const bool has_it = slots.is_array() ? std::find(slots.begin(), slots.end(), slot) != slots.end()
                                         : results.is_object() && results.contains(slot);
    if (has_it) return Json{{"from_task", before->at("id")}, {"slot", slot}};
  }
  return std::nullopt;
}

Json bound(const Json& task, Json tool, Json inputs, std::string reason) {
  return {{"task_id", task.at("id")},
          {"tool", std::move(tool)},
          {"inputs", std::move(inputs)},
          {"reason", std::move(reason)}};
}

Json unbound(const Json& task, std::string reason) { return bound(task, nullptr, Json::object(), std::move(reason)); }

// What a task's context says outright: {"meta": {"tool", "inputs"?}}.
std::optional<Json> bound_by_context(const Json& task) {
  const Json context = task.value("context", Json());
  const Json meta = context.is_object() ? context.value("meta", Json()) : Json();
  if (!meta.is_object() || !meta.value("tool", Json()).is_string()) return std::nullopt;
  return bound(task, meta["tool"], meta.value("inputs", Json::object()), "The task's context names the tool.");
}

Json binding_by_text(const Json& data) {
  const Json& task = data.at("task");
  const Json& tools = data.at("tools");
  const auto name_of_task = task.at("name").get<std::string>();
  const auto instruction = task.at("instruction").get<std::string>();
  const std::string text = name_of_task + "\n" + instruction;
  const std::vector<std::string> named = tools_named(bare_text(name_of_task) + bare_text(instruction), tools);
  if (named.empty())
    return unbound(task, "Expected the text of task " + task.at("id").get<std::string>() +
                             " to name one of the tools, but it names none (" + listed_tools(tools) + ").");
  if (named.size() > 1)
    return unbound(task, "Expected the text of task " + task.at("id").get<std::string>() +
                             " to name one tool, but it names " + named[0] + " and " + named[1] + ".");
  const std::string& name = named.front();
  const std::string rest = text.substr(after_word(text, name));
  Json inputs = object_in(rest).value_or(Json::object());
  for (const std::string& input : names_of_inputs(tools[name])) {
    if (inputs.contains(input)) continue;
    if (std::optional<Json> value = value_of_name(rest, input)) inputs[input] = *std::move(value);
  }
  for (const std::string& input : required_inputs(tools[name])) {
    const std::string slot = input.starts_with("*.") ? input.substr(2) : input;
    if (inputs.contains(slot)) continue;
    std::optional<Json> value = slot_before(data.at("comes_after"), slot);
    if (!value)
      return unbound(task, "Expected task " + task.at("id").get<std::string>() + " to have " + slot + " for " + name +
                               ", but neither its text nor a task before it has it.");
    inputs[slot] = *std::move(value);
  }
  return bound(task, name, std::move(inputs), "The text of the task names the tool.");
}

}  // namespace

bool is_binding_prompt(const ModelRequest& request) { return request.schema_name == binding_schema; }

ModelAnswer answer_binding_prompt(const ModelRequest& request) {
  const Json data = prompt_data(request);
  if (!is_binding_prompt(request) || !data.contains("task"))
    return failure("refused", "Expected a prompt of plan_and_do, but node " + request.node + " asks otherwise.", false);
  std::optional<Json> by_context = bound_by_context(data["task"]);
  return rule_reply(by_context ? *std::move(by_context) : binding_by_text(data));
}

}  // namespace cairn

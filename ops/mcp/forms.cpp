#include "ops/mcp/forms.hpp"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

constexpr const char* single_field = "answer";
constexpr std::size_t prompt_bytes_max = 4'000;

Json value_or_null(const Json& object, const char* key) {
  return object.is_object() ? object.value(key, Json()) : Json();
}

bool is_choice_list(const Json& options) {
  return options.is_array() && !options.empty() && std::all_of(options.begin(), options.end(), [](const Json& option) {
           return option.is_object() && value_or_null(option, "const").is_string();
         });
}

bool is_texts(const Json& values) {
  return values.is_array() && !values.empty() &&
         std::all_of(values.begin(), values.end(), [](const Json& value) { return value.is_string(); });
}

// One or several of given texts.
bool is_choice(const Json& schema) {
  const Json items = value_or_null(schema, "items");
  if (schema.value("type", Json()) == "array")
    return is_texts(value_or_null(items, "enum")) || is_choice_list(value_or_null(items, "anyOf")) ||
           is_choice_list(value_or_null(items, "oneOf"));
  return is_texts(value_or_null(schema, "enum")) || is_choice_list(value_or_null(schema, "oneOf"));
}

bool is_field(const Json& schema) {
  if (!schema.is_object() || schema.contains("$ref")) return false;
  const Json type = schema.value("type", Json());
  if (type == "number" || type == "integer" || type == "boolean") return !schema.contains("enum");
  if (type == "array") return is_choice(schema);
  if (type == "string")
    return (!schema.contains("enum") && !schema.contains("oneOf") && !schema.contains("anyOf")) || is_choice(schema);
  return type.is_null() && is_choice(schema);
}

// A choice without a type is one of texts; a client asks for the type.
Json field_of(const Json& schema) {
  Json field = schema;
  if (!field.contains("type")) field["type"] = "string";
  return field;
}

Json text_field() { return {{"type", "string"}}; }

Form single(Json field) {
  return {{{"type", "object"},
           {"properties", {{single_field, std::move(field)}}},
           {"required", Json::array({single_field})}},
          true};
}

}  // namespace

std::optional<Form> form_of(const Json& schema) {
  if (schema.is_null() || schema == Json::object()) return single(text_field());
  if (is_field(schema)) return single(field_of(schema));
  if (!schema.is_object() || schema.value("type", Json()) != "object" || schema.contains("$ref")) return std::nullopt;
  const Json properties = schema.value("properties", Json());
  if (!properties.is_object() || properties.empty()) return std::nullopt;
  if (!std::all_of(properties.begin(), properties.end(), is_field)) return std::nullopt;
  Json shown = {{"type", "object"}, {"properties", Json::object()}};
  for (const auto& [name, field] : properties.items()) shown["properties"][name] = field_of(field);
  if (schema.contains("required")) shown["required"] = schema["required"];
  return Form{std::move(shown), false};
}

std::string prompt_text(const Json& prompt) {
  return prompt.is_string() ? prompt.get<std::string>() : excerpt(prompt, prompt_bytes_max);
}

std::optional<Json> form_request(const Json& question) {
  std::optional<Form> form = form_of(question.value("schema", Json()));
  if (!form) return std::nullopt;
  return Json{{"message", prompt_text(question.value("prompt", Json()))}, {"requestedSchema", std::move(form->schema)}};
}

std::optional<Json> elicitation(const Json& question, const Asking& asking) {
  std::optional<Json> params = asking.shows_forms ? form_request(question) : std::nullopt;
  if (params) {
    (*params)["mode"] = "form";
    return params;
  }
  if (asking.console_url.empty()) return std::nullopt;
  return Json{{"mode", "url"},
              {"message", prompt_text(question.value("prompt", Json()))},
              {"url", asking.console_url + "/#/run/" + question.value("run", "") + "?view=questions"}};
}

bool is_page_opened(const Json& question, const Asking& asking, const Json& response) {
  if (value_or_null(response, "action") != "accept") return false;
  const std::optional<Json> params = elicitation(question, asking);
  return params && params->at("mode") == "url";
}

Result<std::optional<Json>> entered(const Json& question, const Json& response) {
  const Json action = value_or_null(response, "action");
  if (action == "decline" || action == "cancel") return std::optional<Json>();
  if (action != "accept")
    return Error{Code::invalid,
                 "Expected the action accept, decline or cancel of a form, but found " + excerpt(action, 60) + "."};
  const Json content = value_or_null(response, "content");
  const std::optional<Form> form = form_of(question.value("schema", Json()));
  if (!form || !form->is_single) return std::optional<Json>(content);
  if (!content.is_object() || !content.contains(single_field))
    return Error{Code::invalid,
                 "Expected the field answer in what was entered, but found " + excerpt(content, 60) + "."};
  return std::optional<Json>(content[single_field]);
}

std::string question_text(const std::string& run, const Json& question) {
  std::string text = "Run " + run + " waits for the answer to question " + question.value("id", "") + ": " +
                     prompt_text(question.value("prompt", Json()));
  if (question.contains("schema")) text += "\nThe answer fits this JSON Schema: " + canonical(question["schema"]);
  return text + "\nThe tool cairn_answer gives it, and cairn_show_run shows what became of the run.";
}

}  // namespace cairn

#include "workers/tools/mcp/listing.hpp"

#include <algorithm>

#include "workers/ports/untrusted_text.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn::mcp {
namespace {

constexpr std::size_t name_bytes_max = 128;
constexpr std::size_t about_bytes_max = 1'000;
constexpr std::size_t inputs_shown_max = 30;
constexpr std::size_t cursor_bytes_max = 8u << 10;

std::string text_under(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> required_of(const Json& schema) {
  std::vector<std::string> names;
  const Json required = schema.value("required", Json::array());
  if (!required.is_array()) return names;
  for (const Json& name : required) {
    if (!name.is_string()) continue;
    const auto& text = name.get_ref<const std::string&>();
    const bool means_itself = !text.empty() && !text.starts_with("$") && !text.starts_with("*.");
    if (means_itself) names.push_back(text);
  }
  return names;
}

std::string type_text(const Json& schema) {
  if (!schema.is_object()) return "any";
  const Json type = schema.value("type", Json());
  if (type.is_string()) return type.get<std::string>();
  return schema.contains("enum") ? "one of " + excerpt(schema["enum"], 100) : "any";
}

// "It takes text (string), n (integer, optional)."
std::string takes_text(const Json& schema, const std::vector<std::string>& needs) {
  const Json properties = schema.value("properties", Json::object());
  if (!properties.is_object() || properties.empty()) return "";
  std::string text;
  std::size_t shown = 0;
  for (const auto& [name, property] : properties.items()) {
    if (shown++ == inputs_shown_max) {
      text += ", ...";
      break;
    }
    const bool is_needed = std::find(needs.begin(), needs.end(), name) != needs.end();
    text += (text.empty() ? "It takes " : ", ") + name + " (" + type_text(property) + (is_needed ? ")" : ", optional)");
  }
  return readable_line(text + ".", about_bytes_max);
}

std::string about_text(const Json& definition, const Json& schema, const std::vector<std::string>& needs) {
  std::string about = text_under(definition, "description");
  if (about.empty()) about = text_under(definition, "title");
  if (about.empty()) about = text_under(definition, "name");
  about = readable_line(about, about_bytes_max);
  const std::string takes = takes_text(schema, needs);
  if (takes.empty()) return about;
  const bool is_sentence = about.ends_with('.') || about.ends_with('!') || about.ends_with('?');
  return about + (is_sentence ? " " : ". ") + takes;
}

Result<ListedTool> read_definition(const Json& definition) {
  const auto refused = [](const std::string& says) { return Error{Code::invalid, says}; };
  if (!definition.is_object())
    return refused("Expected a tool's definition, but found " + excerpt(definition, 60) + ".");
  ListedTool tool;
  tool.name = text_under(definition, "name");
  if (!is_tool_name(tool.name))
    return refused("Expected 1 to 128 printable characters without spaces as a tool's name, but found " +
                   excerpt(definition.value("name", Json()), 100) + ".");
  if (const std::size_t bytes = canonical(definition).size(); bytes > definition_bytes_max)
    return refused("Expected at most " + std::to_string(definition_bytes_max) + " bytes as the definition of tool \"" +
                   tool.name + "\", but found " + std::to_string(bytes) + ".");
  tool.input = definition.value("inputSchema", Json());
  tool.output = definition.value("outputSchema", Json());
  if (!tool.input.is_object())
    return refused("Expected an object as the inputSchema of tool \"" + tool.name + "\", but found " +
                   excerpt(tool.input, 60) + ".");
  if (!tool.output.is_null() && !check_schema(tool.output)) tool.output = nullptr;  // such outputs are not checked
  Result<std::vector<HeaderOfArgument>> headers = headers_in(tool.input);
  if (!headers) return refused(headers.error().message + " It stands in tool \"" + tool.name + "\".");
  tool.headers = *std::move(headers);
  tool.needs = required_of(tool.input);
  tool.about = about_text(definition, tool.input, tool.needs);
  return tool;
}

bool has_tool(const Listing& listing, const std::string& name) {
  return std::any_of(listing.tools.begin(), listing.tools.end(),
                     [&name](const ListedTool& tool) { return tool.name == name; });
}

std::size_t bytes_of(const Listing& listing) {
  std::size_t bytes = 0;
  for (const ListedTool& tool : listing.tools) bytes += canonical(tool.input).size() + tool.about.size();
  return bytes;
}

}  // namespace

bool is_tool_name(const std::string& name) {
  return !name.empty() && name.size() <= name_bytes_max &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Result<std::optional<std::string>> add_page(const Json& result, Listing& listing) {
  const Json tools = result.value("tools", Json());
  if (!tools.is_array()) return Error{Code::invalid, "Expected a list of tools, but found " + excerpt(tools, 60) + "."};
  if (listing.tools.size() + listing.faults.size() + tools.size() > tools_max)
    return Error{Code::limit, "Expected at most " + std::to_string(tools_max) + " tools, but it lists more."};
  for (const Json& definition : tools) {
    Result<ListedTool> tool = read_definition(definition);
    if (tool && has_tool(listing, tool->name))
      tool = Error{Code::invalid, "Expected each tool once, but \"" + tool->name + "\" comes again."};
    tool ? listing.tools.push_back(*std::move(tool)) : listing.faults.push_back(tool.error().message);
  }
  if (bytes_of(listing) > listed_bytes_max)
    return Error{Code::limit, "Expected at most " + std::to_string(listed_bytes_max) +
                                  " bytes of definitions of tools, but there are more."};
  const Json ttl = result.value("ttlMs", Json());
  if (ttl.is_number_integer() && ttl > 0) listing.ttl_ms = ttl.get<std::int64_t>();
  const Json cursor = result.value("nextCursor", Json());
  if (!cursor.is_string()) return std::optional<std::string>();
  if (cursor.get_ref<const std::string&>().size() > cursor_bytes_max)
    return Error{Code::limit, "Expected at most 8 KiB as the cursor of the next page, but found more."};
  return std::optional(cursor.get<std::string>());
}

}  // namespace cairn::mcp

#include "workers/tools/mcp/parameter_headers.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "engine/text.hpp"
#include "storage/ground/base64.hpp"
#include "workers/ports/http_client.hpp"

namespace cairn::mcp {
namespace {

constexpr const char* header_key = "x-mcp-header";
constexpr std::size_t headers_max = 50;
constexpr std::int64_t safe_integer = (1LL << 53) - 1;

std::size_t count_of_headers(const Json& schema) {
  std::size_t count = 0;
  if (schema.is_object()) count += schema.contains(header_key) ? 1 : 0;
  if (schema.is_structured())
    for (const Json& part : schema) count += count_of_headers(part);
  return count;
}

class HeadersInSchema {
 public:
  Status read(const Json& schema) {
    const auto properties = schema.find("properties");
    if (properties == schema.end() || !properties->is_object()) return Done{};
    for (const auto& [name, property] : properties->items()) {
      if (!property.is_object()) continue;
      path_.push_back(name);
      if (property.contains(header_key))
        if (Status added = add(property); !added) return added;
      if (Status below = read(property); !below) return below;
      path_.pop_back();
    }
    return Done{};
  }

  std::vector<HeaderOfArgument> headers;

 private:
  Status add(const Json& property) {
    const Json& name = property[header_key];
    const bool is_name = name.is_string() && is_http_token(name.get_ref<const std::string&>());
    if (!is_name || !names_.insert(lowered(name.get<std::string>())).second)
      return Error{Code::invalid,
                   "Expected x-mcp-header to be the name of one header, but found " + excerpt(name, 60) + "."};
    static const std::set<Json> types = {"string", "integer", "boolean"};
    if (!types.contains(property.value("type", Json())))
      return Error{Code::invalid, "Expected x-mcp-header for a string, an integer or a boolean, but found it for " +
                                      excerpt(property.value("type", Json()), 60) + "."};
    headers.push_back({path_, "Mcp-Param-" + name.get<std::string>()});
    return Done{};
  }

  std::vector<std::string> path_;
  std::set<std::string> names_;
};

// Nothing: no header can have it.
std::string text_of_argument(const Json& value) {
  if (value.is_string()) return header_value(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  const bool is_safe = value.is_number_integer() && value >= -safe_integer && value <= safe_integer;
  return is_safe ? value.dump() : "";
}

}  // namespace

Result<std::vector<HeaderOfArgument>> headers_in(const Json& schema) {
  HeadersInSchema found;
  if (const Status read = found.read(schema); !read) return read.error();
  if (count_of_headers(schema) != found.headers.size() || found.headers.size() > headers_max)
    return Error{Code::invalid,
                 "Expected x-mcp-header below \"properties\" alone and at most 50 times, but it stands "
                 "elsewhere too."};
  return std::move(found.headers);
}

std::vector<std::pair<std::string, std::string>> headers_of(const std::vector<HeaderOfArgument>& headers,
                                                            const Json& arguments) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const HeaderOfArgument& one : headers) {
    const Json* value = &arguments;
    for (const std::string& name : one.path) {
      const bool is_there = value->is_object() && value->contains(name);
      value = is_there ? &(*value)[name] : nullptr;
      if (value == nullptr) break;
    }
    if (value == nullptr) continue;
    if (std::string text = text_of_argument(*value); !text.empty()) found.emplace_back(one.header, std::move(text));
  }
  return found;
}

std::string header_value(const std::string& text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
  const bool has_edges = !text.empty() && text.front() != ' ' && text.back() != ' ';
  const bool looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
  return is_plain && has_edges && !looks_encoded ? text : "=?base64?" + base64(text) + "?=";
}

}  // namespace cairn::mcp

#include "workers/models/chat_message.hpp"

#include <utility>

#include "workers/models/model_text.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn {

const Json* member_at(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_at(const Json& object, const char* key) {
  const Json* found = member_at(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t count_at(const Json& object, const char* key) {
  const Json* found = member_at(object, key);
  return found != nullptr && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::string content_of(const Json& message) {
  const Json* content = member_at(message, "content");
  if (content == nullptr) return {};
  if (content->is_string()) return content->get<std::string>();
  std::string text;
  if (content->is_array()) {
    for (const Json& part : *content) text += text_at(part, "text");
  }
  return text;
}

bool has_tool_calls(const Json& message) {
  const Json* calls = member_at(message, "tool_calls");
  return calls != nullptr && calls->is_array() && !calls->empty();
}

void add_to_message(Json& message, const std::string& more) {
  Json& content = message["content"];
  if (content.is_array())
    content.push_back({{"type", "text"}, {"text", more}});
  else
    content = content.is_string() ? content.get<std::string>() + "\n\n" + more : more;
}

void add_for_model(Json& messages, const std::string& text) {
  if (!messages.empty() && text_at(messages.back(), "role") == "user")
    add_to_message(messages.back(), text);
  else
    messages.push_back({{"role", "user"}, {"content", text}});
}

Result<Done, Failure> read_value(const ModelRequest& request, ModelReply& reply) {
  constexpr std::size_t shown_bytes_max = 300;
  const std::string content = content_of(reply.message);
  if (request.schema.is_null()) {
    reply.value = content;
    return Done{};
  }
  if (has_tool_calls(reply.message) && content.empty()) return Done{};
  Result<Json> value = json_in_reply(content);
  if (!value) return bad_reply(value.error().message + " It began with: " + readable_line(content, shown_bytes_max));
  if (Status fits = check_value(request.schema, *value); !fits) return bad_reply(std::move(fits).error().message);
  reply.value = *std::move(value);
  return Done{};
}

}  // namespace cairn

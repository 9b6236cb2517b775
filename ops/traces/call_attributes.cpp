#include "ops/traces/call_attributes.hpp"

#include "engine/bounds.hpp"
#include "workers/models/chat_message.hpp"
#include "workers/models/models.hpp"

namespace cairn {
namespace {

const Json& object_at(const Json& of, const char* key) {
  static const Json none = Json::object();
  const Json* found = member_at(of, key);
  return found != nullptr && found->is_object() ? *found : none;
}

void add_whole(SpanAttributes& to, const char* key, const Json* value) {
  if (value != nullptr && value->is_number_integer()) to.number(key, value->get<std::int64_t>());
}

void add_real(SpanAttributes& to, const char* key, const Json* value) {
  if (value != nullptr && value->is_number()) to.real(key, value->get<double>());
}

void add_texts(Json& parts, const Json& content) {
  if (content.is_string()) parts.push_back({{"type", "text"}, {"content", content}});
  if (!content.is_array()) return;
  for (const Json& part : content)
    if (const Json* text = member_at(part, "text"); text != nullptr && text->is_string())
      parts.push_back({{"type", "text"}, {"content", *text}});
}

// A chat message as {"role", "parts"}; null: it is none.
Json with_parts(const Json& message) {
  const std::string role = text_at(message, "role");
  if (role.empty()) return nullptr;
  Json parts = Json::array();
  if (const Json* content = member_at(message, "content")) add_texts(parts, *content);
  const Json* calls = member_at(message, "tool_calls");
  if (calls != nullptr && calls->is_array())
    for (const Json& call : *calls)
      parts.push_back({{"type", "tool_call"},
                       {"id", text_at(call, "id")},
                       {"name", text_at(object_at(call, "function"), "name")},
                       {"arguments", text_at(object_at(call, "function"), "arguments")}});
  return {{"role", role}, {"parts", std::move(parts)}};
}

std::string messages_text(const Json* messages) {
  if (messages == nullptr || !messages->is_array()) return "";
  Json list = Json::array();
  for (const Json& message : *messages)
    if (Json one = with_parts(message); !one.is_null()) list.push_back(std::move(one));
  return list.empty() ? "" : list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string cut_text(std::string text) { return recordable(std::move(text), span_text_bytes_max); }

std::string asked_model(const Json& fields) {
  const std::string asked = text_at(object_at(fields, "request"), "model");
  return cut_text(asked.empty() ? text_at(fields, "model") : asked);
}

void add_model_call(SpanAttributes& to, const Json& fields) {
  const std::string answered = text_at(fields, "model");
  const Json& request = object_at(fields, "request");
  const Json& options = object_at(request, "options");
  to.text("gen_ai.operation.name", "chat");
  to.text("gen_ai.provider.name", answered == rule_book_name ? "cairn" : "openai");
  to.text_unless_empty("gen_ai.request.model", asked_model(fields));
  add_real(to, "gen_ai.request.temperature", member_at(options, "temperature"));
  add_whole(to, "gen_ai.request.max_tokens", member_at(options, "max_tokens"));
  if (const Json* schema = member_at(request, "schema"); schema != nullptr && schema->is_object())
    to.text("gen_ai.output.type", "json");
  to.text_unless_empty("gen_ai.response.model", cut_text(answered));
  to.text_unless_empty("gen_ai.response.id", cut_text(text_at(fields, "response_id")));
  if (const std::string reason = text_at(fields, "finish_reason"); !reason.empty())
    to.texts("gen_ai.response.finish_reasons", {cut_text(reason)});
  add_whole(to, "gen_ai.usage.input_tokens", member_at(fields, "tokens_in"));
  add_whole(to, "gen_ai.usage.output_tokens", member_at(fields, "tokens_out"));
  add_real(to, "cairn.cost", member_at(fields, "cost"));
}

void add_model_contents(SpanAttributes& to, const Json& fields) {
  const Json reply = Json::array({object_at(fields, "reply")});
  to.text_unless_empty("gen_ai.input.messages",
                       cut_text(messages_text(member_at(object_at(fields, "request"), "messages"))));
  to.text_unless_empty("gen_ai.output.messages", cut_text(messages_text(&reply)));
}

}  // namespace cairn

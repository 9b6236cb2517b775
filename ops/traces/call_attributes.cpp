#include "ops/traces/call_attributes.hpp"

#include "workers/models/models.hpp"

namespace cairn {
namespace {

const Json& member(const Json& of, const char* key) {
  static const Json none;
  if (!of.is_object()) return none;
  const auto found = of.find(key);
  return found == of.end() ? none : *found;
}

std::string text_of_member(const Json& of, const char* key) {
  const Json& found = member(of, key);
  return found.is_string() ? found.get<std::string>() : "";
}

void add_whole(SpanAttributes& to, const char* key, const Json& value) {
  if (value.is_number_integer()) to.number(key, value.get<std::int64_t>());
}

void add_real(SpanAttributes& to, const char* key, const Json& value) {
  if (value.is_number()) to.real(key, value.get<double>());
}

// A chat message as {"role", "parts"}; null: it is none.
Json with_parts(const Json& message) {
  const std::string role = text_of_member(message, "role");
  if (role.empty()) return nullptr;
  Json parts = Json::array();
  const Json& content = member(message, "content");
  if (content.is_string()) parts.push_back({{"type", "text"}, {"content", content}});
  if (content.is_array())
    for (const Json& part : content)
      if (member(part, "text").is_string()) parts.push_back({{"type", "text"}, {"content", part.at("text")}});
  const Json& calls = member(message, "tool_calls");
  if (calls.is_array())
    for (const Json& call : calls)
      parts.push_back({{"type", "tool_call"},
                       {"id", text_of_member(call, "id")},
                       {"name", text_of_member(member(call, "function"), "name")},
                       {"arguments", text_of_member(member(call, "function"), "arguments")}});
  return {{"role", role}, {"parts", std::move(parts)}};
}

std::string messages_text(const Json& messages) {
  if (!messages.is_array()) return "";
  Json list = Json::array();
  for (const Json& message : messages)
    if (Json one = with_parts(message); !one.is_null()) list.push_back(std::move(one));
  return list.empty() ? "" : list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string cut_text(std::string_view text) {
  if (text.size() <= span_text_bytes_max) return std::string(text);
  constexpr std::string_view mark = " [cut]";
  std::size_t end = span_text_bytes_max - mark.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + std::string(mark);
}

std::string asked_model(const Json& fields) {
  const std::string asked = text_of_member(member(fields, "request"), "model");
  return cut_text(asked.empty() ? text_of_member(fields, "model") : asked);
}

void add_model_call(SpanAttributes& to, const Json& fields) {
  const std::string answered = text_of_member(fields, "model");
  const Json& request = member(fields, "request");
  const Json& options = member(request, "options");
  to.text("gen_ai.operation.name", "chat");
  to.text("gen_ai.provider.name", answered == rule_book_name ? "cairn" : "openai");
  to.text_unless_empty("gen_ai.request.model", asked_model(fields));
  add_real(to, "gen_ai.request.temperature", member(options, "temperature"));
  add_whole(to, "gen_ai.request.max_tokens", member(options, "max_tokens"));
  if (member(request, "schema").is_object()) to.text("gen_ai.output.type", "json");
  to.text_unless_empty("gen_ai.response.model", cut_text(answered));
  to.text_unless_empty("gen_ai.response.id", cut_text(text_of_member(fields, "response_id")));
  if (const std::string reason = text_of_member(fields, "finish_reason"); !reason.empty())
    to.texts("gen_ai.response.finish_reasons", {cut_text(reason)});
  add_whole(to, "gen_ai.usage.input_tokens", member(fields, "tokens_in"));
  add_whole(to, "gen_ai.usage.output_tokens", member(fields, "tokens_out"));
  add_real(to, "cairn.cost", member(fields, "cost"));
}

void add_model_contents(SpanAttributes& to, const Json& fields) {
  to.text_unless_empty("gen_ai.input.messages", cut_text(messages_text(member(member(fields, "request"), "messages"))));
  to.text_unless_empty("gen_ai.output.messages", cut_text(messages_text(Json::array({member(fields, "reply")}))));
}

}  // namespace cairn

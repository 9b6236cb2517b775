#include "ops/traces/call_attributes.hpp"

#include <vector>

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

// --- contents --------------------------------------------------------------------------------------------------------

constexpr std::size_t cut_text_bytes_min = 64;

std::vector<std::string> texts_of(const Json& content) {
  std::vector<std::string> texts;
  if (content.is_string()) texts.push_back(content.get<std::string>());
  if (!content.is_array()) return texts;
  for (const Json& part : content)
    if (std::string text = text_at(part, "text"); !text.empty()) texts.push_back(std::move(text));
  return texts;
}

std::string json_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// The arguments as the value that their text encodes; the text where it encodes none, or is cut.
Json arguments_of(const Json& call, std::size_t text_bytes_max) {
  std::string text = text_at(object_at(call, "function"), "arguments");
  if (text.size() > text_bytes_max) return recordable(std::move(text), text_bytes_max);
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(recordable(std::move(text), text_bytes_max)) : value;
}

// A tool's answer as the conventions have it: it names its call.
Json response_part(const Json& message, std::size_t text_bytes_max) {
  std::string whole;
  for (const std::string& text : texts_of(message.value("content", Json()))) whole += text;
  return {{"type", "tool_call_response"},
          {"id", text_at(message, "tool_call_id")},
          {"response", recordable(std::move(whole), text_bytes_max)}};
}

Json parts_of(const Json& message, std::size_t text_bytes_max) {
  if (text_at(message, "role") == "tool") return Json::array({response_part(message, text_bytes_max)});
  Json parts = Json::array();
  for (std::string& text : texts_of(message.value("content", Json())))
    parts.push_back({{"type", "text"}, {"content", recordable(std::move(text), text_bytes_max)}});
  const Json* calls = member_at(message, "tool_calls");
  if (calls == nullptr || !calls->is_array()) return parts;
  for (const Json& call : *calls)
    parts.push_back({{"type", "tool_call"},
                     {"id", text_at(call, "id")},
                     {"name", text_at(object_at(call, "function"), "name")},
                     {"arguments", arguments_of(call, text_bytes_max)}});
  return parts;
}

struct MessagesText {
  std::string text;           // a JSON array of at most span_text_bytes_max bytes; "": no message
  std::int64_t left_out = 0;  // of the oldest
};

// The latest messages that fit, in their order, with texts of at most so many bytes; no text: not even the last fits.
MessagesText latest_that_fit(const std::vector<const Json*>& messages, std::size_t text_bytes_max) {
  std::string text = "]";
  std::size_t taken = 0;
  for (; taken < messages.size(); ++taken) {
    const Json& message = *messages[messages.size() - 1 - taken];
    Json one = {{"role", text_at(message, "role")}, {"parts", parts_of(message, text_bytes_max)}};
    if (const std::string reason = text_at(message, "finish_reason"); !reason.empty()) one["finish_reason"] = reason;
    const std::string next = json_text(one);
    if (next.size() + 1 + text.size() > span_text_bytes_max) break;
    text.insert(0, next + (taken == 0 ? "" : ","));
  }
  if (taken == 0) return {"", static_cast<std::int64_t>(messages.size())};
  return {"[" + text, static_cast<std::int64_t>(messages.size() - taken)};
}

// Texts are cut, and then the oldest messages left out, before they are encoded: what was encoded and cut is no JSON.
MessagesText messages_text(const Json* list) {
  std::vector<const Json*> messages;
  if (list != nullptr && list->is_array())
    for (const Json& message : *list)
      if (!text_at(message, "role").empty()) messages.push_back(&message);
  MessagesText fitting;
  for (std::size_t bytes = span_text_bytes_max; !messages.empty() && bytes >= cut_text_bytes_min; bytes /= 2) {
    fitting = latest_that_fit(messages, bytes);
    if (!fitting.text.empty()) break;
  }
  return fitting;
}

// The words of the conventions; a reply that is on record without one was whole.
std::string finish_reason(const Json& fields) {
  const std::string reason = text_at(fields, "finish_reason");
  const Json* calls = member_at(object_at(fields, "reply"), "tool_calls");
  const bool has_calls = calls != nullptr && calls->is_array() && !calls->empty();
  if (reason == "tool_calls" || (reason.empty() && has_calls)) return "tool_call";
  return reason.empty() ? "stop" : cut_text(reason);
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
  const MessagesText asked = messages_text(member_at(object_at(fields, "request"), "messages"));
  Json reply = object_at(fields, "reply");
  reply["finish_reason"] = finish_reason(fields);
  const Json replies = Json::array({std::move(reply)});
  to.text_unless_empty("gen_ai.input.messages", asked.text);
  if (asked.left_out > 0) to.number("cairn.messages_left_out", asked.left_out);
  to.text_unless_empty("gen_ai.output.messages", messages_text(&replies).text);
}

}  // namespace cairn

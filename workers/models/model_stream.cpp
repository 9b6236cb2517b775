#include "workers/models/model_stream.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "workers/models/chat_message.hpp"
#include "workers/models/event_stream.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

constexpr std::size_t event_shown_bytes = 300;     // in a sentence
constexpr std::size_t tool_calls_at_once = 1'000;  // of one message

// Takes each event's data; false: no more.
using TakeEvent = std::function<bool(const std::string& data)>;

void for_each_event(std::string_view stream, const TakeEvent& take) {
  constexpr std::size_t bytes_at_once = 64 * 1024;
  EventStream events;
  for (; !stream.empty(); stream.remove_prefix(std::min(bytes_at_once, stream.size())))
    for (const std::string& data : events.add(stream.substr(0, bytes_at_once)))
      if (!take(data)) return;
  for (const std::string& data : events.add("\n\n"))  // some endpoints end without the last empty line
    if (!take(data)) return;
}

Failure broken_off(const Json& error) {
  std::string says = text_at(error, "message");
  if (says.empty()) says = error.is_string() ? error.get<std::string>() : excerpt(error, event_shown_bytes);
  return failure("refused", "Expected a whole reply from the model endpoint, but it broke off: " + says, true);
}

// One that is too long would be as long again.
Failure unread(const Error& error) {
  return error.code == Code::limit ? failure("limit", error.message, false) : bad_reply(error.message);
}

Failure unfinished() { return bad_reply("Expected a whole reply, but the stream ended before it was finished."); }

// --- chunks of a chat completion ------------------------------------------------------------------------------------

void append_text(const Json& delta, const char* key, Json& message) {
  const Json* more = member_at(delta, key);
  if (more == nullptr || !more->is_string()) return;
  Json& text = message[key];
  if (!text.is_string()) text = "";
  text.get_ref<std::string&>() += more->get_ref<const std::string&>();  // costs what came, not what is there
}

// The call that a piece belongs to: by its index; where an endpoint gives none, a new id begins a new call.
std::size_t place_of_call(const Json& piece, const Json& calls) {
  if (const Json* index = member_at(piece, "index"); index != nullptr && index->is_number_unsigned())
    return index->get<std::size_t>();
  const bool is_new =
      calls.empty() || (!text_at(piece, "id").empty() && text_at(piece, "id") != text_at(calls.back(), "id"));
  return is_new ? calls.size() : calls.size() - 1;
}

Result<Done, Failure> add_call(const Json& piece, Json& message) {
  Json& calls = message["tool_calls"];
  if (calls.is_null()) calls = Json::array();
  const std::size_t place = place_of_call(piece, calls);
  if (place >= tool_calls_at_once) return bad_reply("Expected fewer calls of tools in one reply.");
  while (calls.size() <= place)
    calls.push_back({{"id", ""}, {"type", "function"}, {"function", {{"name", ""}, {"arguments", ""}}}});
  Json& call = calls[place];
  if (const std::string id = text_at(piece, "id"); !id.empty()) call["id"] = id;
  const Json* function = member_at(piece, "function");
  if (function == nullptr) return Done{};
  append_text(*function, "name", call["function"]);
  append_text(*function, "arguments", call["function"]);
  return Done{};
}

class ChatChunks {
 public:
  Result<Done, Failure> add(const Json& chunk) {
    if (const Json* error = member_at(chunk, "error")) return broken_off(*error);
    for (const char* key : {"id", "model", "usage"})
      if (const Json* value = member_at(chunk, key)) answer_[key] = *value;
    const Json* choices = member_at(chunk, "choices");
    if (choices == nullptr || !choices->is_array() || choices->empty()) return Done{};
    const Json& choice = choices->front();
    if (const std::string reason = text_at(choice, "finish_reason"); !reason.empty()) finish_reason_ = reason;
    const Json* delta = member_at(choice, "delta");
    return delta == nullptr ? Result<Done, Failure>(Done{}) : add_delta(*delta);
  }

  Result<Json, Failure> whole() && {
    if (finish_reason_.empty()) return unfinished();
    answer_["choices"] = Json::array();
    answer_["choices"].push_back(
        {{"index", 0}, {"message", std::move(message_)}, {"finish_reason", std::move(finish_reason_)}});
    return std::move(answer_);
  }

 private:
  Result<Done, Failure> add_delta(const Json& delta) {
    for (const char* key : {"content", "refusal", "reasoning_content"}) append_text(delta, key, message_);
    const Json* calls = member_at(delta, "tool_calls");
    if (calls == nullptr || !calls->is_array()) return Done{};
    for (const Json& piece : *calls)
      if (Result<Done, Failure> added = add_call(piece, message_); !added) return added;
    return Done{};
  }

  Json answer_ = Json::object();
  Json message_ = {{"role", "assistant"}, {"content", nullptr}};
  std::string finish_reason_;
};

// --- events of the responses API ------------------------------------------------------------------------------------

// The last event has the whole response; those before it bring its parts, which count where the last one has none.
class ResponseEvents {
 public:
  Result<Done, Failure> add(const Json& event) {
    const std::string type = text_at(event, "type");
    const Json* response = member_at(event, "response");
    if (type == "error") return broken_off(event);
    if (type == "response.failed" && response != nullptr)
      return broken_off(response->value("error", Json("no reason given")));
    if (const Json* item = member_at(event, "item"); type == "response.output_item.done" && item != nullptr) {
      if (items_.size() >= items_max) return bad_reply("Expected fewer parts of one reply.");
      items_.push_back(*item);
    }
    if ((type == "response.completed" || type == "response.incomplete") && response != nullptr) response_ = *response;
    return Done{};
  }

  Result<Json, Failure> whole() && {
    if (!response_.is_object()) return unfinished();
    const Json* output = member_at(response_, "output");
    const bool has_output = output != nullptr && output->is_array() && !output->empty();
    if (!has_output && !items_.empty()) response_["output"] = std::move(items_);
    return std::move(response_);
  }

 private:
  static constexpr std::size_t items_max = 1'000;

  Json response_;
  Json items_ = Json::array();
};

template <class Parts>
Result<Json, Failure> put_together(std::string_view stream) {
  Parts parts;
  Result<Done, Failure> read = Done{};
  for_each_event(stream, [&](const std::string& data) {
    if (data == "[DONE]") return false;
    const Result<Json> event = parse_json(data, "an event of the model endpoint's stream");
    read = event ? parts.add(*event) : Result<Done, Failure>(unread(event.error()));
    return read.ok();
  });
  if (!read) return std::move(read).error();
  return std::move(parts).whole();
}

// --- the text as it comes ------------------------------------------------------------------------------------------

std::string text_of_event(ModelApi api, const Json& event) {
  if (api == ModelApi::responses)
    return text_at(event, "type") == "response.output_text.delta" ? text_at(event, "delta") : std::string();
  const Json* choices = member_at(event, "choices");
  if (choices == nullptr || !choices->is_array() || choices->empty()) return {};
  const Json* delta = member_at(choices->front(), "delta");
  return delta == nullptr ? std::string() : text_at(*delta, "content");
}

}  // namespace

std::string StreamedText::add(std::string_view more) {
  std::string text;
  for (const std::string& data : events_.add(more))
    if (const Result<Json> event = parse_json(data, "an event")) text += text_of_event(api_, *event);
  return text;
}

Result<Json, Failure> answer_of_stream(ModelApi api, std::string_view stream) {
  return api == ModelApi::responses ? put_together<ResponseEvents>(stream) : put_together<ChatChunks>(stream);
}

}  // namespace cairn

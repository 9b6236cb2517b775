#include "workers/models/model_stream.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "workers/models/chat_message.hpp"
#include "workers/models/event_stream.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

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

bool is_member_named(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_piece(const Json& more, Json& value);

// The parts of a list come one by one, or in pieces of the same type and index.
void add_to_list(const Json& more, Json& list) {
  for (const Json& part : more) {
    const Json* index = member_at(part, "index");
    const bool goes_on = index != nullptr && !list.empty() && list.back().is_object() &&
                         list.back().value("index", Json()) == *index &&
                         text_at(list.back(), "type") == text_at(part, "type");
    if (!goes_on) {
      list.push_back(part);
      continue;
    }
    for (const auto& [name, member] : part.items())
      if (is_member_named(name, {"text", "summary", "data"}))
        add_piece(member, list.back()[name]);
      else if (!member.is_null())
        list.back()[name] = member;
  }
}

// Members that this client knows nothing of, as reasoning_content, reasoning_details and the thought_signature of a
// call: the next turn sends it back, and some endpoints refuse one without them.
void add_piece(const Json& more, Json& value) {
  if (more.is_string() && value.is_string())
    value.get_ref<std::string&>() += more.get_ref<const std::string&>();  // costs what came, not what is there
  else if (more.is_array() && value.is_array())
    add_to_list(more, value);
  else if (more.is_object() && value.is_object())
    for (const auto& [name, member] : more.items()) add_piece(member, value[name]);
  else if (!more.is_null())
    value = more;
}

// Returns the bytes that came.
std::size_t add_unknown(const Json& piece, std::initializer_list<std::string_view> known, Json& whole) {
  std::size_t bytes = 0;
  for (const auto& [name, member] : piece.items()) {
    if (member.is_null() || is_member_named(name, known)) continue;
    bytes += member.is_string() ? member.get_ref<const std::string&>().size() : canonical(member).size();
    add_piece(member, whole[name]);
  }
  return bytes;
}

// The calls of tools of one message.
class CallsInPieces {
 public:
  Result<Done, Failure> add(const Json& piece, Json& calls) {
    if (calls.is_null()) calls = Json::array();
    const std::size_t place = place_of(piece, calls);
    if (place >= tool_calls_at_once) return bad_reply("Expected fewer calls of tools in one reply.");
    while (calls.size() <= place)
      calls.push_back({{"id", ""}, {"type", "function"}, {"function", {{"name", ""}, {"arguments", ""}}}});
    Json& call = calls[place];
    if (const std::string id = text_at(piece, "id"); !id.empty()) call["id"] = id;
    if (piece.is_object()) unknown_bytes_ += add_unknown(piece, {"index", "id", "type", "function"}, call);
    const Json* function = member_at(piece, "function");
    if (function == nullptr || !function->is_object()) return Done{};
    append_text(*function, "name", call["function"]);
    append_text(*function, "arguments", call["function"]);
    unknown_bytes_ += add_unknown(*function, {"name", "arguments"}, call["function"]);
    return Done{};
  }

  std::size_t unknown_bytes() const { return unknown_bytes_; }

 private:
  // By the piece's index; where an endpoint gives none, or the same to all, a new id begins a new call.
  std::size_t place_of(const Json& piece, const Json& calls) {
    const std::string id = text_at(piece, "id");
    const auto is_another = [&](const Json& call) {
      return !id.empty() && !text_at(call, "id").empty() && text_at(call, "id") != id;
    };
    const Json* index = member_at(piece, "index");
    if (index == nullptr || !index->is_number_unsigned())
      return calls.empty() || (!id.empty() && id != text_at(calls.back(), "id")) ? calls.size() : calls.size() - 1;
    const auto given = index->get<std::size_t>();
    const auto [place, is_new] = places_.try_emplace(given, given);
    if (place->second < calls.size() && is_another(calls[place->second])) place->second = calls.size();
    return place->second;
  }

  std::map<std::size_t, std::size_t> places_;  // of the last call with that index
  std::size_t unknown_bytes_ = 0;
};

class ChatChunks {
 public:
  Result<Done, Failure> add(const Json& chunk) {
    if (const Json* error = member_at(chunk, "error")) return broken_off(*error);
    for (const char* key : {"id", "model", "usage"})
      if (const Json* value = member_at(chunk, key)) answer_[key] = *value;
    const Json* choices = member_at(chunk, "choices");
    if (choices == nullptr || !choices->is_array() || choices->empty()) return Done{};
    const Json& choice = choices->front();
    if (const Json* error = member_at(choice, "error")) return broken_off(*error);
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
    if (!delta.is_object()) return Done{};
    if (const std::string text = content_of(delta); member_at(delta, "content") != nullptr)
      add_piece(text, message_["content"]);
    append_text(delta, "refusal", message_);
    unknown_bytes_ += add_unknown(delta, {"role", "content", "refusal", "tool_calls", "function_call"}, message_);
    if (const Json* calls = member_at(delta, "tool_calls"); calls != nullptr && calls->is_array())
      for (const Json& piece : *calls)
        if (Result<Done, Failure> added = calls_.add(piece, message_["tool_calls"]); !added) return added;
    if (unknown_bytes_ + calls_.unknown_bytes() > json_bytes_max)
      return failure(
          "limit", "Expected a reply of at most " + std::to_string(json_bytes_max) + " bytes, but it has more.", false);
    return Done{};
  }

  Json answer_ = Json::object();
  Json message_ = {{"role", "assistant"}, {"content", nullptr}};
  CallsInPieces calls_;
  std::size_t unknown_bytes_ = 0;
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
  return delta == nullptr ? std::string() : content_of(*delta);
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

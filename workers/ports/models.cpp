#include "workers/ports/models.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "workers/ports/failures.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/schema_check.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t shown_bytes_max = 300;  // of a reply, in a sentence

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_at(const Json& object, const char* key) {
  const Json* found = member(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t count_at(const Json& object, const char* key) {
  const Json* found = member(object, key);
  return found != nullptr && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

// The text of a message, which some endpoints give as a list of parts.
std::string content_of(const Json& message) {
  const Json* content = member(message, "content");
  if (content == nullptr) return {};
  if (content->is_string()) return content->get<std::string>();
  std::string text;
  if (content->is_array()) {
    for (const Json& part : *content) text += text_at(part, "text");
  }
  return text;
}

// Models like to wrap JSON in a Markdown fence.
std::string_view without_fence(std::string_view text) {
  const auto trim = [](std::string_view part) {
    const std::size_t from = part.find_first_not_of(" \t\r\n");
    if (from == std::string_view::npos) return std::string_view{};
    return part.substr(from, part.find_last_not_of(" \t\r\n") - from + 1);
  };
  text = trim(text);
  const std::string_view fence = "```";
  const std::size_t first_line = text.find('\n');
  const bool is_fenced = text.size() > 2 * fence.size() && text.substr(0, fence.size()) == fence &&
                         text.substr(text.size() - fence.size()) == fence && first_line != std::string_view::npos;
  if (!is_fenced) return text;
  return trim(text.substr(first_line, text.size() - fence.size() - first_line));
}

bool has_tool_calls(const Json& message) {
  const Json* calls = member(message, "tool_calls");
  return calls != nullptr && calls->is_array() && !calls->empty();
}

// Sets the reply's value from its message. A message that calls tools owes no content.
Result<Done, Failure> read_value(const ModelRequest& request, ModelReply& reply) {
  const std::string content = content_of(reply.message);
  if (request.schema.is_null()) {
    reply.value = content;
    return Done{};
  }
  if (has_tool_calls(reply.message) && content.empty()) return Done{};
  Result<Json> value = parse_json(without_fence(content), "the model's reply");
  if (!value) return bad_reply(value.error().message + " It began with: " + readable_line(content, shown_bytes_max));
  if (Status fits = check_value(request.schema, *value); !fits) return bad_reply(std::move(fits).error().message);
  reply.value = *std::move(value);
  return Done{};
}

// --- http -----------------------------------------------------------------------------------------------------------

// A strict endpoint takes only schemas whose objects, at any depth, have all of their properties and no others.
bool is_strict(const Json& schema) {
  if (const Json* type = member(schema, "type"); type != nullptr && *type == "object") {
    const Json* others = member(schema, "additionalProperties");
    if (others == nullptr || *others != false) return false;
    const Json properties = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    for (const auto& [name, property] : properties.items())
      if (std::find(required.begin(), required.end(), name) == required.end()) return false;
  }
  return !schema.is_structured() || std::all_of(schema.begin(), schema.end(), is_strict);
}

Json body_of(const ModelRequest& request, const std::string& model) {
  Json body = request.options.is_object() ? request.options : Json::object();
  body["model"] = model;
  body["messages"] = request.messages;
  if (!request.tools.is_null()) body["tools"] = request.tools;
  if (!request.schema.is_null()) {
    const std::string name = request.schema_name.empty() ? "reply" : request.schema_name;
    body["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", name}, {"schema", request.schema}, {"strict", is_strict(request.schema)}}}};
  }
  return body;
}

std::string without_secret(std::string text, const std::string& secret) {
  if (secret.empty()) return text;
  for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
    text.replace(at, secret.size(), "***");
  }
  return text;
}

class HttpModel final : public Model {
 public:
  explicit HttpModel(ModelEndpoint endpoint) : endpoint_(std::move(endpoint)) {}

  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override {
    const auto began = std::chrono::steady_clock::now();
    const std::string model = request.model.empty() ? endpoint_.model : request.model;
    HttpRequest call = call_of(request, model);
    const HttpResult result = co_await client_.post(std::move(call));
    ModelAnswer answer = read(request, model, result);
    const auto took = std::chrono::steady_clock::now() - began;
    answer.reply.latency_ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    if (answer.failure) answer.failure->message = without_secret(std::move(answer.failure->message), endpoint_.api_key);
    co_return answer;
  }

 private:
  HttpRequest call_of(const ModelRequest& request, const std::string& model) const {
    HttpRequest call;
    call.url = endpoint_.url + (endpoint_.url.ends_with('/') ? "chat/completions" : "/chat/completions");
    call.headers = {{"content-type", "application/json"}, {"accept", "application/json"}};
    if (!endpoint_.api_key.empty()) call.headers.emplace_back("authorization", "Bearer " + endpoint_.api_key);
    if (!request.key.empty()) call.headers.emplace_back("idempotency-key", request.key);
    call.body = canonical(body_of(request, model));
    call.timeout_ms = endpoint_.timeout_ms;
    return call;
  }

  ModelAnswer read(const ModelRequest& request, const std::string& model, const HttpResult& result) const {
    if (!result) {
      const HttpFault& fault = result.error();
      if (fault.kind == HttpFault::Kind::too_big) return bad_reply(fault.message);
      return failure("unreachable", fault.message, fault.kind != HttpFault::Kind::invalid);
    }
    if (result->status != 200) return refusal(*result);
    const Result<Json> body = parse_json(result->body, "the model endpoint's answer");
    if (!body) return bad_reply(body.error().message);
    return read_completion(request, model, *body);
  }

  static Failure refusal(const HttpAnswer& answer) {
    const bool retryable = answer.status == 429 || answer.status == 408 || answer.status >= 500;
    Failure refused = failure("refused",
                              "Expected a completion from the model endpoint, but it answered with status " +
                                  std::to_string(answer.status) + ": " + readable_line(answer.body, shown_bytes_max),
                              retryable);
    refused.pause_ms = std::min(answer.retry_after_ms, pause_ms_max);
    return refused;
  }

  ModelAnswer read_completion(const ModelRequest& request, const std::string& model, const Json& body) const {
    const Json* choices = member(body, "choices");
    const Json* choice = choices != nullptr && choices->is_array() && !choices->empty() ? &choices->front() : nullptr;
    const Json* message = choice != nullptr ? member(*choice, "message") : nullptr;
    if (message == nullptr || !message->is_object()) {
      return bad_reply("Expected a completion with choices[0].message, but got " + excerpt(body, shown_bytes_max) +
                       ".");
    }
    ModelReply reply;
    reply.model = text_at(body, "model").empty() ? model : text_at(body, "model");
    reply.message = *message;
    count_usage(body, reply);
    Result<Done, Failure> read = check_whole(*choice);
    if (read) read = read_value(request, reply);
    if (!read) return {std::move(read).error(), std::move(reply)};
    return reply;
  }

  void count_usage(const Json& body, ModelReply& reply) const {
    if (const Json* usage = member(body, "usage")) {
      reply.tokens_in = count_at(*usage, "prompt_tokens");
      reply.tokens_out = count_at(*usage, "completion_tokens");
    }
    reply.cost = (static_cast<double>(reply.tokens_in) * endpoint_.cost_in +
                  static_cast<double>(reply.tokens_out) * endpoint_.cost_out) /
                 1e6;
  }

  // A refused, filtered or cut reply is none.
  static Result<Done, Failure> check_whole(const Json& choice) {
    const std::string refused = text_at(choice["message"], "refusal");
    if (!refused.empty()) {
      return failure("refused", "Expected a reply, but the model refused: " + readable_line(refused, shown_bytes_max),
                     false);
    }
    const std::string reason = text_at(choice, "finish_reason");
    if (reason == "length") return bad_reply("Expected a whole reply, but the model stopped at its limit of length.");
    if (reason == "content_filter") {
      return failure("refused", "Expected a reply, but the endpoint's content filter withheld it.", false);
    }
    return Done{};
  }

  ModelEndpoint endpoint_;
  HttpClient client_;
};

// --- scripted -------------------------------------------------------------------------------------------------------

class ScriptedModel final : public Model {
 public:
  explicit ScriptedModel(const Json& script) : usable_(check_script(script)) {
    if (usable_) entries_ = script["replies"].get<std::vector<Json>>();
    used_.resize(entries_.size());
  }

  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override { co_return next(request); }

 private:
  ModelAnswer next(const ModelRequest& request) {
    if (!usable_) return failure("bad_script", usable_.error().message, false);
    while (first_unused_ < used_.size() && used_[first_unused_]) ++first_unused_;
    for (std::size_t i = first_unused_; i < entries_.size(); ++i) {
      const std::string node = text_at(entries_[i], "node");
      if (used_[i] || (!node.empty() && node != request.node)) continue;
      used_[i] = true;
      return answer(request, entries_[i]);
    }
    return failure("script_ended", "Expected a scripted reply for node \"" + request.node + "\", but none is left.",
                   false);
  }

  static ModelAnswer answer(const ModelRequest& request, const Json& entry) {
    if (const Json* error = member(entry, "error")) {
      const Json* retryable = member(*error, "retryable");
      return failure(error->value("error", "error"), text_at(*error, "message"),
                     retryable == nullptr || retryable->get<bool>());
    }
    ModelReply reply;
    reply.model = "scripted";
    if (const Json* message = member(entry, "reply")) {
      reply.message = *message;
      if (auto read = read_value(request, reply); !read) return {std::move(read).error(), std::move(reply)};
      return reply;
    }
    reply.value = entry["value"];
    const std::string content = reply.value.is_string() ? reply.value.get<std::string>() : canonical(reply.value);
    reply.message = {{"role", "assistant"}, {"content", content}};
    if (Status fits = check_value(request.schema, reply.value); !fits)
      return {bad_reply(std::move(fits).error().message), std::move(reply)};
    return reply;
  }

  Status usable_;
  std::vector<Json> entries_;
  std::vector<bool> used_;
  std::size_t first_unused_ = 0;
};

Status check_entry(const Json& entry, std::size_t position) {
  const auto refused = [position](const std::string& but) {
    return Error{Code::invalid, "Expected scripted reply " + std::to_string(position) + " to be one, but " + but + "."};
  };
  if (!entry.is_object()) return refused("it is no object");
  for (const auto& [key, value] : entry.items()) {
    if (key != "node" && key != "reply" && key != "value" && key != "error")
      return refused("it has an unknown \"" + key + "\"");
  }
  const auto kinds = entry.count("reply") + entry.count("value") + entry.count("error");
  if (kinds != 1) return refused("it needs exactly one of reply, value and error");
  if (entry.contains("node") && !entry["node"].is_string()) return refused("its node is no string");
  if (entry.contains("reply") && !entry["reply"].is_object()) return refused("its reply is no message");
  if (!entry.contains("error")) return Done{};
  const Json& error = entry["error"];
  const bool fits = error.is_object() && error.value("error", Json("error")).is_string() &&
                    error.value("message", Json("")).is_string() && error.value("retryable", Json(true)).is_boolean();
  if (!fits) return refused("its error is not like {\"error\", \"message\", \"retryable\"}");
  return Done{};
}

// --- rules ----------------------------------------------------------------------------------------------------------

class RuleModel final : public Model {
 public:
  RuleModel(std::string name, Rules rules) : name_(std::move(name)), rules_(std::move(rules)) {}

  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override { co_return answer(request); }

 private:
  ModelAnswer answer(const ModelRequest& request) const {
    ModelAnswer answer = rules_(request);
    if (answer.failure) return answer;
    ModelReply& reply = answer.reply;
    reply.model = name_;
    if (reply.message.is_null()) {
      const std::string content = reply.value.is_string() ? reply.value.get<std::string>() : canonical(reply.value);
      reply.message = {{"role", "assistant"}, {"content", content}};
    }
    if (has_tool_calls(reply.message)) return answer;
    if (Status fits = check_value(request.schema, reply.value); !fits)
      answer.failure = bad_reply(std::move(fits).error().message);
    return answer;
  }

  std::string name_;
  Rules rules_;
};

}  // namespace

std::unique_ptr<Model> make_http_model(ModelEndpoint endpoint) {
  return std::make_unique<HttpModel>(std::move(endpoint));
}

Status check_script(const Json& script) {
  const Json* replies = member(script, "replies");
  if (replies == nullptr || !replies->is_array()) {
    return Error{Code::invalid,
                 "Expected a script like {\"replies\": [...]}, but got " + excerpt(script, shown_bytes_max) + "."};
  }
  for (std::size_t i = 0; i < replies->size(); ++i) {
    if (Status fits = check_entry((*replies)[i], i + 1); !fits) return fits;
  }
  return Done{};
}

std::unique_ptr<Model> make_scripted_model(Json script) { return std::make_unique<ScriptedModel>(script); }

ModelReply rule_reply(Json value) {
  ModelReply reply;
  reply.model = rule_book_name;
  reply.message = {{"role", "assistant"}, {"content", canonical(value)}};
  reply.value = std::move(value);
  return reply;
}

std::unique_ptr<Model> make_rule_model(std::string name, Rules rules) {
  return std::make_unique<RuleModel>(std::move(name), std::move(rules));
}

}  // namespace cairn

#include "workers/models/http_model.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <cctype>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>

#include "engine/text.hpp"
#include "workers/models/chat_message.hpp"
#include "workers/models/known_forms.hpp"
#include "workers/models/model_stream.hpp"
#include "workers/models/rate_limit.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/secrets.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t body_shown_bytes = 300;                 // of an answer, in a sentence
constexpr int pauses_max = 20;                                // of one request, that the endpoint asks for
constexpr std::size_t stream_bytes_max = 4 * json_bytes_max;  // each token comes in an event of its own

std::int64_t time_for(const ModelRequest& request, const ModelEndpoint& endpoint) {
  constexpr std::int64_t otherwise_ms = 60'000;
  const std::int64_t time = request.timeout_ms > 0 ? request.timeout_ms : otherwise_ms;
  return endpoint.timeout_ms > 0 ? std::min(time, endpoint.timeout_ms) : time;
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// As a word of its own: "upstream" says nothing of a stream.
bool says_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t after = at + word.size();
    const bool begins = at == 0 || !is_of_word(text[at - 1]);
    if (begins && (after == text.size() || !is_of_word(text[after]))) return true;
  }
  return false;
}

// The text of an answer that refuses what was asked, in lower case; "" for any other answer.
std::string refusal_text(const HttpAnswer& answer) {
  static constexpr int statuses[] = {400, 404, 415, 422, 501};
  if (std::find(std::begin(statuses), std::end(statuses), answer.status) == std::end(statuses)) return {};
  return lowered(answer.body.substr(0, 16 * 1024));
}

// An error code may have the name within it, as "invalid_json_schema". The responses API has the format in its
// parameter "text", which an endpoint that knows none refuses by name, as a parameter: the word alone says nothing.
bool refuses_format(ModelApi api, const HttpAnswer& answer) {
  static constexpr std::string_view names[] = {"response_format", "json_schema", "json_object", "text.format",
                                               "structured output"};
  static constexpr std::string_view parameters[] = {"'text'",
                                                    "`text`",
                                                    "\\\"text\\\"",
                                                    "supplied: text\"",
                                                    "parameter: text\"",
                                                    "\"param\":\"text\"",
                                                    "\"param\": \"text\""};
  const std::string says = refusal_text(answer);
  const auto is_named = [&says](std::string_view name) { return says.find(name) != std::string::npos; };
  return std::any_of(std::begin(names), std::end(names), is_named) ||
         (api == ModelApi::responses && std::any_of(std::begin(parameters), std::end(parameters), is_named));
}

bool refuses_use(const HttpAnswer& answer) {
  const std::string says = refusal_text(answer);
  return says_word(says, "stream_options") || says_word(says, "include_usage");
}

bool refuses_to_stream(const HttpAnswer& answer) {
  static constexpr std::string_view names[] = {"stream", "streams", "streamed", "streaming"};
  const std::string says = refusal_text(answer);
  return std::any_of(std::begin(names), std::end(names),
                     [&says](std::string_view name) { return says_word(says, name); });
}

bool is_stream(const HttpAnswer& answer) {
  return std::any_of(answer.headers.begin(), answer.headers.end(), [](const auto& header) {
    return header.first == "content-type" && lowered(header.second).starts_with("text/event-stream");
  });
}

// The error that an answer is; nothing for any other, or for a long one. Some endpoints put it into a list.
std::optional<Json> error_in(const HttpAnswer& answer) {
  constexpr std::size_t error_bytes_max = 64 * 1024;
  const bool may_be = answer.body.size() <= error_bytes_max && answer.body.find("\"error\"") != std::string::npos;
  if (!may_be || is_stream(answer)) return std::nullopt;
  const Result<Json> body = parse_json(answer.body, "an error");
  if (!body) return std::nullopt;
  const Json& of = body->is_array() && !body->empty() ? body->front() : *body;
  const Json* error = member_at(of, "error");
  if (error == nullptr || member_at(of, "choices") != nullptr || member_at(of, "output") != nullptr)
    return std::nullopt;
  return *error;
}

// Gateways answer 200 and name the status of the endpoint behind them in the error.
void take_status_of_error(HttpAnswer& answer) {
  if (answer.status != 200) return;
  const std::optional<Json> error = error_in(answer);
  const std::int64_t code = error ? count_at(*error, "code") : 0;
  if (code >= 400 && code < 600) answer.status = static_cast<int>(code);
}

Failure refusal_of(const HttpAnswer& answer) {
  const std::optional<Json> error = error_in(answer);
  if (error && is_failed_generation(*error)) return failed_generation(*error);
  const bool retryable = answer.status == 429 || answer.status == 408 || answer.status >= 500;
  Failure refused = failure("refused",
                            "Expected a completion from the model endpoint, but it answered with status " +
                                std::to_string(answer.status) + ": " + readable_line(answer.body, body_shown_bytes),
                            retryable);
  const std::int64_t asked_ms = is_not_now(answer) ? asked_pause_ms(answer) : answer.retry_after_ms;
  refused.pause_ms = std::min(asked_ms, pause_ms_max);
  return refused;
}

// A refused, filtered or cut reply is none.
Result<Done, Failure> check_whole(const Completion& completion) {
  if (const std::string refused = text_at(completion.message, "refusal"); !refused.empty())
    return failure("refused", "Expected a reply, but the model refused: " + readable_line(refused, body_shown_bytes),
                   false);
  if (completion.finish_reason == "length")
    return bad_reply("Expected a whole reply, but the model stopped at its limit of length.");
  if (completion.finish_reason == "content_filter" || completion.finish_reason == "sensitive")
    return failure("refused", "Expected a reply, but the endpoint's content filter withheld it.", false);
  if (completion.finish_reason == "model_context_window_exceeded" || completion.finish_reason == "model_length")
    return failure("limit", "Expected a whole reply, but with it the conversation is longer than the model takes.",
                   false);
  if (!completion.broken_by.empty()) return broken_off(completion.broken_by);
  return Done{};
}

// A longer reply cannot be recorded, so it counts as none; its cost stays on record.
Result<Done, Failure> within_a_blob(ModelReply& reply) {
  const std::size_t bytes = canonical(reply.message).size();
  if (bytes <= json_bytes_max) return Done{};
  reply.message = {{"role", "assistant"}, {"content", nullptr}};
  return failure("limit",
                 "Expected a reply of at most " + std::to_string(json_bytes_max) + " bytes, but the model wrote " +
                     std::to_string(bytes) + ".",
                 false);
}

class HttpModel final : public Model {
 public:
  explicit HttpModel(ModelEndpoint endpoint)
      : endpoint_(std::move(endpoint)),
        in_answers_(Secrets::of_key(endpoint_.api_key, Secrets::Within::answers)),
        in_refusals_(Secrets::of_key(endpoint_.api_key, Secrets::Within::refusals)) {}

  asio::awaitable<ModelAnswer> ask(ModelRequest request) override {
    const auto began = Clock::now();
    const std::string model = request.model.empty() ? endpoint_.model : request.model;
    ModelAnswer answer = co_await answered(request, model, began + milliseconds(time_for(request, endpoint_)));
    answer.reply.latency_ms = std::chrono::duration_cast<milliseconds>(Clock::now() - began).count();
    co_return answer;
  }

 private:
  // Asks until the endpoint answers otherwise than by a refusal of the format or a pause that the time allows.
  asio::awaitable<ModelAnswer> answered(const ModelRequest& request, const std::string& model,
                                        Clock::time_point deadline) {
    Pauses pauses;
    for (;;) {
      const AskedForm form = form_for(model, request.schema);
      HttpRequest call = call_of(request, model, form, deadline);
      if (const std::size_t bytes = bytes_of(request, call); bytes > json_bytes_max) co_return too_long(bytes);
      HttpResult result = co_await client_.send(std::move(call));
      if (result) take_status_of_error(*result);
      if (result && steps_down(request, model, form, *result)) continue;
      const std::int64_t pause_ms = pause_before(result, request.key, deadline, pauses);
      if (pause_ms == 0) co_return read(request, model, form, std::move(result));
      asio::steady_timer timer(co_await asio::this_coro::executor, milliseconds(pause_ms));
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  // The larger of what is sent and what is recorded of it: neither may be longer than a blob.
  std::size_t bytes_of(const ModelRequest& request, const HttpRequest& call) const {
    if (endpoint_.api == ModelApi::chat_completions) return call.body.size();
    return std::max(call.body.size(), canonical(request.messages).size());
  }

  static Failure too_long(std::size_t bytes) {
    return failure("limit",
                   "Expected a conversation of at most " + std::to_string(json_bytes_max) +
                       " bytes for the model endpoint, but it has " + std::to_string(bytes) + ".",
                   false);
  }

  AskedForm form_for(const std::string& model, const Json& schema) const {
    AskedForm form = forms_.form_for(model, schema);
    form.format = endpoint_.format.value_or(form.format);
    form.streams = form.streams && endpoint_.streams;
    form.asks_use = form.asks_use && endpoint_.api == ModelApi::chat_completions;
    return form;
  }

  bool steps_down(const ModelRequest& request, const std::string& model, AskedForm asked, const HttpAnswer& answer) {
    if (answer.status == 200) return false;
    if (const std::optional<Json> error = error_in(answer); error && is_failed_generation(*error)) return false;
    if (asked.streams && asked.asks_use && refuses_use(answer)) {
      forms_.use_refused(model);
      return true;
    }
    if (asked.streams && refuses_to_stream(answer)) {
      forms_.streams_refused(model);
      return true;
    }
    if (!asks_for_format(request, asked) || !refuses_format(endpoint_.api, answer)) return false;
    forms_.format_refused(model, request.schema, asked.format);
    return true;
  }

  // In a form that the endpoint's answers decide.
  bool asks_for_format(const ModelRequest& request, AskedForm asked) const {
    return !endpoint_.format && !request.schema.is_null() && asked.format != ReplyFormat::text;
  }

  struct Pauses {
    int of_endpoint = 0;
    int own = 0;
  };

  // 0: the answer is none to wait after, or the time does not suffice.
  static std::int64_t pause_before(const HttpResult& result, const std::string& key, Clock::time_point deadline,
                                   Pauses& pauses) {
    if (!result || !is_not_now(*result)) return 0;
    const std::int64_t asked_ms = asked_pause_ms(*result);
    int& count = asked_ms > 0 ? pauses.of_endpoint : pauses.own;
    if (count >= (asked_ms > 0 ? pauses_max : own_pauses_max)) return 0;
    const std::int64_t pause_ms = asked_ms > 0 ? asked_ms : own_pause_ms(count, key);
    ++count;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    return pause_ms < left ? pause_ms : 0;
  }

  HttpRequest call_of(const ModelRequest& request, const std::string& model, AskedForm form,
                      Clock::time_point deadline) const {
    HttpRequest call;
    call.url = endpoint_.url + (endpoint_.url.ends_with('/') ? "" : "/") + path_of(endpoint_.api);
    call.headers = {{"content-type", "application/json"},
                    {"accept", form.streams ? "text/event-stream, application/json" : "application/json"}};
    if (form.streams) call.answer_bytes_max = stream_bytes_max;
    if (!endpoint_.api_key.empty()) call.headers.emplace_back("authorization", "Bearer " + endpoint_.api_key);
    if (!request.key.empty()) call.headers.emplace_back("idempotency-key", request.key + suffix_of(request, form));
    call.body = canonical(request_body(endpoint_.api, request, model, form));
    if (form.streams && request.watch) call.on_part = watching(request.watch());
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    call.timeout_ms = std::max<std::int64_t>(left, 1);
    return call;
  }

  std::function<void(int, std::string_view)> watching(TakeWritten take) const {
    return [take = std::move(take), streamed = StreamedText(endpoint_.api), clean = RedactedPieces(in_answers_)](
               int status, std::string_view more) mutable {
      if (status != 200) return;
      if (const std::string text = clean.add(streamed.add(more)); !text.empty()) take(text);
    };
  }

  // Another body needs another key.
  std::string suffix_of(const ModelRequest& request, AskedForm form) const {
    std::string suffix = endpoint_.streams && !form.streams ? "/whole" : "";
    if (endpoint_.api == ModelApi::chat_completions && form.streams && !form.asks_use) suffix = "/stream";
    if (request.schema.is_null() || endpoint_.format || form.format == ReplyFormat::json_schema) return suffix;
    return suffix + (form.format == ReplyFormat::json_object ? "/json" : "/text");
  }

  Result<Json, Failure> json_of(const HttpAnswer& answer) const {
    if (is_stream(answer)) return answer_of_stream(endpoint_.api, answer.body);
    Result<Json> body = parse_json(answer.body, "the model endpoint's answer");
    if (!body) return bad_reply(body.error().message);
    return *std::move(body);
  }

  // Redacted as JSON: the pieces of a key may have come apart in a stream, and a short key may be a number of JSON. A
  // sentence on what is no JSON shows some of it, so that is redacted before it is cut: half of a key is not found.
  Result<Json, Failure> body_of(HttpAnswer& answer) const {
    Result<Json, Failure> whole = json_of(answer);
    if (!whole) {
      answer.body = in_refusals_.redacted(answer.body);
      Result<Json, Failure> clean = json_of(answer);
      // A key that is a word of the protocol may make another fault of it.
      if (clean || clean.error().error == whole.error().error)
        whole = std::move(clean);
      else
        whole.error().message = in_refusals_.redacted(whole.error().message);
    }
    if (whole) return in_answers_.redacted_json(*whole);
    return whole;
  }

  ModelAnswer read(const ModelRequest& request, const std::string& model, AskedForm asked, HttpResult result) {
    if (!result) {
      const HttpFault& fault = result.error();
      if (fault.kind == HttpFault::Kind::too_big) return failure("limit", fault.message, false);
      return failure("unreachable", fault.message, fault.kind != HttpFault::Kind::invalid);
    }
    if (result->status != 200) {
      result->body = in_refusals_.redacted(result->body);
      return refusal_of(*result);
    }
    if (asks_for_format(request, asked)) forms_.format_taken(model, asked.format);
    const Result<Json, Failure> body = body_of(*result);
    if (!body) return body.error();
    Result<Completion, Failure> completion = read_completion(endpoint_.api, *body);
    if (!completion) return std::move(completion).error();
    // A call whose use is not on record is worse than one that cannot be stopped halfway.
    const bool says_use = completion->tokens_in > 0 || completion->tokens_out > 0;
    if (is_stream(*result) && !says_use) forms_.streams_refused(model);
    return reply_of(request, model, *std::move(completion));
  }

  ModelAnswer reply_of(const ModelRequest& request, const std::string& model, Completion completion) const {
    Result<Done, Failure> fine = check_whole(completion);
    ModelReply reply;
    reply.model = completion.model.empty() ? model : completion.model;
    reply.message = std::move(completion.message);
    reply.response_id = std::move(completion.id);
    reply.finish_reason = std::move(completion.finish_reason);
    reply.tokens_in = completion.tokens_in;
    reply.tokens_out = completion.tokens_out;
    reply.tokens_cached = completion.tokens_cached;
    reply.tokens_reasoning = completion.tokens_reasoning;
    reply.cost = (static_cast<double>(reply.tokens_in) * endpoint_.cost_in +
                  static_cast<double>(reply.tokens_out) * endpoint_.cost_out) /
                 1e6;
    if (fine) fine = within_a_blob(reply);
    if (fine) fine = read_value(request, reply);
    if (!fine) return {std::move(fine).error(), std::move(reply)};
    return reply;
  }

  const ModelEndpoint endpoint_;
  const Secrets in_answers_;
  const Secrets in_refusals_;
  HttpClient client_;
  KnownForms forms_;
};

}  // namespace

std::unique_ptr<Model> make_http_model(ModelEndpoint endpoint) {
  return std::make_unique<HttpModel>(std::move(endpoint));
}

}  // namespace cairn

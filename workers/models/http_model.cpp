#include "workers/models/http_model.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <cctype>
#include <chrono>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "workers/models/chat_message.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t body_shown_bytes = 300;  // of an answer, in a sentence
constexpr int pauses_max = 20;                 // of one request

std::string without_secret(std::string text, const std::string& secret) {
  if (secret.empty()) return text;
  for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
    text.replace(at, secret.size(), "***");
  }
  return text;
}

// A little less than the step's, so that the call is on record before the step is given up.
std::int64_t time_for(const ModelRequest& request, const ModelEndpoint& endpoint) {
  constexpr std::int64_t otherwise_ms = 60'000;
  std::int64_t time = request.timeout_ms > 0 ? request.timeout_ms : otherwise_ms;
  time -= std::min<std::int64_t>(time / 10, 1'000);
  return endpoint.timeout_ms > 0 ? std::min(time, endpoint.timeout_ms) : time;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Whether the refusal is about how the reply is to be formed.
bool refuses_format(const HttpAnswer& answer) {
  static constexpr int statuses[] = {400, 404, 415, 422, 501};
  if (std::find(std::begin(statuses), std::end(statuses), answer.status) == std::end(statuses)) return false;
  const std::string says = lower_case(answer.body.substr(0, 16 * 1024));
  static constexpr std::string_view names[] = {"response_format", "json_schema", "json_object", "text.format",
                                               "structured output"};
  return std::any_of(std::begin(names), std::end(names),
                     [&says](std::string_view name) { return says.find(name) != std::string::npos; });
}

ReplyFormat next_format(ReplyFormat format) {
  return format == ReplyFormat::json_schema ? ReplyFormat::json_object : ReplyFormat::text;
}

Failure refusal_of(const HttpAnswer& answer) {
  const bool retryable = answer.status == 429 || answer.status == 408 || answer.status >= 500;
  Failure refused = failure("refused",
                            "Expected a completion from the model endpoint, but it answered with status " +
                                std::to_string(answer.status) + ": " + readable_line(answer.body, body_shown_bytes),
                            retryable);
  refused.pause_ms = std::min(answer.retry_after_ms, pause_ms_max);
  return refused;
}

// A refused, filtered or cut reply is none.
Result<Done, Failure> check_whole(const Completion& completion) {
  if (const std::string refused = text_at(completion.message, "refusal"); !refused.empty())
    return failure("refused", "Expected a reply, but the model refused: " + readable_line(refused, body_shown_bytes),
                   false);
  if (completion.finish_reason == "length")
    return bad_reply("Expected a whole reply, but the model stopped at its limit of length.");
  if (completion.finish_reason == "content_filter")
    return failure("refused", "Expected a reply, but the endpoint's content filter withheld it.", false);
  return Done{};
}

class HttpModel final : public Model {
 public:
  explicit HttpModel(ModelEndpoint endpoint) : endpoint_(std::move(endpoint)) {}

  asio::awaitable<ModelAnswer> ask(ModelRequest request) override {
    const auto began = Clock::now();
    const std::string model = request.model.empty() ? endpoint_.model : request.model;
    ModelAnswer answer = co_await answered(request, model, began + milliseconds(time_for(request, endpoint_)));
    answer.reply.latency_ms = std::chrono::duration_cast<milliseconds>(Clock::now() - began).count();
    if (answer.failure) answer.failure->message = without_secret(std::move(answer.failure->message), endpoint_.api_key);
    co_return answer;
  }

 private:
  // Asks until the endpoint answers otherwise than by a refusal of the format or a pause that the time allows.
  asio::awaitable<ModelAnswer> answered(const ModelRequest& request, const std::string& model,
                                        Clock::time_point deadline) {
    for (int pauses = 0;;) {
      const ReplyFormat format = format_for(model);
      HttpRequest call = call_of(request, model, format, deadline);
      if (call.body.size() > json_bytes_max) co_return too_long(call.body.size());
      const HttpResult result = co_await client_.send(std::move(call));
      if (result && steps_down(request, model, format, *result)) continue;
      const std::int64_t pause_ms = pauses < pauses_max ? pause_before(result, deadline) : 0;
      if (pause_ms == 0) co_return read(request, model, result);
      ++pauses;
      asio::steady_timer timer(co_await asio::this_coro::executor, milliseconds(pause_ms));
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  static Failure too_long(std::size_t bytes) {
    return failure("limit",
                   "Expected a conversation of at most " + std::to_string(json_bytes_max) +
                       " bytes for the model endpoint, but it has " + std::to_string(bytes) + ".",
                   false);
  }

  ReplyFormat format_for(const std::string& model) const {
    if (endpoint_.format) return *endpoint_.format;
    const auto found = formats_.find(model);
    return found == formats_.end() ? ReplyFormat::json_schema : found->second;
  }

  bool steps_down(const ModelRequest& request, const std::string& model, ReplyFormat format, const HttpAnswer& answer) {
    if (endpoint_.format || request.schema.is_null() || format == ReplyFormat::text || !refuses_format(answer))
      return false;
    ReplyFormat& known = formats_[model];  // another request may have come further meanwhile
    known = std::max(known, next_format(format));
    return true;
  }

  // 0: it does not say, or the time does not suffice.
  static std::int64_t pause_before(const HttpResult& result, Clock::time_point deadline) {
    if (!result || (result->status != 429 && result->status != 503) || result->retry_after_ms == 0) return 0;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    return result->retry_after_ms < left ? result->retry_after_ms : 0;
  }

  HttpRequest call_of(const ModelRequest& request, const std::string& model, ReplyFormat format,
                      Clock::time_point deadline) const {
    HttpRequest call;
    call.url = endpoint_.url + (endpoint_.url.ends_with('/') ? "" : "/") + path_of(endpoint_.api);
    call.headers = {{"content-type", "application/json"}, {"accept", "application/json"}};
    if (!endpoint_.api_key.empty()) call.headers.emplace_back("authorization", "Bearer " + endpoint_.api_key);
    if (!request.key.empty()) call.headers.emplace_back("idempotency-key", request.key + suffix_of(request, format));
    call.body = canonical(request_body(endpoint_.api, request, model, format));
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    call.timeout_ms = std::max<std::int64_t>(left, 1);
    return call;
  }

  // Another body needs another key.
  std::string suffix_of(const ModelRequest& request, ReplyFormat format) const {
    if (request.schema.is_null() || endpoint_.format || format == ReplyFormat::json_schema) return "";
    return format == ReplyFormat::json_object ? "/json" : "/text";
  }

  ModelAnswer read(const ModelRequest& request, const std::string& model, const HttpResult& result) const {
    if (!result) {
      const HttpFault& fault = result.error();
      if (fault.kind == HttpFault::Kind::too_big) return bad_reply(fault.message);
      return failure("unreachable", fault.message, fault.kind != HttpFault::Kind::invalid);
    }
    if (result->status != 200) return refusal_of(*result);
    const Result<Json> body = parse_json(result->body, "the model endpoint's answer");
    if (!body) return bad_reply(body.error().message);
    Result<Completion, Failure> completion = read_completion(endpoint_.api, *body);
    if (!completion) return std::move(completion).error();
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
    if (fine) fine = read_value(request, reply);
    if (!fine) return {std::move(fine).error(), std::move(reply)};
    return reply;
  }

  ModelEndpoint endpoint_;
  HttpClient client_;
  std::map<std::string, ReplyFormat> formats_;  // by model, where a stricter one was refused
};

}  // namespace

std::unique_ptr<Model> make_http_model(ModelEndpoint endpoint) {
  return std::make_unique<HttpModel>(std::move(endpoint));
}

}  // namespace cairn

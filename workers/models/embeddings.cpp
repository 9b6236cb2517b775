#include "workers/models/embeddings.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <thread>
#include <utility>

#include "storage/clock.hpp"
#include "workers/models/chat_message.hpp"
#include "workers/models/rate_limit.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/own_process.hpp"
#include "workers/ports/secrets.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t embed_shown_bytes = 300;  // of an answer, in a sentence
constexpr int embed_pauses_max = 5;

Error bad_vectors(const std::string& but) {
  return {Code::invalid, "Expected a vector for each text from the embeddings endpoint, but " + but + "."};
}

// --- the answer -----------------------------------------------------------------------------------------------------

Result<Vector> read_vector(const Json& numbers) {
  if (!numbers.is_array() || numbers.empty() || numbers.size() > vector_size_max)
    return bad_vectors("one is " + excerpt(numbers, 80));
  Vector vector;
  vector.reserve(numbers.size());
  double squares = 0;
  for (const Json& number : numbers) {
    if (!number.is_number()) return bad_vectors("one has " + excerpt(number, 80) + " in it");
    const auto part = number.get<double>();
    squares += part * part;
    vector.push_back(static_cast<float>(part));
  }
  const double length = std::sqrt(squares);
  if (!std::isfinite(length) || length < 1e-12) return bad_vectors("one has no direction");
  for (float& part : vector) part = static_cast<float>(part / length);
  return vector;
}

Result<std::vector<Vector>> read_vectors(const Json& answer, std::size_t count) {
  const Json* rows = member_at(answer, "data");
  if (rows == nullptr || !rows->is_array()) return bad_vectors("the answer has no \"data\"");
  if (rows->size() != count)
    return bad_vectors("there are " + std::to_string(rows->size()) + " for " + std::to_string(count) + " texts");
  std::vector<Vector> vectors(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Json& row = (*rows)[i];
    const Json* index = member_at(row, "index");
    const std::size_t at = index != nullptr && index->is_number_unsigned() ? index->get<std::size_t>() : i;
    if (at >= count || !vectors[at].empty()) return bad_vectors("one is for no text");
    const Json* numbers = member_at(row, "embedding");
    Result<Vector> vector = read_vector(numbers == nullptr ? Json() : *numbers);
    if (!vector) return vector.error();
    vectors[at] = *std::move(vector);
  }
  for (const Vector& vector : vectors)
    if (vector.size() != vectors.front().size()) return bad_vectors("they differ in length");
  return vectors;
}

// A sentence on what is wrong shows some of the answer, so that is redacted before it is cut: half of a key is not
// found.
Result<std::vector<Vector>> vectors_of(const std::string& body, const Secrets& secrets, std::size_t count) {
  constexpr const char* what = "the embeddings endpoint's answer";
  Result<Json> answer = parse_json(body, what);
  if (!answer) answer = parse_json(secrets.redacted(body), what);
  if (!answer) return answer.error();
  Result<std::vector<Vector>> vectors = read_vectors(*answer, count);
  return vectors ? std::move(vectors) : read_vectors(secrets.redacted_json(*answer), count);
}

// --- the call -------------------------------------------------------------------------------------------------------

HttpRequest request_of(const EmbeddingEndpoint& endpoint, std::span<const std::string> texts) {
  HttpRequest request;
  request.url = endpoint.url + (endpoint.url.ends_with('/') ? "" : "/") + "embeddings";
  request.headers = {{"content-type", "application/json"}, {"accept", "application/json"}};
  if (!endpoint.api_key.empty()) request.headers.emplace_back("authorization", "Bearer " + endpoint.api_key);
  request.body = canonical(Json{{"model", endpoint.model},
                                {"input", std::vector<std::string>(texts.begin(), texts.end())},
                                {"encoding_format", "float"}});
  return request;
}

// In a loop of its own: the caller's thread is one that may wait.
HttpResult sent(const HttpRequest& request) {
  boost::asio::io_context io;
  HttpClient client;
  std::optional<HttpResult> result;
  std::exception_ptr fault;
  const auto on_end = [&](std::exception_ptr thrown, HttpResult answer) {
    fault = std::move(thrown);
    result.emplace(std::move(answer));
  };
  boost::asio::co_spawn(io, client.send(request), on_end);
  io.run();
  if (fault) std::rethrow_exception(fault);
  return *std::move(result);
}

Error refusal_by(const HttpAnswer& answer) {
  const bool may_pass = answer.status == 408 || answer.status == 429 || answer.status >= 500;
  return {may_pass ? Code::unavailable : Code::unsupported,
          "Expected vectors from the embeddings endpoint, but it answered with status " +
              std::to_string(answer.status) + ": " + readable_line(answer.body, embed_shown_bytes)};
}

// The answer after the pauses that the time allows.
HttpResult paced_answer(HttpRequest request, TimeUs until_us) {
  int own_pauses = 0;
  for (int pauses = 0;; ++pauses) {
    request.timeout_ms = std::max<std::int64_t>((until_us - steady_us()) / 1000, 1);
    HttpResult result = sent(request);
    if (!result || !is_not_now(*result) || pauses == embed_pauses_max) return result;
    std::int64_t pause_ms = asked_pause_ms(*result);
    if (pause_ms == 0 && own_pauses < own_pauses_max) pause_ms = own_pause_ms(own_pauses++, request.body);
    if (pause_ms == 0 || steady_us() + pause_ms * 1000 >= until_us) return result;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  }
}

// Too many texts at once, or too long together, for some endpoints.
bool may_take_fewer(const HttpAnswer& answer) {
  return answer.status == 400 || answer.status == 413 || answer.status == 422;
}

Result<std::vector<Vector>> asked(const EmbeddingEndpoint& endpoint, std::span<const std::string> texts,
                                  TimeUs until_us) {
  const Secrets secrets = Secrets::of_key(endpoint.api_key, Secrets::Within::refusals);
  std::vector<Vector> vectors;
  for (std::size_t at_once = texts.size(); !texts.empty();) {
    const std::size_t count = std::min(at_once, texts.size());
    HttpResult result = paced_answer(request_of(endpoint, texts.first(count)), until_us);
    if (!result) return Error{Code::unavailable, result.error().message};
    if (may_take_fewer(*result) && count > 1) {
      at_once = count / 2;
      continue;
    }
    if (result->status != 200) {
      result->body = secrets.redacted(result->body);  // before it is cut: half of a key would not be found
      return refusal_by(*result);
    }
    Result<std::vector<Vector>> some = vectors_of(result->body, secrets, count);
    if (!some) return some;
    if (!vectors.empty() && vectors.front().size() != some->front().size()) return bad_vectors("they differ in length");
    std::move(some->begin(), some->end(), std::back_inserter(vectors));
    texts = texts.subspan(count);
  }
  return vectors;
}

}  // namespace

EmbeddingSettings embedding_settings_from_environment() {
  return {environment_variable("CAIRN_EMBED_URL"), environment_variable("CAIRN_EMBED_MODEL"),
          environment_variable("CAIRN_EMBED_KEY")};
}

Result<std::optional<EmbeddingEndpoint>> embedding_endpoint(const EmbeddingSettings& settings,
                                                            const ModelSettings& models) {
  if (settings.model.empty() && settings.url.empty()) return std::optional<EmbeddingEndpoint>();
  if (settings.model.empty())
    return Error{Code::invalid, "Expected CAIRN_EMBED_MODEL to name the model of CAIRN_EMBED_URL, but it is not set."};
  const bool is_models = settings.url.empty();
  EmbeddingEndpoint endpoint{is_models ? models.url : settings.url, settings.model,
                             is_models && settings.key.empty() ? models.key : settings.key};
  if (endpoint.url.empty())
    return Error{Code::invalid,
                 "Expected CAIRN_EMBED_URL or CAIRN_MODEL_URL with CAIRN_EMBED_MODEL, but neither is set."};
  if (const Status usable = check_url(endpoint.url); !usable)
    return Error{Code::invalid, "CAIRN_EMBED_URL: " + usable.error().message};
  return std::optional(std::move(endpoint));
}

float likeness(const Vector& one, const Vector& other) {
  if (one.size() != other.size()) return 0;
  return std::inner_product(one.begin(), one.end(), other.begin(), 0.0F);
}

Result<std::vector<Vector>> embed(const EmbeddingEndpoint& endpoint, std::span<const std::string> texts,
                                  std::int64_t timeout_ms) {
  CHECK(!texts.empty() && texts.size() <= embedded_texts_max);
  return asked(endpoint, texts, steady_us() + timeout_ms * 1000);
}

}  // namespace cairn

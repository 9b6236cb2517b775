#include "ops/traces/otlp_client.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <cstdlib>
#include <string_view>

#include "engine/json.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/schemas/percent_encoding.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr std::int64_t answer_ms_max = 10'000;
constexpr std::size_t answer_bytes_max = 64 * 1024;
constexpr std::size_t header_bytes_max = 16 * 1024;
constexpr int tries_max = 6;
constexpr std::int64_t pause_min_ms = 500;
constexpr std::int64_t pause_max_ms = 60'000;
constexpr const char* headers_variable = "OTEL_EXPORTER_OTLP_HEADERS";

Error bad_headers() {
  return {Code::invalid, std::string("Expected headers as name=value,... in ") + headers_variable +
                             ", but found something else."};  // which may be a secret
}

std::string_view without_spaces_around(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Result<std::vector<std::pair<std::string, std::string>>> headers_of_environment() {
  std::vector<std::pair<std::string, std::string>> headers;
  const char* const variable = std::getenv(headers_variable);
  std::string_view rest = variable == nullptr ? "" : variable;
  if (rest.size() > header_bytes_max) return bad_headers();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view one = without_spaces_around(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) return bad_headers();
    const std::string_view name = without_spaces_around(one.substr(0, equals));
    const std::string_view encoded = without_spaces_around(one.substr(equals + 1));
    std::string value = without_percents(encoded);
    if (!is_http_token(name) || !is_percent_encoded(encoded) || !is_header_value(value)) return bad_headers();
    headers.emplace_back(name, std::move(value));
  }
  return headers;
}

OtlpAnswer::Kind kind_of(int status) {
  using Kind = OtlpAnswer::Kind;
  if (status >= 200 && status < 300) return Kind::taken;
  if (status == 429 || status == 502 || status == 503 || status == 504) return Kind::again;
  return status == 400 || status == 413 ? Kind::misfit : Kind::refused;
}

OtlpAnswer taken(const std::string& body) {
  OtlpAnswer answer;
  const Json read = Json::parse(body, nullptr, false);
  if (!read.is_object() || !read.contains("partialSuccess") || !read["partialSuccess"].is_object()) return answer;
  const Json& part = read["partialSuccess"];
  const Json rejected = part.value("rejectedSpans", Json());  // 64 bits may come as text
  if (rejected.is_number_integer()) answer.rejected = rejected.get<std::int64_t>();
  if (rejected.is_string()) answer.rejected = std::strtoll(rejected.get<std::string>().c_str(), nullptr, 10);
  const Json says = part.value("errorMessage", Json());
  if (says.is_string()) answer.says = readable_line(says.get<std::string>(), 500);
  return answer;
}

OtlpAnswer answer_of(const HttpResult& result) {
  using Kind = OtlpAnswer::Kind;
  if (!result) {
    const HttpFault& fault = result.error();
    Kind kind = fault.kind == HttpFault::Kind::invalid ? Kind::refused : Kind::again;
    if (fault.kind == HttpFault::Kind::too_big) kind = kind_of(fault.status);
    return {kind, 0, 0, readable_line(fault.message, 500)};
  }
  const Kind kind = kind_of(result->status);
  if (kind == Kind::taken) return taken(result->body);
  const std::string says = "it answers " + std::to_string(result->status) +
                           (result->body.empty() ? "" : ": " + readable_line(result->body, 500));
  return {kind, 0, result->retry_after_ms, says};
}

Error not_taken(const std::string& says) {
  return {Code::unavailable, "Expected the collector to take traces, but " + says + "."};
}

}  // namespace

Result<OtlpEndpoint> otlp_endpoint(const std::string& url) {
  constexpr std::string_view path = "/v1/traces";
  if (const Status fits = check_url(url); !fits) return fits.error();
  if (url.find_first_of("?#") != std::string::npos)
    return Error{Code::invalid,
                 "Expected a collector's URL without a query or a fragment, but found one with '?' or "
                 "'#'."};  // which may be a secret
  auto headers = headers_of_environment();
  if (!headers) return headers.error();
  std::string whole = url;
  while (whole.ends_with('/')) whole.pop_back();
  if (!whole.ends_with(path)) whole += path;
  return OtlpEndpoint{std::move(whole), *std::move(headers)};
}

struct OtlpClient::Parts {
  OtlpEndpoint endpoint;
  asio::io_context io{1};
  HttpClient http{};
};

OtlpClient::OtlpClient(OtlpEndpoint endpoint) : parts_(std::make_unique<Parts>()) {
  parts_->endpoint = std::move(endpoint);
}
OtlpClient::~OtlpClient() = default;

OtlpAnswer OtlpClient::send(const std::string& document) {
  HttpRequest request;
  request.url = parts_->endpoint.url;
  request.headers = parts_->endpoint.headers;
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = document;
  request.timeout_ms = answer_ms_max;
  request.answer_bytes_max = answer_bytes_max;
  auto sent = asio::co_spawn(parts_->io, parts_->http.send(std::move(request)), asio::use_future);
  parts_->io.restart();
  parts_->io.run();
  try {
    return answer_of(sent.get());
  } catch (const std::system_error& shortage) {
    return {OtlpAnswer::Kind::again, 0, 0, shortage.what()};
  }
}

Result<OtlpAnswer> send_with_patience(OtlpClient& client, const std::string& document,
                                      const std::function<void(std::int64_t ms)>& pause) {
  std::int64_t wait_ms = pause_min_ms;
  for (int tries = 1;; ++tries) {
    OtlpAnswer answer = client.send(document);
    if (answer.kind == OtlpAnswer::Kind::taken) return answer;
    if (answer.kind != OtlpAnswer::Kind::again || tries == tries_max) return not_taken(answer.says);
    pause(std::min(answer.retry_after_ms > 0 ? answer.retry_after_ms : wait_ms, pause_max_ms));
    wait_ms *= 2;
  }
}

}  // namespace cairn

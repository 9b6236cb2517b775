#include "ops/library/http_transport.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>
#include <cstdlib>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "ops/http/transport/message.hpp"
#include "workers/ids.hpp"
#include "workers/ports/http_client.hpp"

namespace cairn::library {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds first_pause{50};
constexpr milliseconds pause_max{5'000};
constexpr std::size_t answer_bytes_max = std::size_t{64} << 20;
constexpr milliseconds stream_time{24 * 3'600'000};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string given_or(const std::string& given, const char* name, const char* otherwise) {
  if (!given.empty()) return given;
  const std::string found = variable(name);
  return found.empty() ? otherwise : found;
}

bool is_busy(int status) { return status == 408 || status == 429 || status == 503; }
bool is_of_gateway(int status) { return status == 502 || status == 504; }

// One request, on this thread.
HttpResult send(asio::io_context& io, HttpClient& client, HttpRequest request) {
  std::optional<HttpResult> result;
  std::exception_ptr fault;
  const auto on_end = [&](std::exception_ptr thrown, HttpResult answer) {
    fault = thrown;
    if (!fault) result = std::move(answer);
  };
  asio::co_spawn(io, client.send(std::move(request)), on_end);
  io.restart();
  while (!result && !fault) io.run_one();
  if (fault) std::rethrow_exception(fault);
  return *std::move(result);
}

class HttpWay {
 public:
  HttpWay(boost::urls::url base, std::string token, milliseconds patience)
      : base_(std::move(base)), token_(std::move(token)), patience_(patience) {}

  Answered exchange(const Asked& asked) {
    HttpRequest request = request_for(asked);
    std::optional<steady_clock::time_point> until;  // since the first failure
    for (milliseconds pause = first_pause;; pause = std::min(pause * 2, pause_max)) {
      milliseconds wait = pause / 2 + pause * static_cast<int>(thread_random()() % 1'000) / 1'000;
      const HttpResult answer = send_once(asked, request);
      if (answer && !goes_again(asked, *answer)) return answered(*answer);
      if (answer) wait = std::max(wait, milliseconds(answer->retry_after_ms));
      if (!answer) check_fault(asked, answer.error());
      if (!until) until = steady_clock::now() + patience_;
      if (steady_clock::now() + wait > *until) throw Unavailable(sentence_of(answer));
      std::this_thread::sleep_for(wait);
    }
  }

  Answered stream(const std::string& run, std::int64_t after, const Transport::OnMore& on_more) {
    HttpRequest request = request_for({"GET", {"runs", run, "events"}});
    request.headers.emplace_back("accept", "text/event-stream");
    request.headers.emplace_back("last-event-id", std::to_string(after));
    request.timeout_ms = stream_time.count();
    request.answer_bytes_max = answer_bytes_max;  // then it ends, and another one goes on
    std::string refusal;
    int status = 0;
    request.on_part = [&](int given, std::string_view more) {
      status = given;
      given == 200 ? on_more(more) : void(refusal += more);
    };
    asio::io_context io;
    HttpClient client;
    const HttpResult result = send(io, client, std::move(request));
    if (!result && status == 0) throw Unavailable(result.error().message);
    return {result ? result->status : status, std::move(refusal), {}};
  }

 private:
  HttpRequest request_for(const Asked& asked) const {
    boost::urls::url url = base_;
    for (const std::string& segment : asked.path) url.segments().push_back(segment);
    HttpRequest request;
    request.url = std::string(url.buffer()) + query_of(asked.query);
    request.method = asked.method;
    request.headers = {{"content-type", "application/json"}, {"accept", "application/json"}};
    if (!token_.empty()) request.headers.emplace_back("authorization", "Bearer " + token_);
    request.body = asked.body;
    request.timeout_ms = asked.timeout.count();
    request.answer_bytes_max = answer_bytes_max;
    return request;
  }

  // A kept connection may end just when it is used again, and then the request goes twice: not if that matters.
  HttpResult send_once(const Asked& asked, const HttpRequest& request) {
    if (asked.is_repeatable) return send(io_, client_, request);
    asio::io_context io;
    return send(io, client_, request);
  }

  static bool goes_again(const Asked& asked, const HttpAnswer& answer) {
    return is_busy(answer.status) || (is_of_gateway(answer.status) && asked.is_repeatable);
  }

  static void check_fault(const Asked& asked, const HttpFault& fault) {
    if (fault.kind == HttpFault::Kind::invalid) throw Refused(400, "invalid", fault.message);
    if (fault.kind == HttpFault::Kind::too_big) throw Unavailable(fault.message);
    if (!asked.is_repeatable && fault.may_have_arrived)
      throw Unavailable(fault.message + " The request may have arrived.");
  }

  std::string sentence_of(const HttpResult& result) const {
    if (!result) return result.error().message;
    return "Expected an answer of Cairn at " + std::string(base_.encoded_host_and_port()) + ", but its status is " +
           std::to_string(result->status) + ".";
  }

  static Answered answered(const HttpAnswer& answer) {
    Answered said{answer.status, answer.body, {}};
    for (const auto& [name, value] : answer.headers) said.headers.emplace(name, value);
    return said;
  }

  const boost::urls::url base_;
  const std::string token_;
  const milliseconds patience_;
  asio::io_context io_;
  HttpClient client_;
};

}  // namespace

std::unique_ptr<Transport> make_http_transport(const ClientOptions& options) {
  const std::string address = given_or(options.url, "CAIRN_URL", "http://127.0.0.1:8080");
  if (const Status fine = check_url(address); !fine) throw Refused(400, "invalid", fine.error().message);
  const auto url = boost::urls::parse_uri(address);
  if (!url || url->has_userinfo() || url->has_query() || url->has_fragment())
    throw Refused(400, "invalid", "Expected the address of Cairn's API as http://HOST or https://HOST.");
  const std::string token = given_or(options.token, "CAIRN_TOKEN", "");
  if (!is_header_value(token) || token.find_first_of(" \t") != std::string::npos)
    throw Refused(400, "invalid", "Expected a token of visible characters, but it has others.");
  boost::urls::url base = *url;
  if (base.encoded_path() == "/") base.set_path("");
  base.segments().push_back("api");
  base.segments().push_back("v1");
  return transport_of(std::make_shared<HttpWay>(std::move(base), token, options.patience));
}

}  // namespace cairn::library

#include "ops/bench/rig/claim_clients.hpp"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "workers/ports/http_client.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr std::int64_t answer_ms = 30'000;  // on top of what a request waits

}  // namespace

struct ClaimClients::Parts {
  explicit Parts(const ClaimClientsOptions& of) : options(of) {
    for (int n = 0; n < options.connections; ++n) asio::co_spawn(io, work(), asio::detached);
    thread = std::thread([this] { io.run(); });
  }

  Json asked(const std::string& session, Json finished) const {
    Json body = {{"worker", "bench"},  {"queues", {options.queue}},  {"handlers", {options.handler}},
                 {"max", options.max}, {"wait_ms", options.wait_ms}, {"finished", std::move(finished)}};
    if (!session.empty()) body["session"] = session;
    return body;
  }

  // One worker: what an answer brings is reported by the next request.
  asio::awaitable<void> work() {
    std::string session;
    Json finished = Json::array();
    while (!ends) {
      HttpRequest request;
      request.url = options.url + "/claims";
      request.headers = {{"Content-Type", "application/json"}};
      request.body = asked(session, std::move(finished)).dump();
      request.timeout_ms = options.wait_ms + answer_ms;
      const HttpResult answer = co_await http.send(std::move(request));
      if (!answer || answer->status != 200) co_return fail(answer ? answer->body : answer.error().message);
      const Json reply = parse_stored(answer->body);
      session = reply.at("session");
      ++answered;
      for (const Json& result : reply.at("results")) committed += result.at("status") == "committed" ? 1 : 0;
      finished = Json::array();
      for (const Json& claim : reply.at("claims"))
        finished.push_back({{"claim", claim.at("claim")}, {"patch", {{"n", 1}}}});
    }
  }

  void fail(const std::string& says) {
    const std::lock_guard lock(mutex);
    if (fault.empty() && !ends) fault = says;
  }

  const ClaimClientsOptions options;
  asio::io_context io{1};
  HttpClient http;
  std::atomic<bool> ends = false;
  std::atomic<std::int64_t> committed = 0, answered = 0;
  mutable std::mutex mutex;
  std::string fault;
  std::thread thread;
};

ClaimClients::ClaimClients(const ClaimClientsOptions& options) : parts_(std::make_unique<Parts>(options)) {}

ClaimClients::~ClaimClients() {
  parts_->ends = true;
  parts_->io.stop();
  parts_->thread.join();
}

std::int64_t ClaimClients::steps() const { return parts_->committed; }
std::int64_t ClaimClients::asks() const { return parts_->answered; }

void ClaimClients::check() const {
  const std::lock_guard lock(parts_->mutex);
  if (!parts_->fault.empty()) throw std::runtime_error("Expected a worker over HTTP to go on, but: " + parts_->fault);
}

}  // namespace cairn

#include "ops/bench/rig/http_load.hpp"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "ops/bench/rig/meter.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t followed_ms = 3'600'000;
constexpr std::size_t followed_bytes_max = std::size_t{1} << 30;

// The thread of a load with its client, the times that it took and the first fault.
struct LoadThread {
  ~LoadThread() { end(); }

  void begin() {
    thread = std::thread([this] { io.run(); });
  }
  void end() {
    ends = true;
    io.stop();
    if (thread.joinable()) thread.join();
  }
  void add(double time_ms) {
    const std::lock_guard lock(mutex);
    times.push_back(time_ms);
  }
  void fail(const std::string& says) {
    const std::lock_guard lock(mutex);
    if (fault.empty() && !ends) fault = says;
  }
  std::vector<double> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(times, {});
  }
  void check() const {
    const std::lock_guard lock(mutex);
    if (!fault.empty()) throw std::runtime_error("Expected the API to answer, but: " + fault);
  }

  asio::io_context io{1};
  HttpClient http;
  std::atomic<bool> ends = false;
  mutable std::mutex mutex;
  std::vector<double> times;
  std::string fault;
  std::thread thread;
};

std::string sentence_of(const HttpResult& answer) { return answer ? answer->body : answer.error().message; }

}  // namespace

// --- requests -------------------------------------------------------------------------------------------------------

struct PacedCalls::Parts {
  explicit Parts(PacedOptions of) : options(std::move(of)), began(Clock::now()) {
    for (int n = 0; n < options.connections; ++n) asio::co_spawn(load.io, call(), asio::detached);
    load.begin();
  }

  asio::awaitable<void> call() {
    asio::steady_timer timer(load.io);
    while (!load.ends) {
      const std::int64_t number = next++;
      const auto due = began + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(static_cast<double>(number) / options.per_second));
      timer.expires_at(due);
      co_await timer.async_wait(asio::use_awaitable);
      const HttpResult answer = co_await load.http.send(options.request(number));
      if (!answer || answer->status != options.status) co_return load.fail(sentence_of(answer));
      load.add(ms_between(due, Clock::now()));
    }
  }

  const PacedOptions options;
  const Clock::time_point began;
  std::int64_t next = 0;
  LoadThread load;
};

PacedCalls::PacedCalls(PacedOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}
PacedCalls::~PacedCalls() { parts_->load.end(); }
std::vector<double> PacedCalls::take() { return parts_->load.take(); }
void PacedCalls::check() const { parts_->load.check(); }

// --- followers ------------------------------------------------------------------------------------------------------

struct Followers::Parts {
  Parts(const std::string& url, const std::vector<RunId>& runs) {
    for (const RunId& run : runs)
      asio::co_spawn(load.io, follow(url + "/runs/" + to_string(run) + "/events"), asio::detached);
    load.begin();
  }

  asio::awaitable<void> follow(std::string url) {
    HttpRequest request;
    request.url = std::move(url);
    request.method = "GET";
    request.headers = {{"Accept", "text/event-stream"}};
    request.timeout_ms = followed_ms;
    request.answer_bytes_max = followed_bytes_max;
    request.on_part = [this, is_first = true](int, std::string_view more) mutable {
      if (std::exchange(is_first, false)) ++connected;
      note_times(more);
    };
    const HttpResult answer = co_await load.http.send(std::move(request));
    load.fail("a stream ended: " + sentence_of(answer));
  }

  // An event's line is small, so that it comes in one part.
  void note_times(std::string_view text) {
    const TimeUs now =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    for (std::size_t at = 0; (at = text.find(R"("at":")", at)) != std::string_view::npos;) {
      at += std::string_view(R"("at":")").size();
      const std::optional<TimeUs> time = parse_time(text.substr(at, text.find('"', at) - at));
      if (time) load.add(static_cast<double>(now - *time) / 1'000);
    }
  }

  std::atomic<std::int64_t> connected = 0;
  LoadThread load;
};

Followers::Followers(const std::string& url, const std::vector<RunId>& runs)
    : parts_(std::make_unique<Parts>(url, runs)) {}
Followers::~Followers() { parts_->load.end(); }
std::int64_t Followers::connected() const { return parts_->connected; }
std::vector<double> Followers::take() { return parts_->load.take(); }
void Followers::check() const { parts_->load.check(); }

}  // namespace cairn

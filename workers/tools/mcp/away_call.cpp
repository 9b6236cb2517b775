#include "workers/tools/mcp/away_call.hpp"

#include <boost/asio.hpp>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace cairn::mcp {
namespace {

namespace asio = boost::asio;

// Shared by the one who waits and the one who works, because either may end first.
struct AwayCall {
  explicit AwayCall(asio::any_io_executor waiters) : executor(std::move(waiters)) {}

  const asio::any_io_executor executor;
  std::function<void(std::string_view)> progress;  // the waiter's thread only
  std::optional<ToolAnswer> answer;                // likewise
  std::exception_ptr fault;                        // likewise
  asio::cancellation_signal stop;                  // the other thread only
  bool is_left = false;                            // likewise
  std::mutex mutex;
  asio::steady_timer* timer = nullptr;  // the waiter's; null without a waiter: then the executor may be gone too
};
using AwayCallRef = std::shared_ptr<AwayCall>;

template <class Then>
void post_to_the_waiter(const AwayCallRef& call, Then then) {
  const std::lock_guard lock(call->mutex);
  if (call->timer == nullptr) return;
  asio::post(call->executor, [call, then = std::move(then)]() mutable {
    if (call->timer != nullptr) then(*call, *call->timer);
  });
}

class AwayWaiter {
 public:
  AwayWaiter(asio::io_context& there, AwayCallRef call, asio::steady_timer& timer)
      : there_(there), call_(std::move(call)) {
    call_->timer = &timer;
  }
  AwayWaiter(const AwayWaiter&) = delete;
  AwayWaiter& operator=(const AwayWaiter&) = delete;
  ~AwayWaiter() {
    {
      const std::lock_guard lock(call_->mutex);
      call_->timer = nullptr;
    }
    if (call_->answer || call_->fault) return;
    asio::post(there_, [call = call_] {
      call->is_left = true;
      call->stop.emit(asio::cancellation_type::terminal);
    });
  }

 private:
  asio::io_context& there_;
  const AwayCallRef call_;
};

asio::awaitable<void> make_into(std::shared_ptr<std::optional<ToolAnswer>> answer, MakeCall make, ToolCall call) {
  ToolAnswer made = co_await make(std::move(call));
  *answer = std::move(made);
}

void begin(asio::io_context& there, const AwayCallRef& call, MakeCall make, ToolCall asked) {
  if (call->is_left) return;
  const auto answer = std::make_shared<std::optional<ToolAnswer>>();
  auto making = make_into(answer, std::move(make), std::move(asked));
  asio::co_spawn(there, std::move(making),
                 asio::bind_cancellation_slot(call->stop.slot(), [call, answer](std::exception_ptr fault) {
                   post_to_the_waiter(call, [fault, answer](AwayCall& ended, asio::steady_timer& timer) {
                     ended.fault = fault;
                     ended.answer = std::move(*answer);
                     timer.cancel();
                   });
                 }));
}

}  // namespace

asio::awaitable<ToolAnswer> call_away(asio::io_context& there, MakeCall make, ToolCall call) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto away = std::make_shared<AwayCall>(executor);
  away->progress = std::move(call.progress);
  call.progress = {};
  if (away->progress)
    call.progress = [away](std::string_view text) {
      post_to_the_waiter(away, [said = std::string(text)](AwayCall& of, asio::steady_timer&) { of.progress(said); });
    };
  asio::steady_timer timer(executor, asio::steady_timer::time_point::max());
  const AwayWaiter waiter(there, away, timer);
  asio::post(there, [&there, away, make = std::move(make), call = std::move(call)]() mutable {
    begin(there, away, std::move(make), std::move(call));
  });
  while (!away->answer && !away->fault) {
    boost::system::error_code cancelled;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  }
  if (away->fault) std::rethrow_exception(away->fault);
  co_return *away->answer;
}

}  // namespace cairn::mcp

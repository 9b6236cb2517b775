#include "workers/tools/mcp/away_call.hpp"

#include <boost/asio.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "workers/ports/threads.hpp"

namespace cairn::mcp {
namespace {

namespace asio = boost::asio;

// A call on its way. Shared by the one who waits and the one who works.
struct AwayCall {
  std::optional<ToolAnswer> answer;  // the waiter's thread only
  std::exception_ptr fault;          // likewise
  asio::cancellation_signal stop;    // the other thread only
  bool is_left = false;              // likewise

  bool has_ended() const { return answer.has_value() || fault != nullptr; }
};
using AwayCallRef = std::shared_ptr<AwayCall>;

// A wait that ends early ends the call.
class AwayWaiter {
 public:
  AwayWaiter(asio::io_context& there, AwayCallRef call) : there_(there), call_(std::move(call)) {}
  AwayWaiter(const AwayWaiter&) = delete;
  AwayWaiter& operator=(const AwayWaiter&) = delete;
  ~AwayWaiter() {
    if (call_->has_ended()) return;
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

void begin(asio::io_context& there, const std::shared_ptr<Meeting>& meeting, const AwayCallRef& call, MakeCall make,
           ToolCall asked) {
  if (call->is_left) return;
  const auto answer = std::make_shared<std::optional<ToolAnswer>>();
  auto making = make_into(answer, std::move(make), std::move(asked));
  asio::co_spawn(there, std::move(making),
                 asio::bind_cancellation_slot(call->stop.slot(), [meeting, call, answer](std::exception_ptr fault) {
                   meeting->post([call, answer, fault] {
                     call->fault = fault;
                     call->answer = std::move(*answer);
                   });
                 }));
}

}  // namespace

asio::awaitable<ToolAnswer> call_away(asio::io_context& there, MakeCall make, ToolCall call) {
  const auto meeting = std::make_shared<Meeting>(co_await asio::this_coro::executor);
  const auto away = std::make_shared<AwayCall>();
  if (call.progress)
    call.progress = [meeting, say = std::move(call.progress)](std::string_view text) {
      meeting->post([say, said = std::string(text)] { say(said); });
    };
  Meeting::Waiter waiter(meeting);
  const AwayWaiter ends(there, away);
  asio::post(there, [&there, meeting, away, make = std::move(make), call = std::move(call)]() mutable {
    begin(there, meeting, away, std::move(make), std::move(call));
  });
  std::function<bool()> is_over = [away] { return away->has_ended(); };
  co_await waiter.until(std::move(is_over));
  if (away->fault) std::rethrow_exception(away->fault);
  co_return *away->answer;
}

}  // namespace cairn::mcp

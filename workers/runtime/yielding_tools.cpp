#include "workers/runtime/yielding_tools.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>

#include "storage/clock.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds scan_asked_every(5);

class YieldingTools final : public Tools {
 public:
  YieldingTools(Tools& tools, Means own, MeansOfOthers& others, TimeUs patience_us)
      : tools_(tools), own_(std::move(own)), others_(others), patience_us_(patience_us) {}

  asio::awaitable<ToolAnswer> call(ToolCall call) override {
    const std::string lacking = lacking_for(call);
    if (!lacking.empty()) co_await yield_if_others_have(lacking);
    ToolAnswer answer = co_await tools_.call(std::move(call));
    co_return answer;
  }

  asio::awaitable<ToolAnswer> call_http(ToolCall call) override {
    const std::string lacking = lacking_for(call);
    if (!lacking.empty()) co_await yield_if_others_have(lacking);
    ToolAnswer answer = co_await tools_.call_http(std::move(call));
    co_return answer;
  }

  const ToolTable& table() const override { return tools_.table(); }
  std::vector<std::string> needs_of(const ToolCall& call) const override { return tools_.needs_of(call); }

 private:
  // The first need that this worker's settings do not meet; "": none.
  std::string lacking_for(const ToolCall& call) const {
    const std::vector<std::string> needs = tools_.needs_of(call);
    const auto lacking =
        std::find_if(needs.begin(), needs.end(), [this](const std::string& need) { return !has_means(own_, need); });
    return lacking == needs.end() ? "" : *lacking;
  }

  asio::awaitable<void> yield_if_others_have(std::string lacking) {
    const TimeUs asked = steady_us();
    if (others_.have(lacking)) throw MeansAreElsewhere(lacking);
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    while (others_.scanned_at() < asked) {
      if (steady_us() - asked > patience_us_) throw MeansAreElsewhere(lacking);
      others_.want_scan(asked);
      timer.expires_after(scan_asked_every);
      co_await timer.async_wait(asio::use_awaitable);
    }
    if (others_.have(lacking)) throw MeansAreElsewhere(lacking);
  }

  Tools& tools_;
  const Means own_;
  MeansOfOthers& others_;
  const TimeUs patience_us_;
};

}  // namespace

bool MeansOfOthers::have(const std::string& need) const {
  return std::any_of(means_.begin(), means_.end(), [&](const Means& means) { return has_means(means, need); });
}

std::unique_ptr<Tools> make_yielding_tools(Tools& tools, Means own, MeansOfOthers& others, TimeUs patience_us) {
  return std::make_unique<YieldingTools>(tools, std::move(own), others, patience_us);
}

}  // namespace cairn

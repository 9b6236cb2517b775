#include "ops/bench/rig/handler_clock.hpp"

#include <boost/asio/awaitable.hpp>
#include <ctime>
#include <utility>

namespace cairn {
namespace {

using boost::asio::awaitable;

class WatchedModel final : public Model {
 public:
  WatchedModel(std::unique_ptr<Model> model, HandlerClock& clock) : model_(std::move(model)), clock_(clock) {}
  awaitable<ModelAnswer> ask(ModelRequest request) override {
    clock_.pause();
    ModelAnswer answer = co_await model_->ask(std::move(request));
    clock_.resume();
    co_return answer;
  }

 private:
  std::unique_ptr<Model> model_;
  HandlerClock& clock_;
};

class WatchedTools final : public Tools {
 public:
  WatchedTools(std::unique_ptr<Tools> tools, HandlerClock& clock) : tools_(std::move(tools)), clock_(clock) {}
  awaitable<ToolAnswer> call(ToolCall call) override {
    clock_.pause();
    ToolAnswer answer = co_await tools_->call(std::move(call));
    clock_.resume();
    co_return answer;
  }
  const ToolTable& table() const override { return tools_->table(); }

 private:
  std::unique_ptr<Tools> tools_;
  HandlerClock& clock_;
};

awaitable<StepResult> watched(const Handler& handler, HandlerClock& clock, StepInput input, Ports& ports) {
  clock.begin();
  StepResult result = co_await std::get<EffectHandler>(handler.run)(std::move(input), ports);
  clock.end(handler.name);
  co_return result;
}

Handler watched(const Handler& handler, HandlerClock& clock) {
  Handler made = handler;
  const auto kept = std::make_shared<Handler>(handler);  // by every copy of the function
  if (handler.is_pure()) {
    made.run = PureHandler([kept, &clock](const StepInput& input) {
      clock.begin();
      StepResult result = std::get<PureHandler>(kept->run)(input);
      clock.end(kept->name);
      return result;
    });
  } else {
    made.run = EffectHandler(
        [kept, &clock](StepInput input, Ports& ports) { return watched(*kept, clock, std::move(input), ports); });
  }
  return made;
}

}  // namespace

void HandlerClock::begin() {
  is_running_ = true;
  spent_ = 0;
  since_ = thread_cpu_seconds();
}

void HandlerClock::pause() {
  if (is_running_) spent_ += thread_cpu_seconds() - since_;
}

void HandlerClock::resume() { since_ = thread_cpu_seconds(); }

void HandlerClock::end(const std::string& handler) {
  pause();
  is_running_ = false;
  Use& use = uses_[handler];
  ++use.steps;
  use.seconds += spent_;
}

void watch(Catalogue& catalogue, HandlerClock& clock) {
  HandlerTable table;
  for (const auto& [name, labels] : catalogue.handlers.labels())
    table.add(watched(*catalogue.handlers.find(name), clock));
  catalogue.handlers = std::move(table);
  catalogue.model = std::make_unique<WatchedModel>(std::move(catalogue.model), clock);
  catalogue.tools = std::make_unique<WatchedTools>(std::move(catalogue.tools), clock);
}

double thread_cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace cairn

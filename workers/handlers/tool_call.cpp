#include "workers/handlers/tool_call.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace cairn {

boost::asio::awaitable<StepResult> call_tool(StepInput input, Ports& ports, ToolCall call, ReadOutputs read) {
  call.run = input.run;
  call.step = input.step;
  call.attempt = input.attempt;
  call.key = input.key;
  const auto began = std::chrono::steady_clock::now();
  std::variant<Json, Failure> answer = co_await ports.tools().call(call);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  Record fact = tool_called(call, std::holds_alternative<Json>(answer), took.count());
  if (auto* failure = std::get_if<Failure>(&answer)) {
    failure->facts.emplace_back(std::move(fact));
    co_return std::move(*failure);
  }
  StepResult result = read(std::get<Json>(std::move(answer)));
  if (auto* outcome = std::get_if<Outcome>(&result)) outcome->facts.insert(outcome->facts.begin(), std::move(fact));
  co_return result;
}

}  // namespace cairn

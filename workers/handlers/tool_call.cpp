#include "workers/handlers/tool_call.hpp"

#include <chrono>
#include <string_view>
#include <utility>

namespace cairn {

boost::asio::awaitable<StepResult> call_tool(const StepInput& input, Ports& ports, ToolCall call, ReadOutputs read) {
  call.run = input.run;
  call.step = input.step;
  call.attempt = input.attempt;
  call.key = input.key;
  if (ports.takes_progress()) call.progress = [&ports](std::string_view text) { ports.progress(text); };
  const auto began = std::chrono::steady_clock::now();
  ToolAnswer answer = co_await ports.tools().call(call);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  Record fact = tool_called(call, answer.ok(), took.count());
  if (!answer) {
    answer.error().facts.emplace_back(std::move(fact));
    co_return std::move(answer).error();
  }
  StepResult result = read(*std::move(answer));
  if (result) result->facts.insert(result->facts.begin(), std::move(fact));
  co_return result;
}

}  // namespace cairn

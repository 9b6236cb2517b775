#include "ops/library/own_work.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <utility>

#include "ops/library/plain_json.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/threads.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn::library {

namespace {

namespace asio = boost::asio;

constexpr std::size_t name_bytes_max = 200;
constexpr std::size_t sentence_bytes_max = 1'000;
constexpr int threads_max = 1'024;

struct OwnHandler {
  std::string name;
  StepFunction function;
  HandlerOptions options;
  bool is_rule = false;
};

struct OwnTool {
  std::string name;
  ToolFunction function;
  ToolOptions options;
};

[[noreturn]] void refuse(const std::string& sentence) { throw Refused(400, "invalid", sentence); }

}  // namespace

struct Handlers::Parts {
  std::vector<OwnHandler> handlers;
  std::vector<OwnTool> tools;
  int threads = 16;

  void add(OwnHandler handler) {
    check_name(handler.name, static_cast<bool>(handler.function));
    if (handler.options.labels.empty()) refuse("Expected labels of handler " + handler.name + ", but there are none.");
    handlers.push_back(std::move(handler));
  }

  void check_name(const std::string& name, bool has_function) const {
    const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > ' ' && c < 0x7F; });
    if (name.empty() || name.size() > name_bytes_max || !is_plain)
      refuse("Expected a name of 1 to 200 visible characters of ASCII for a handler or a tool, but found another one.");
    const auto has_name = [&](const auto& one) { return one.name == name; };
    if (std::any_of(handlers.begin(), handlers.end(), has_name) || std::any_of(tools.begin(), tools.end(), has_name))
      refuse("Expected another name for a handler or a tool, but there is one named \"" + name + "\".");
    if (!has_function) refuse("Expected a function for " + name + ", but there is none.");
  }
};

Handlers::Handlers() : parts_(std::make_unique<Parts>()) {}
Handlers::~Handlers() = default;
Handlers::Handlers(const Handlers& other) : parts_(std::make_unique<Parts>(*other.parts_)) {}
Handlers& Handlers::operator=(const Handlers& other) {
  *parts_ = *other.parts_;
  return *this;
}

Handlers& Handlers::add(const std::string& name, StepFunction function, HandlerOptions options) {
  parts_->add({name, std::move(function), std::move(options), false});
  return *this;
}

Handlers& Handlers::add_rule(const std::string& name, StepFunction function, HandlerOptions options) {
  parts_->add({name, std::move(function), std::move(options), true});
  return *this;
}

Handlers& Handlers::add_tool(const std::string& name, ToolFunction function, ToolOptions options) {
  parts_->check_name(name, static_cast<bool>(function));
  if (options.timeout.count() < 1) refuse("Expected a time above 0 for tool " + name + ".");
  parts_->tools.push_back({name, std::move(function), std::move(options)});
  return *this;
}

Handlers& Handlers::threads(int count) {
  if (count < 1 || count > threads_max) refuse("Expected 1 to 1024 threads, but found " + std::to_string(count) + ".");
  parts_->threads = count;
  return *this;
}

namespace {

// The fields that a handler's input and a tool's call share.
template <class Asked>
Step common_step(const Asked& asked) {
  Step step;
  step.run = to_string(asked.run);
  step.number = asked.step;
  step.attempt = asked.attempt;
  step.key = asked.key;
  step.timeout = std::chrono::milliseconds(asked.timeout_ms);
  return step;
}

Step step_of(const StepInput& input) {
  Step step = common_step(input);
  step.graph = input.graph;
  step.node = input.node;
  step.tags = {input.tags.begin(), input.tags.end()};
  step.input = input.with;
  step.data = input.data;
  step.given = input.given;
  step.failed = input.fault;
  return step;
}

Step step_of(const ToolCall& call) {
  Step step = common_step(call);
  step.sub_goal = call.sub_goal;
  step.input = call.inputs;
  return step;
}

// A failure as it stands on record: text of the program, cut to a line.
Failure failed(const std::string& error, std::string_view sentence, bool retryable,
               std::chrono::milliseconds pause = {}) {
  const std::string word = error.empty() ? "error" : readable_line(error, name_bytes_max);
  Failure failure = cairn::failure(word, readable_line(sentence, sentence_bytes_max), retryable);
  failure.pause_ms = std::clamp<std::int64_t>(pause.count(), 0, pause_ms_max);
  return failure;
}

// Calls a function of the program; what it throws is a failed attempt, but for a shortage of this process.
template <class T, class Call>
Result<T, Failure> attempt(const Call& call) {
  try {
    return call();
  } catch (const Final& thrown) {
    return failed(thrown.error(), thrown.what(), false);
  } catch (const Again& thrown) {
    return failed(thrown.error(), thrown.what(), true, thrown.pause());
  } catch (const std::system_error& thrown) {
    if (is_shortage(thrown.code())) throw;
    return failed("exception", thrown.what(), true);
  } catch (const std::exception& thrown) {
    return failed("exception", thrown.what(), true);
  } catch (...) {
    return failed("exception", "It threw something unknown.", true);
  }
}

StepResult outcome_of(const StepFunction& function, const std::string& first_label, const StepInput& input) {
  return attempt<cairn::Outcome>([&]() -> StepResult {
    Outcome outcome = function(step_of(input));
    if (outcome.patch.is_null()) outcome.patch = Json::object();  // as {} means it
    if (!outcome.patch.is_object())
      return failed("bad_outcome", "Expected channels to change as a JSON object, but found another value.", false);
    if (const std::string found = beyond_json(outcome.patch); !found.empty())
      return failed("bad_outcome", "Expected channels to change as JSON, but found " + found + ".", false);
    return cairn::Outcome{outcome.label.empty() ? first_label : outcome.label, std::move(outcome.patch), {}};
  });
}

asio::awaitable<StepResult> run_on_pool(std::shared_ptr<ThreadPool> pool, std::shared_ptr<const OwnHandler> handler,
                                        StepInput input) {
  const auto result = std::make_shared<std::optional<StepResult>>();
  std::function<void()> work = [result, handler, input = std::move(input)] {
    *result = outcome_of(handler->function, handler->options.labels.front(), input);
  };
  co_await run_blocking(*pool, std::move(work), 0);
  co_return std::move(**result);
}

Handler handler_of(const OwnHandler& own, const std::shared_ptr<ThreadPool>& pool) {
  Handler handler;
  handler.name = own.name;
  handler.labels = own.options.labels;
  handler.reads = own.options.reads;
  handler.version = own.options.version;
  const auto shared = std::make_shared<const OwnHandler>(own);
  if (own.is_rule) {
    handler.run = PureHandler([shared](const StepInput& input) {
      return outcome_of(shared->function, shared->options.labels.front(), input);
    });
  } else {
    handler.run =
        EffectHandler([pool, shared](StepInput input, Ports&) { return run_on_pool(pool, shared, std::move(input)); });
  }
  return handler;
}

ToolSpec tool_of(const OwnTool& own) {
  ToolSpec spec;
  spec.name = own.name;
  spec.does = NativeTool([function = own.function](const ToolCall& call) {
    return attempt<Json>([&]() -> ToolAnswer {
      Json outputs = function(step_of(call));
      if (!outputs.is_object())
        return failed("bad_output", "Expected outputs as a JSON object, but found another value.", false);
      if (const std::string found = beyond_json(outputs); !found.empty())
        return failed("bad_output", "Expected outputs as JSON, but found " + found + ".", false);
      return outputs;
    });
  });
  spec.timeout_ms = own.options.timeout.count();
  spec.facts.about = own.options.about;
  return spec;
}

}  // namespace

std::shared_ptr<const OwnWork> own_work(const Handlers& handlers) {
  const Handlers::Parts& parts = handlers.parts();
  auto work = std::make_shared<OwnWork>();
  const auto pool = std::make_shared<ThreadPool>(parts.threads);
  for (const OwnHandler& handler : parts.handlers) work->handlers.push_back(handler_of(handler, pool));
  for (const OwnTool& tool : parts.tools) work->tools.push_back(tool_of(tool));
  return work;
}

}  // namespace cairn::library

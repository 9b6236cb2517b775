#include "workers/ports/tools.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

#include "workers/ports/failures.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/threads.hpp"
#include "workers/ports/tool_process.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t shown_bytes_max = 500;
constexpr std::int64_t sleep_ms_max = 30LL * 24 * 3'600'000;
constexpr int exit_try_again = 75;  // EX_TEMPFAIL

std::string document_of(const ToolCall& call) {
  return canonical({{"run", to_string(call.run)},
                    {"step", call.step},
                    {"sub_goal", call.sub_goal},
                    {"attempt", call.attempt},
                    {"key", call.key},
                    {"inputs", call.inputs}});
}

// A line for a sentence. A secret goes before it is cut: a half of it would not be found.
std::string shown(std::string_view text, const Secrets& secrets) {
  return secrets.redacted_line(text, shown_bytes_max);
}

// The output of a program or an endpoint, read by parse_json, the only entrance for JSON from outside.
ToolAnswer read_outputs(const std::string& tool, std::string_view text, const Secrets& secrets) {
  const std::string wanted = "Expected one JSON object from " + tool_named(tool) + ", but ";
  const std::string said = shown(text, secrets);
  if (said.empty()) return failure("bad_output", wanted + "it said nothing.", false);
  Result<Json> outputs = parse_json(text, "the output of " + tool_named(tool));
  if (!outputs) return failure("bad_output", wanted + "it said: " + said + " (" + outputs.error().message + ")", false);
  if (!outputs->is_object()) return failure("bad_output", wanted + "it said: " + said, false);
  return secrets.redacted_json(*outputs);
}

Failure too_late(const std::string& tool, std::int64_t timeout_ms) {
  return failure(
      "timeout",
      "Expected " + tool_named(tool) + " to end within " + std::to_string(timeout_ms) + " ms, but it did not.", true);
}

// --- programs -------------------------------------------------------------------------------------------------------

Failure not_started(const std::string& tool, const std::string& program, int error) {
  const bool may_pass = error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE || error == ETXTBSY;
  return failure("not_started",
                 "Expected to start \"" + program + "\" for " + tool_named(tool) +
                     ", but: " + std::generic_category().message(error) + ".",
                 may_pass);
}

Failure failed_exit(const ProcessEnd& end, const Secrets& secrets) {
  std::string message = shown(last_line(end.err), secrets);
  if (message.empty()) message = "exit status " + std::to_string(end.number);
  return failure("error", std::move(message), end.number == exit_try_again);
}

ToolAnswer read_process(const std::string& tool, const std::string& program, const ProcessLimits& limits,
                        const ProcessEnd& end, const Secrets& secrets) {
  switch (end.kind) {
    case ProcessEnd::Kind::not_started:
      return not_started(tool, program, end.number);
    case ProcessEnd::Kind::timed_out:
      return too_late(tool, limits.timeout_ms);
    case ProcessEnd::Kind::flooded:
      return failure("bad_output",
                     "Expected at most " + std::to_string(limits.output_bytes_max) + " bytes from " + tool_named(tool) +
                         ", but it wrote more: " + secrets.redacted_line(end.out, 80),
                     false);
    case ProcessEnd::Kind::signalled:
      return failure("error", "killed by signal " + std::to_string(end.number), false);
    case ProcessEnd::Kind::exited:
      break;
  }
  if (end.number != 0) return failed_exit(end, secrets);
  return read_outputs(tool, end.out, secrets);
}

asio::awaitable<ToolAnswer> run_program(const ToolSpec::Exec& exec, const Secrets& secrets, ToolCall call) {
  ProcessLimits limits = exec.limits;
  limits.timeout_ms = call.timeout_ms;
  ProcessEnd end;
  std::error_code lacking;
  try {
    end = co_await run_process(exec.argv, document_of(call), limits, exec.setting);
  } catch (const std::system_error& error) {
    if (is_shortage(error.code())) lacking = error.code();
    end.number = error.code().value();
  }
  if (lacking)
    throw std::system_error(lacking, "Expected to start \"" + exec.argv[0] + "\" for " + tool_named(call.tool));
  co_return read_process(call.tool, exec.argv[0], limits, end, secrets);
}

// --- URLs -----------------------------------------------------------------------------------------------------------

ToolAnswer read_answer(const std::string& tool, std::int64_t timeout_ms, const HttpResult& result,
                       const Secrets& secrets) {
  if (!result) {
    const HttpFault& fault = result.error();
    if (fault.kind == HttpFault::Kind::timeout) return too_late(tool, timeout_ms);
    if (fault.kind == HttpFault::Kind::too_big) return failure("bad_output", fault.message, false);
    return failure("unreachable", fault.message, fault.kind == HttpFault::Kind::unreachable);
  }
  if (result->status < 400) return read_outputs(tool, result->body, secrets);
  std::string message = shown(result->body, secrets);
  if (message.empty()) message = "status " + std::to_string(result->status);
  Failure failed = failure("error", std::move(message), result->status == 429 || result->status >= 500);
  failed.pause_ms = std::min(result->retry_after_ms, pause_ms_max);
  return failed;
}

asio::awaitable<ToolAnswer> ask_url(HttpClient& client, const ToolSpec::Http& http, Secrets& secrets, ToolCall call) {
  HttpRequest request;
  request.url = http.url;
  request.headers = {{"content-type", "application/json"}, {"idempotency-key", call.key}};
  request.body = document_of(call);
  request.timeout_ms = call.timeout_ms;
  if (auto added = add_auth(request, http.auth, secrets); !added) co_return std::move(added).error();
  const HttpResult result = co_await client.send(std::move(request));
  co_return read_answer(call.tool, call.timeout_ms, result, secrets);
}

// --- sleep ----------------------------------------------------------------------------------------------------------

asio::awaitable<ToolAnswer> sleep_for(ToolCall call) {
  const Json ms = call.inputs.is_object() ? call.inputs.value("ms", Json()) : Json();
  if (!ms.is_number_integer() || ms < 0 || ms > sleep_ms_max) {
    const std::string limit = std::to_string(sleep_ms_max);
    co_return failure("invalid", "Expected {\"ms\": 0 to " + limit + "}, but got " + excerpt(call.inputs, 100) + ".",
                      false);
  }
  const auto wanted_ms = ms.get<std::int64_t>();
  const bool fits = call.timeout_ms == 0 || wanted_ms <= call.timeout_ms;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, std::chrono::milliseconds(fits ? wanted_ms : call.timeout_ms));
  co_await timer.async_wait(asio::use_awaitable);
  if (!fits) co_return too_late(call.tool, call.timeout_ms);
  co_return Json{{"slept_ms", wanted_ms}};
}

// --- native ---------------------------------------------------------------------------------------------------------

ToolAnswer run_guarded(const NativeTool& tool, const ToolCall& call) {
  try {
    ToolAnswer answer = tool(call);
    if (!answer || answer->is_object()) return answer;
    return failure(
        "bad_output",
        "Expected one JSON object from " + tool_named(call.tool) + ", but got " + excerpt(*answer, 100) + ".", false);
  } catch (const std::system_error& error) {
    if (is_shortage(error.code())) throw;
    return failure("error", readable_line(error.what(), shown_bytes_max), true);
  } catch (const std::exception& error) {
    return failure("error", readable_line(error.what(), shown_bytes_max), true);
  } catch (...) {
    return failure("error", "Expected " + tool_named(call.tool) + " to answer, but it threw something unknown.", true);
  }
}

asio::awaitable<ToolAnswer> answer_at_once(const NativeTool& tool, ToolCall call) { co_return run_guarded(tool, call); }

asio::awaitable<ToolAnswer> run_native(ThreadPool& pool, const NativeTool& tool, ToolCall call) {
  const auto answer = std::make_shared<std::optional<ToolAnswer>>();
  std::function<void()> work = [answer, tool, call] { *answer = run_guarded(tool, call); };
  const bool has_ended = co_await run_blocking(pool, std::move(work), call.timeout_ms);
  if (!has_ended) co_return too_late(call.tool, call.timeout_ms);
  co_return **answer;
}

// --- the table ------------------------------------------------------------------------------------------------------

class ToolBox final : public Tools {
 public:
  ToolBox(std::vector<ToolSpec> specs, int threads, ToolsAround around)
      : around_(std::move(around)), pool_(std::max(threads, 1)) {
    add(std::move(specs));
  }

  void add(std::vector<ToolSpec> specs) {
    for (ToolSpec& spec : specs) {
      table_[spec.name] = spec.facts;
      const std::string name = spec.name;
      specs_.insert_or_assign(name, std::move(spec));
    }
  }

  asio::awaitable<ToolAnswer> call(ToolCall call) override {
    const auto found = specs_.find(call.tool);
    if (found == specs_.end()) co_return unknown(call.tool);
    const ToolSpec& spec = found->second;
    ToolAnswer answer = co_await run(spec, call);
    if (answer) co_return answer;
    if (spec.attempts > 0 && call.attempt >= spec.attempts) answer.error().retryable = false;
    if (answer.error().retryable || spec.fallback.empty()) co_return answer;
    ToolAnswer instead = co_await fall_back(spec, std::move(call), answer.error().message);
    co_return instead;
  }

  asio::awaitable<ToolAnswer> call_http(ToolCall call) override {
    if (!around_.urls) return Tools::call_http(std::move(call));
    return call_url(client_, *around_.urls, around_.secrets, std::move(call));
  }

  const ToolTable& table() const override { return table_; }

  std::vector<std::string> needs_of(const ToolCall& call) const override {
    if (call.tool == http_call_name) return needs_of_http_call(call.inputs);
    std::vector<std::string> needs = Tools::needs_of(call);
    const auto found = specs_.find(call.tool);
    if (found == specs_.end() || !found->second.reach || !call.inputs.is_object()) return needs;
    const Json named = call.inputs.value(found->second.reach->input, Json());
    if (named.is_string()) needs.push_back(found->second.reach->kind + " " + named.get<std::string>());
    return needs;
  }

 private:
  static Failure unknown(const std::string& tool) {
    return failure("unknown_tool", "Expected a known tool, but there is no " + tool_named(tool) + " here.", false);
  }

  asio::awaitable<ToolAnswer> run(const ToolSpec& spec, ToolCall call) {
    call.timeout_ms = timeout_of(spec, call);
    asio::awaitable<ToolAnswer> running = start(spec, std::move(call));
    ToolAnswer answer = co_await std::move(running);
    const bool is_from_outside =
        std::holds_alternative<ToolSpec::Exec>(spec.does) || std::holds_alternative<ToolSpec::Http>(spec.does);
    if (!is_from_outside) co_return answer;
    if (!answer) answer.error().message = around_.secrets.redacted(answer.error().message);
    co_return answer;
  }

  asio::awaitable<ToolAnswer> run_with_secrets(const ToolSpec::Exec& exec, ToolCall call) {
    ToolSpec::Exec own = exec;
    for (const auto& [variable, name] : exec.secrets) {
      Result<std::string, Failure> value = around_.secrets.value(name);
      if (!value) co_return std::move(value).error();
      own.setting.variables.push_back(variable + "=" + *value);
    }
    ToolAnswer answer = co_await run_program(own, around_.secrets, std::move(call));
    co_return answer;
  }

  // The other tool's answer, under its name. Its effects are its own, so its idempotency key is another.
  asio::awaitable<ToolAnswer> fall_back(const ToolSpec& spec, ToolCall call, std::string why) {
    const auto other = specs_.find(spec.fallback);
    call.tool = spec.fallback;
    call.key += "/" + spec.fallback;
    ToolAnswer answer = unknown(spec.fallback);
    if (other != specs_.end()) answer = co_await run(other->second, std::move(call));
    if (answer) {
      (*answer)["answered_by"] = spec.fallback;
    } else {
      Failure& failed = answer.error();
      failed.message = why + " Its fallback " + tool_named(spec.fallback) + " failed too: " + failed.message;
      failed.retryable = false;
    }
    co_return answer;
  }

  // The shorter of the tool's own and the caller's; `sleep` has none of its own.
  static std::int64_t timeout_of(const ToolSpec& spec, const ToolCall& call) {
    if (std::holds_alternative<ToolSpec::Sleep>(spec.does)) return call.timeout_ms;
    return call.timeout_ms > 0 ? std::min(call.timeout_ms, spec.timeout_ms) : spec.timeout_ms;
  }

  asio::awaitable<ToolAnswer> start(const ToolSpec& spec, ToolCall call) {
    if (const auto* exec = std::get_if<ToolSpec::Exec>(&spec.does)) return run_with_secrets(*exec, std::move(call));
    if (const auto* http = std::get_if<ToolSpec::Http>(&spec.does))
      return ask_url(client_, *http, around_.secrets, std::move(call));
    if (const auto* native = std::get_if<NativeTool>(&spec.does)) return run_native(pool_, *native, std::move(call));
    if (const auto* instant = std::get_if<ToolSpec::Instant>(&spec.does))
      return answer_at_once(instant->tool, std::move(call));
    if (const auto* others = std::get_if<ToolSpec::Elsewhere>(&spec.does)) return others->ask(std::move(call));
    return sleep_for(std::move(call));
  }

  std::map<std::string, ToolSpec, std::less<>> specs_;
  ToolTable table_;
  ToolsAround around_;
  HttpClient client_;
  ThreadPool pool_;
};

// --- built in -------------------------------------------------------------------------------------------------------

ToolAnswer echo(const ToolCall& call) { return call.inputs; }

ToolAnswer fail_as_asked(const ToolCall& call) {
  const Json message = call.inputs.value("message", Json("It was asked to fail."));
  const Json times = call.inputs.value("times", Json(std::numeric_limits<std::int64_t>::max()));
  if (!message.is_string() || !times.is_number_integer() || times < 0) {
    return failure("invalid",
                   "Expected {\"message\": text, \"times\": number}, but got " + excerpt(call.inputs, 100) + ".",
                   false);
  }
  if (call.attempt > times.get<std::int64_t>()) return call.inputs;
  return failure("error", message.get<std::string>(), true);
}

}  // namespace

std::string tool_named(const std::string& tool) { return "tool \"" + tool + "\""; }

std::vector<ToolSpec> builtin_tools() {
  ToolFacts sleeps;
  sleeps.takes = {"ms"};
  return {{"echo", ToolSpec::Instant{echo}, 10'000, {}},
          {"fail", ToolSpec::Instant{fail_as_asked}, 10'000, {}},
          {"sleep", ToolSpec::Sleep{}, 0, std::move(sleeps)}};
}

std::unique_ptr<Tools> make_tools(std::vector<ToolSpec> specs, int threads, ToolsAround around) {
  return std::make_unique<ToolBox>(std::move(specs), threads, std::move(around));
}

void add_tools(Tools& tools, std::vector<ToolSpec> specs) {
  auto* const box = dynamic_cast<ToolBox*>(&tools);
  CHECK(box != nullptr);
  box->add(std::move(specs));
}

}  // namespace cairn

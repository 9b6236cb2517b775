#include "workers/handlers/http_call.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "workers/ports/failures.hpp"
#include "workers/ports/http_calls.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t said_bytes_max = 500;

Json call_setting(const Json& with, const char* name, const Json& otherwise) {
  const Json found = with.is_object() ? with.value(name, Json()) : Json();
  return found.is_null() ? otherwise : found;
}

bool is_wanted_status(std::int64_t status, const Json& ok) {
  return std::any_of(ok.begin(), ok.end(), [status](const Json& one) {
    if (one.is_number_integer()) return one == status;
    return one.is_string() && one.get_ref<const std::string&>().substr(0, 1) == std::to_string(status / 100);
  });
}

// https://host: neither path nor query.
std::string origin_of(const std::string& url) { return url.substr(0, url.find_first_of("/?", url.find("://") + 3)); }

std::string statuses_text(const Json& ok) {
  std::string text;
  for (const Json& one : ok)
    text += (text.empty() ? "" : ", ") + (one.is_string() ? one.get<std::string>() : one.dump());
  return text;
}

Failure unwanted_status(const Json& with, const Json& outputs, std::int64_t status, const Json& ok) {
  const Json body = outputs.value("body", Json());
  const std::string said = readable_line(body.is_string() ? body.get<std::string>() : canonical(body), said_bytes_max);
  std::string message =
      "Expected status " + statuses_text(ok) + " of " + call_setting(with, "method", "GET").get<std::string>() + " " +
      origin_of(call_setting(with, "url", "").get<std::string>()) + ", but it is " + std::to_string(status);
  if (status >= 300 && status < 400) message += ", and redirects are not followed";
  message += said.empty() || body.is_null() ? "." : ": " + said;
  const bool may_pass = status == 408 || status == 429 || status >= 500;
  Failure failed = failure("http_" + std::to_string(status), std::move(message), may_pass);
  const Json pause = outputs.value("retry_after_ms", Json());
  if (pause.is_number_integer()) failed.pause_ms = std::clamp<std::int64_t>(pause, 0, pause_ms_max);
  return failed;
}

StepResult read_response(const StepInput& input, Json outputs) {
  const Json into = call_setting(input.with, "into", "response");
  const Json ok = call_setting(input.with, "ok", Json::array({"2xx"}));
  const Json given = outputs.value("status", Json(200));
  const std::int64_t status = given.is_number_integer() ? given.get<std::int64_t>() : 0;
  if (!is_wanted_status(status, ok)) return unwanted_status(input.with, outputs, status, ok);
  const Json fault = outputs.value("fault", Json());
  if (fault.is_string())
    return failure("bad_output",
                   "Expected another body with status " + std::to_string(status) + ", but: " + fault.get<std::string>(),
                   false);
  outputs.erase("retry_after_ms");
  outputs["status"] = status;
  Outcome outcome{"ok", Json::object(), {}};
  outcome.patch[into.get<std::string>()] = std::move(outputs);
  return outcome;
}

boost::asio::awaitable<StepResult> call_api(StepInput input, Ports& ports) {
  if (const Status fits = check_call_settings(input.with); !fits) co_return invalid_input(fits.error().message);
  ToolCall call;
  call.run = input.run;
  call.step = input.step;
  call.attempt = input.attempt;
  call.key = input.key;
  call.tool = http_call_name;
  call.inputs = input.with;
  const auto began = std::chrono::steady_clock::now();
  ToolAnswer answer = co_await ports.tools().call_http(call);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  StepResult result = answer ? read_response(input, *std::move(answer)) : StepResult(std::move(answer).error());
  Record fact = tool_called(call, result.ok(), took.count());
  std::vector<Fact>& facts = result ? result->facts : result.error().facts;
  facts.insert(facts.begin(), std::move(fact));
  co_return result;
}

}  // namespace

Handler http_call_handler(bool is_here) {
  Handler handler;
  handler.name = http_call_name;
  handler.labels = {"ok"};
  handler.run = EffectHandler(call_api);
  handler.settings = http_call_settings();
  handler.check = check_http_call;
  handler.is_here = is_here;
  handler.need = http_call_need;
  return handler;
}

}  // namespace cairn

#include "workers/hooks/hook_sending.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "workers/hooks/cloud_event.hpp"
#include "workers/hooks/public_address.hpp"
#include "workers/ports/tool_process.hpp"

namespace cairn {
namespace {

constexpr std::size_t answer_bytes_max = 64 * 1024;
constexpr std::int32_t gone_status = 410;
constexpr std::int32_t too_many_status = 429;

HttpRequest request_of(const HookParcel& parcel, const std::string& secret, std::int64_t now_s) {
  HttpRequest request;
  request.url = parcel.hook.url;
  request.headers = {{"content-type", "application/cloudevents+json; charset=utf-8"},
                     {"webhook-id", parcel.id},
                     {"webhook-timestamp", std::to_string(now_s)}};
  if (!secret.empty())
    request.headers.emplace_back("webhook-signature", webhook_signature(secret, parcel.id, now_s, parcel.body));
  request.body = parcel.body;
  request.timeout_ms = parcel.hook.timeout_ms;
  request.answer_bytes_max = answer_bytes_max;
  return request;
}

// The answer's text is not kept: it may repeat what was sent, which must be in no second place.
HookAnswer answered(std::int32_t status, std::int64_t retry_after_ms) {
  HookAnswer answer;
  answer.status = status;
  answer.is_success = status >= 200 && status <= 299;
  answer.is_gone = status == gone_status;
  answer.is_busy = status == too_many_status || status >= 500;
  answer.retry_after_ms = retry_after_ms;
  if (!answer.is_success) answer.says = "The receiver answered " + std::to_string(status) + ".";
  return answer;
}

std::vector<std::string> shell_of(const HookParcel& parcel) { return {"/bin/sh", "-c", parcel.hook.command}; }

ProcessLimits limits_of_command(const HookParcel& parcel) {
  ProcessLimits limits;
  limits.timeout_ms = parcel.hook.timeout_ms;
  limits.output_bytes_max = answer_bytes_max;
  return limits;
}

// A desktop's notifications need the variables of its session.
ProcessSetting setting_of_command(const HookParcel& parcel) {
  const NoticeId& id = parcel.delivery.id;
  const std::string run = id.kind == NoticeKind::test ? std::string() : to_string(id.run);
  ProcessSetting setting;
  setting.environment = {"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "USER"};
  setting.variables = {"CAIRN_RUN=" + run, "CAIRN_EVENT=" + parcel.type, "CAIRN_EVENT_ID=" + parcel.id};
  return setting;
}

HookAnswer answer_of_command(const ProcessEnd& end, std::int64_t timeout_ms) {
  HookAnswer answer;
  answer.status = end.number;
  switch (end.kind) {
    case ProcessEnd::Kind::exited:
      answer.is_success = end.number == 0;
      answer.says = "The command ended with exit status " + std::to_string(end.number) + ".";
      break;
    case ProcessEnd::Kind::signalled:
      answer.says = "The command was ended by signal " + std::to_string(end.number) + ".";
      break;
    case ProcessEnd::Kind::timed_out:
      answer.says = "The command was ended after " + std::to_string(timeout_ms) + " ms.";
      break;
    case ProcessEnd::Kind::flooded:
      answer.says = "The command was ended because it wrote too much.";
      break;
    case ProcessEnd::Kind::not_started:
      answer.says = "The command could not be started.";
      break;
  }
  if (answer.is_success) answer.says.clear();
  return answer;
}

}  // namespace

boost::asio::awaitable<HookAnswer> send_to_url(HttpClient& client, HookParcel parcel, std::string secret,
                                               std::int64_t now_s) {
  HttpRequest request = request_of(parcel, secret, now_s);
  const auto is_refused = std::make_shared<bool>(false);  // the last address, as it is not public
  if (!parcel.hook.may_reach_private)
    request.may_connect = [is_refused](const std::string& address) {
      *is_refused = !is_public_address(address);
      return !*is_refused;
    };
  const HttpResult result = co_await client.send(std::move(request));
  if (result) co_return answered(result->status, result->retry_after_ms);
  if (result.error().status != 0) co_return answered(result.error().status, 0);
  HookAnswer none;
  none.is_busy = result.error().kind != HttpFault::Kind::invalid;
  none.says = result.error().message;
  if (*is_refused) none.says += " A hook with `--private` reaches this machine and private networks.";
  co_return none;
}

boost::asio::awaitable<HookAnswer> give_to_command(HookParcel parcel) {
  std::vector<std::string> shell = shell_of(parcel);
  const ProcessEnd end =
      co_await run_process(std::move(shell), parcel.body, limits_of_command(parcel), setting_of_command(parcel));
  co_return answer_of_command(end, parcel.hook.timeout_ms);
}

}  // namespace cairn

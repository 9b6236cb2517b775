#include "ops/http/mcp_route.hpp"

#include "ops/http/streams/event_stream.hpp"
#include "ops/mcp/server.hpp"

namespace cairn {
namespace {

constexpr unsigned not_acceptable_status = 406;

// Each client must take both kinds of answers.
bool takes_stream(const ApiRequest& request) {
  const std::string accept = request.header("accept");
  return accept.empty() || accept.find(event_stream) != std::string::npos || accept.find("*/*") != std::string::npos;
}

constexpr std::size_t left_max = 64;
constexpr std::size_t left_id_bytes_max = 256;
constexpr std::chrono::seconds left_for{30};

ApiStream stream_of(std::shared_ptr<RunCall> call, bool is_modern) {
  ApiStream stream = event_stream_reply();
  stream.next = [call] {
    return next_chunk([&]() -> Result<ApiStream::Chunk> {
      RunCall::Piece piece = call->next();
      ApiStream::Chunk chunk{"", piece.is_last};
      for (const Json& message : piece.messages) chunk.text += stream_event(message, "", "message");
      return chunk;
    });
  };
  // Since 2026-07-28 the end of its stream cancels a request; before, a client says so.
  if (is_modern) stream.gone = [call] { call->cancel(); };
  // The client that was sent away makes the call again: of the same run, or of another one.
  if (is_modern && !call->is_repeatable()) stream.refused = stream.gone;
  return stream;
}

ApiResponse as_response(const McpReply& reply) {
  ApiResponse response{reply.status, "", ""};
  if (reply.message) {
    response.body = canonical(*reply.message) + "\n";
    response.type = "application/json";
  }
  if (!reply.session.empty()) response.headers.emplace_back("Mcp-Session-Id", reply.session);
  if (reply.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

bool WaitingCalls::add(const RunId& run, const std::shared_ptr<RunCall>& call) {
  const std::lock_guard lock(mutex_);
  std::erase_if(calls_, [](const auto& entry) { return entry.second.expired(); });
  std::erase_if(left_, [](const Request& left) { return Clock::now() > left.until; });
  const auto is_it = [&](const Request& left) { return call->is_of(left.caller, left.session, left.id); };
  const bool is_left = std::erase_if(left_, is_it) > 0;
  if (is_left) call->leave();
  calls_.emplace(run, call);
  return is_left;
}

std::vector<std::shared_ptr<RunCall>> WaitingCalls::calls_of(const RunId& run) {
  std::vector<std::shared_ptr<RunCall>> calls;
  const std::lock_guard lock(mutex_);
  for (auto [at, end] = calls_.equal_range(run); at != end; ++at)
    if (std::shared_ptr<RunCall> call = at->second.lock()) calls.push_back(std::move(call));
  return calls;
}

void WaitingCalls::decline(const RunId& run) {
  for (const std::shared_ptr<RunCall>& call : calls_of(run)) call->decline();
}

std::shared_ptr<RunCall> WaitingCalls::leave(const std::string& caller, const std::string& session,
                                             const Json& request_id) {
  const std::lock_guard lock(mutex_);
  for (const auto& [run, waiting] : calls_) {
    const std::shared_ptr<RunCall> call = waiting.lock();
    if (call == nullptr || !call->is_of(caller, session, request_id)) continue;
    call->leave();
    return call;
  }
  if (session.empty() || canonical(request_id).size() > left_id_bytes_max) return nullptr;
  left_.push_back({caller, session, request_id, Clock::now() + left_for});
  if (left_.size() > left_max) left_.pop_front();
  return nullptr;
}

namespace {

// A call that waits here is known by its request; any other one by the run that its request has started.
void cancel_in_session(const McpHost& host, WaitingCalls& calls, const std::string& session, const Json& request_id) {
  if (const std::shared_ptr<RunCall> call = calls.leave(host.caller, session, request_id))
    cancel_run(host, call->run());
  else
    cancel_call(host, session, request_id);
}

}  // namespace

ApiAnswer answer_mcp(const McpHostRef& host, WaitingCalls& calls, const ApiRequest& request) {
  if (!takes_stream(request))
    return error_response(not_acceptable_status, "invalid",
                          "Expected Accept to name application/json and text/event-stream, but it does not.");
  const McpHeader header = [&request](const std::string& name) { return request.header(name); };
  McpReply reply = answer_message(host, request.body, header, "");
  if (!reply.cancelled.is_null()) cancel_in_session(*host, calls, request.header("mcp-session-id"), reply.cancelled);
  if (reply.declined) calls.decline(*reply.declined);
  if (reply.call == nullptr) return as_response(reply);
  const std::shared_ptr<RunCall> call = std::move(reply.call);
  if (calls.add(call->run(), call)) call->cancel();
  return stream_of(call, call->is_modern());
}

}  // namespace cairn

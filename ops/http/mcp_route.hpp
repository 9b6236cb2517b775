// POST /mcp: the Model Context Protocol over HTTP. A message is answered as JSON; a call that waits for its run, as a
// stream of server-sent events that ends with its result. Safe from any thread.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/http/access/guard.hpp"
#include "ops/http/transport/message.hpp"
#include "ops/mcp/host.hpp"

namespace cairn {

class RunCall;

// The calls that wait in this process, for a client that says by another message that it declines a question, or wants
// no answer.
class WaitingCalls {
 public:
  // True: its request was left before; the call takes no answer.
  bool add(const RunId& run, const std::shared_ptr<RunCall>& call);
  void decline(const RunId& run);
  // The call that is this request of the caller's session takes no answer any more, also if it begins to wait a moment
  // later. Null: none waits here.
  std::shared_ptr<RunCall> leave(const std::string& caller, const std::string& session, const Json& request_id);

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<std::shared_ptr<RunCall>> calls_of(const RunId& run);

  std::mutex mutex_;
  std::multimap<RunId, std::weak_ptr<RunCall>> calls_;
  struct Request {
    std::string caller;
    std::string session;
    Json id;
    Clock::time_point until;
  };
  std::deque<Request> left_;  // the last ones that did not wait here, each for a while
};

// `calls` outlives the answer.
ApiAnswer answer_mcp(const McpHostRef& host, WaitingCalls& calls, const ApiRequest& request);

}  // namespace cairn

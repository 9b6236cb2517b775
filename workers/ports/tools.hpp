// The implementations of tools, which do a sub-goal's work: native functions, programs and URLs. Native ones are built
// in; programs and URLs come from the worker's configuration, never from a graph. A Tools object is used by one thread
// at a time; native tools run in its bounded thread pool.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/result.hpp"
#include "workers/ports/http_calls.hpp"
#include "workers/ports/ports.hpp"
#include "workers/ports/secrets.hpp"
#include "workers/ports/tool_process.hpp"

namespace cairn {

// A function that may block; it runs in a bounded thread pool.
using NativeTool = std::function<ToolAnswer(const ToolCall&)>;

struct ToolSpec {
  struct Exec {
    std::vector<std::string> argv;
    ProcessLimits limits = {};  // timeout_ms is the tool's
    ProcessSetting setting = {};
    std::vector<std::pair<std::string, std::string>> secrets = {};  // variable, name of the secret
  };
  struct Http {
    std::string url;
    HttpAuth auth = {};
  };
  // Built in: one that never blocks answers at once, on the caller's thread; `sleep` waits without a thread.
  struct Instant {
    NativeTool tool;
  };
  struct Sleep {};
  // Waits for others without a thread of the pool; its answers hold no secret of the worker.
  struct Elsewhere {
    std::function<boost::asio::awaitable<ToolAnswer>(ToolCall)> ask;
  };
  std::string name;
  std::variant<NativeTool, Exec, Http, Instant, Sleep, Elsewhere> does;
  std::int64_t timeout_ms = 10'000;
  ToolFacts facts;
  std::int32_t attempts = 0;  // after this many a failure is final; 0: as often as the node's `retry` says
  std::string fallback = {};  // the tool that is called with the same inputs after a final failure; "": none
  // The input that names a thing which the worker's settings may refuse, and the kind of such things, as needs_of()
  // says them: {"repository", "repository"}.
  struct Reach {
    std::string kind;
    std::string input;
  };
  std::optional<Reach> reach = {};
  bool is_refused = false;  // by the worker's settings: every call fails, and other workers may have it
};

// As sentences name it.
std::string tool_named(const std::string& tool);

// The configuration of a worker around its tools.
struct ToolsAround {
  Secrets secrets = {};
  std::optional<UrlList> urls = {};  // that `http.call` may call; none: there is no `http.call`
};

// echo, sleep, fail.
std::vector<ToolSpec> builtin_tools();

// A tool gets one JSON document {"run", "step", "sub_goal", "attempt", "key", "inputs"} on stdin or as the body, and
// answers with one JSON object of at most json_bytes_max. `key` is the idempotency key, also sent as the header
// idempotency-key. A non-zero exit or a status of 400 or more is a failed attempt (message: the last line of stderr, or
// the body); exit 75, 429 and 5xx are retryable, all others are not. A program runs as tool_process.hpp says: under
// limits, with an environment of allowed names, and ended with all that it started. A
// fallback's outputs name it in `answered_by`; a fallback has no fallback of its own. A shortage of this
// process (is_shortage) is no failed attempt: call() throws it, whatever the tool is. The answer of a program or a URL
// holds no secret of the worker. `threads`: bound of the pool for native tools. Later specs replace earlier ones of the
// same name.
// Tools that are refused stand in the table too.
std::unique_ptr<Tools> make_tools(std::vector<ToolSpec> specs, int threads, ToolsAround around = {});

// Adds tools that became known later, in the place of those of the same names. REQUIRES: `tools` was made by
// make_tools, and no thread but this one uses it or its table yet.
void add_tools(Tools& tools, std::vector<ToolSpec> specs);

}  // namespace cairn

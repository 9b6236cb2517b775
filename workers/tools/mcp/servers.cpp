#include "workers/tools/mcp/servers.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <signal.h>
#include <thread>
#include <utility>

#include "storage/digest.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/log.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/tools/mcp/away_call.hpp"
#include "workers/tools/mcp/server.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds again_after{500};  // where a server could not be reached
constexpr std::chrono::milliseconds farewell{300};     // in which programs end by themselves

struct Served {
  McpEntry entry;
  std::shared_ptr<mcp::Server> server;
  std::optional<Result<mcp::Listing, Failure>> listed;
};

std::string full_name(const Served& served, const mcp::ListedTool& tool) {
  return served.entry.like.name + "." + tool.name;
}

Json function_of(const std::string& name, const mcp::ListedTool& tool) {
  return {{"type", "function"},
          {"function", {{"name", name}, {"description", tool.about}, {"parameters", tool.input}}}};
}

// A server that is away may be back in a moment; until the deadline.
asio::awaitable<void> list_patiently(Served& served, Clock::time_point deadline) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  for (std::optional<Failure> earlier;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    Result<mcp::Listing, Failure> listed = co_await served.server->list(std::max<std::int64_t>(left, 1));
    const bool is_over = listed || !listed.error().retryable || Clock::now() + again_after > deadline;
    if (is_over) {
      // A last attempt that had no time says less than the one before.
      const bool says_less = !listed && listed.error().error == "timeout" && earlier;
      served.listed = says_less ? Result<mcp::Listing, Failure>(*earlier) : std::move(listed);
      co_return;
    }
    earlier = listed.error();
    asio::steady_timer pause(executor, again_after);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

// This process may lack what a connection needs.
Failure not_listed(const Served& served, const std::exception_ptr& fault) {
  std::string says;
  try {
    std::rethrow_exception(fault);
  } catch (const boost::system::system_error& known) {
    says = known.code().message();
  } catch (const std::exception& known) {
    says = known.what();
  }
  return failure("unreachable",
                 "Expected to reach " + mcp::server_named(served.entry.like.name) + ", but: " + says + ".", true);
}

asio::awaitable<void> end_all(std::vector<std::shared_ptr<mcp::Server>> servers) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  for (const auto& server : servers) co_await server->finish();
  const auto deadline = Clock::now() + farewell;
  const auto run = [&servers] {
    return std::any_of(servers.begin(), servers.end(), [](const auto& server) { return server->runs(); });
  };
  while (run() && Clock::now() < deadline) {
    asio::steady_timer pause(executor, std::chrono::milliseconds(5));
    co_await pause.async_wait(asio::use_awaitable);
  }
  for (const auto& server : servers) server->close();
}

}  // namespace

struct McpServers::Parts {
  Parts(const std::vector<McpEntry>& entries, const Secrets& secrets) : work(asio::make_work_guard(io)) {
    for (const McpEntry& entry : entries)
      served.push_back({entry, std::make_shared<mcp::Server>(entry, secrets), std::nullopt});
    thread = std::thread([this] { run(); });
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    std::vector<std::shared_ptr<mcp::Server>> all;
    for (const Served& one : served) all.push_back(one.server);
    auto ending = end_all(std::move(all));
    asio::co_spawn(io, std::move(ending), [this](const std::exception_ptr&) { io.stop(); });
    thread.join();
  }

  // No signal is handled here, and a program that reads no more is no SIGPIPE.
  void run() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    while (!io.stopped()) {
      try {
        io.run();
      } catch (const std::exception& fault) {
        log_about(LogLevel::error, std::string("A message to an MCP server failed: ") + fault.what(), Json::object());
      }
    }
  }

  void list_all(std::int64_t patience_ms) {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t open = served.size();
    const auto deadline = Clock::now() + std::chrono::milliseconds(patience_ms);
    const auto is_done = [&] {
      const std::lock_guard lock(mutex);
      --open;
      changed.notify_one();
    };
    for (Served& one : served) {
      auto listing = list_patiently(one, deadline);
      asio::co_spawn(io, std::move(listing), [&one, is_done](const std::exception_ptr& fault) {
        if (fault) one.listed = not_listed(one, fault);
        is_done();
      });
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return open == 0; });
  }

  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::vector<Served> served;  // but for their servers constant, once they are listed
  std::thread thread;
};

namespace {

using PartsRef = std::shared_ptr<McpServers::Parts>;

ToolSpec spec_of(const PartsRef& parts, const Served& served, const mcp::ListedTool& tool) {
  ToolSpec spec = served.entry.like;
  spec.name = full_name(served, tool);
  spec.facts.about = tool.about;
  if (spec.facts.needs.empty()) spec.facts.needs = tool.needs;
  const mcp::MakeCall make = [server = served.server, name = tool.name](ToolCall call) {
    return server->call(name, std::move(call));
  };
  spec.does =
      ToolSpec::Elsewhere{[parts, make](ToolCall call) { return mcp::call_away(parts->io, make, std::move(call)); }};
  return spec;
}

const Served* find_server(const PartsRef& parts, const std::string& tool, std::string& name) {
  for (const Served& one : parts->served)
    for (const mcp::ListedTool& listed : (*one.listed)->tools)
      if (full_name(one, listed) == tool) {
        name = listed.name;
        return &one;
      }
  return nullptr;
}

asio::awaitable<ToolAnswer> refuse(Failure failed) { co_return failed; }

asio::awaitable<ToolAnswer> call_part(PartsRef parts, ToolCall call) {
  const Json inputs = call.inputs.is_object() ? call.inputs : Json::object();
  const Json tool = inputs.value("tool", Json());
  std::string name;
  const Served* served = tool.is_string() ? find_server(parts, tool.get<std::string>(), name) : nullptr;
  if (served == nullptr)
    return refuse(  // another worker may have it
        failure("unknown_tool",
                "Expected a tool of an MCP server that this worker has, but found " + excerpt(tool, 100) + ".", true));
  if (!inputs.value("arguments", Json::object()).is_object())
    return refuse(failure(
        "invalid", "Expected an object as arguments, but found " + excerpt(inputs["arguments"], 100) + ".", false));
  call.tool = tool.get<std::string>();
  call.timeout_ms = std::min(call.timeout_ms, served->entry.like.timeout_ms);
  const mcp::MakeCall make = [server = served->server, name](ToolCall one) {
    return server->advance(name, std::move(one));
  };
  return mcp::call_away(parts->io, make, std::move(call));
}

bool is_wanted(const Json& wanted, const std::string& name) {
  if (wanted.is_null()) return true;
  return std::any_of(wanted.begin(), wanted.end(), [&name](const Json& one) {
    if (!one.is_string()) return false;
    const auto& text = one.get_ref<const std::string&>();
    return text.ends_with(".*") ? name.starts_with(std::string_view(text).substr(0, text.size() - 1)) : text == name;
  });
}

ToolAnswer list_functions(const PartsRef& parts, const ToolCall& call) {
  const Json wanted = call.inputs.is_object() ? call.inputs.value("tools", Json()) : Json();
  if (!wanted.is_null() && !wanted.is_array())
    return failure("invalid", "Expected a list of names as tools, but found " + excerpt(wanted, 100) + ".", false);
  Json functions = Json::array();
  for (const Served& one : parts->served)
    for (const mcp::ListedTool& tool : (*one.listed)->tools)
      if (const std::string name = full_name(one, tool); is_wanted(wanted, name))
        functions.push_back(function_of(name, tool));
  const std::string hash = hex(sha256(canonical(functions)));
  return Json{{"tools", std::move(functions)}, {"hash", hash}};
}

}  // namespace

McpServers::McpServers(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}

McpServers::~McpServers() = default;

Result<std::shared_ptr<McpServers>> McpServers::connect(const std::vector<McpEntry>& entries, const Secrets& secrets,
                                                        std::int64_t patience_ms) {
  const auto parts = std::make_shared<Parts>(entries, secrets);
  parts->list_all(patience_ms);
  std::set<std::string> names;
  for (const Served& one : parts->served) {
    const Result<mcp::Listing, Failure>& listed = *one.listed;
    if (!listed)
      return Error{Code::unavailable, "Expected the tools of " + mcp::server_named(one.entry.like.name) +
                                          ", but: " + secrets.redacted_line(listed.error().message, 600)};
    for (const mcp::ListedTool& tool : listed->tools)
      if (!names.insert(full_name(one, tool)).second)
        return Error{Code::invalid, "Expected each tool of the MCP servers to have a name of its own, but \"" +
                                        full_name(one, tool) + "\" comes twice."};
  }
  return std::make_shared<McpServers>(parts);
}

std::vector<ToolSpec> McpServers::tools() const {
  std::vector<ToolSpec> specs;
  for (const Served& one : parts_->served)
    for (const mcp::ListedTool& tool : (*one.listed)->tools) specs.push_back(spec_of(parts_, one, tool));
  ToolSpec part;
  part.name = "mcp.call";
  part.does = ToolSpec::Elsewhere{[parts = parts_](ToolCall call) { return call_part(parts, std::move(call)); }};
  part.timeout_ms = 24LL * 3'600'000;  // the tool's own counts
  part.reach = ToolSpec::Reach{"tool", "tool"};
  specs.push_back(std::move(part));
  ToolSpec list;
  list.name = "mcp.list";
  list.does = ToolSpec::Instant{[parts = parts_](const ToolCall& call) { return list_functions(parts, call); }};
  specs.push_back(std::move(list));
  return specs;
}

Json McpServers::declared() const {
  Json tools = Json::array();
  for (const Served& one : parts_->served)
    for (const mcp::ListedTool& tool : (*one.listed)->tools)
      tools.push_back({{"name", full_name(one, tool)},
                       {"queue", one.entry.like.facts.queue},
                       {"about", tool.about},
                       {"schema", tool.input}});
  return tools;
}

}  // namespace cairn

// A server of the Model Context Protocol, as this process speaks with it: reached when it is needed, again when it has
// died, in the newest revision that both know; its listing; and calls of its tools, many at once. For the thread of its
// executor alone.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "workers/ports/tools_file.hpp"
#include "workers/tools/mcp/listing.hpp"
#include "workers/tools/mcp/messages.hpp"

namespace cairn::mcp {

class Server {
 public:
  struct Parts;

  Server(McpEntry entry, Secrets secrets);
  ~Server();

  // The tools that it has now. Fails as a call does.
  boost::asio::awaitable<Result<Listing, Failure>> list(std::int64_t timeout_ms);

  // One call of its tool `name`. The entry's policy answers the server's questions for a person; a task is waited for.
  // Fails as HttpChannel and StdioChannel do; `error`, by the server's own words; `input_required`, it asks a person
  // and the policy is to ask.
  boost::asio::awaitable<ToolAnswer> call(std::string name, ToolCall call);

  // A part of a call that others wait for between its parts, for the tool mcp.call: `call.inputs` are {"arguments",
  // "previous", "entered"}; the outputs are {"state": "complete", "outputs"}, {"state": "asks", "prompt", "schema",
  // "previous"} or {"state": "working", "poll_ms", "previous"}.
  boost::asio::awaitable<ToolAnswer> advance(std::string name, ToolCall call);

  // Lets it end by itself.
  boost::asio::awaitable<void> finish();
  // A program that has not ended; false for what is reached by URL.
  bool runs() const;
  // Ends it, if it runs; what waits for it fails.
  void close();

 private:
  std::shared_ptr<Parts> parts_;
};

}  // namespace cairn::mcp

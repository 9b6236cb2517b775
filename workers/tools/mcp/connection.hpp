// The way to a server and the revision that is spoken on it: opened when it is needed, and again when it was lost. For
// the thread of its executor alone.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "workers/ports/tools_file.hpp"
#include "workers/tools/mcp/messages.hpp"

namespace cairn::mcp {

class Connection {
 public:
  struct Parts;

  // `secrets` outlive it. `list_changed` is called when the server says that its tools have changed.
  Connection(McpEntry entry, Secrets& secrets, std::function<void()> list_changed);
  ~Connection();

  // A request in the revision that the server speaks, with what that revision adds to it; within `timeout_ms`, the
  // opening included, which goes on for the next request if this one cannot wait for it. A lost session, or one with a
  // server that speaks another revision by now, is opened again, once.
  boost::asio::awaitable<Answer> ask(std::string method, Json params, Request how);

  // That of the server that was reached last.
  bool is_newest() const;

  // As Server has them.
  boost::asio::awaitable<void> finish();
  bool runs() const;
  void close();

 private:
  std::shared_ptr<Parts> parts_;
};

}  // namespace cairn::mcp

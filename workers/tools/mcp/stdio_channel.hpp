// One life of a server that is a program: messages as lines over its stdin and stdout, many requests at once, kept
// apart by their ids. For the thread of its executor alone.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "workers/ports/tools.hpp"
#include "workers/tools/mcp/messages.hpp"

namespace cairn::mcp {

class StdioChannel {
 public:
  struct Parts;

  // Starts the program on the executor of the calling coroutine. Throws std::system_error if this process lacks what
  // that needs: see is_shortage(). `secrets` are left out of sentences, and outlive the channel.
  struct Named {
    std::string name;  // the server's, for sentences
    const Secrets& secrets;
  };
  static boost::asio::awaitable<std::unique_ptr<StdioChannel>> start(Named server, ToolSpec::Exec program,
                                                                     Listener listener);
  explicit StdioChannel(std::shared_ptr<Parts> parts);
  ~StdioChannel();  // ends the program

  // Waits for the reply. One that is not waited for any longer is cancelled at the server. Fails: `timeout`;
  // `unreachable`, retryable, the program has ended; `bad_output`, it wrote a line of more than json_bytes_max.
  boost::asio::awaitable<Answer> ask(Request request);
  void say(const Json& notification);

  bool is_open() const;
  // Closes the program's stdin, so that it ends by itself.
  void finish();

 private:
  std::shared_ptr<Parts> parts_;
};

}  // namespace cairn::mcp

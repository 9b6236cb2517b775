// A server that is reached over HTTP (streamable HTTP): each message is a POST, answered as JSON or as a stream of
// server-sent events. Before 2026-07-28 a server may keep a session, and a stream that ends before the reply is resumed
// by GET. For the thread of its executor alone.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "workers/ports/tools.hpp"
#include "workers/tools/mcp/messages.hpp"

namespace cairn::mcp {

class HttpChannel {
 public:
  struct Parts;

  // `secrets` are those that `server` names; they outlive the channel.
  HttpChannel(std::string name, ToolSpec::Http server, Secrets& secrets, Listener listener);
  ~HttpChannel();

  // Waits for the reply. One that is not waited for any longer is cancelled at the server: its connection is closed.
  // Fails: `timeout`; `unreachable`; `refused`, by a status of 401 or 403, or a secret that may not go there;
  // session_gone, by 404, or by 400 where the request may reopen it: nothing was begun; `error`, another status of 400
  // or more without a reply; `bad_output`, a body of more than json_bytes_max, or of another form.
  boost::asio::awaitable<Answer> ask(Request request);
  boost::asio::awaitable<void> say(Json message);

  // Opens the stream by GET on which a server before 2026-07-28 asks and says what belongs to no request, and again
  // when it has ended; a server need not have one.
  void listen();

  // From now on, requests name this revision; "": none.
  void use_revision(std::string revision);
  void forget_session();  // and its stream
  // Says to the server that the session has ended, if there is one.
  boost::asio::awaitable<void> end_session();

 private:
  std::shared_ptr<Parts> parts_;
};

}  // namespace cairn::mcp

// Sends of notices: to a URL, signed as Standard Webhooks has it, or to a command of this machine. Coroutines; used by
// one thread at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <string>

#include "workers/hooks/hook_sender.hpp"
#include "workers/ports/http_client.hpp"

namespace cairn {

// POSTs the message, and follows no redirect. `secret` "": it is not signed. Unless the hook says so, only public
// addresses are connected to. An answer of more than 64 KiB counts by its status. Throws std::system_error as
// HttpClient::send.
boost::asio::awaitable<HookAnswer> send_to_url(HttpClient& client, HookParcel parcel, std::string secret,
                                               std::int64_t now_s);

// Runs `/bin/sh -c COMMAND` with the message on stdin, and CAIRN_RUN, CAIRN_EVENT (the event's type) and CAIRN_EVENT_ID
// in its environment. Exit 0 is success.
boost::asio::awaitable<HookAnswer> give_to_command(HookParcel parcel);

}  // namespace cairn

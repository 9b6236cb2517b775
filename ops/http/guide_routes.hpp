// Pages of the program itself over HTTP: the guides for agents, /llms.txt and the pages that it leads to, and the
// console for people, at / and /console/. Without a token: they hold nothing of the database. Safe from any thread.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply show_llms(RouteCall& call);
RouteReply show_guide(RouteCall& call);
RouteReply show_console(RouteCall& call);
RouteReply show_console_file(RouteCall& call);

}  // namespace cairn

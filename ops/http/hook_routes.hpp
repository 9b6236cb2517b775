// Routes of hooks: list, add, look at, pause, resume, remove, test, send again, pass over. Each function is safe from
// any thread, with a call of its own.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply list_hooks(RouteCall& call);
RouteReply add_hook_asked(RouteCall& call);
RouteReply edit_hook_asked(RouteCall& call);
RouteReply show_hook(RouteCall& call);
RouteReply remove_hook(RouteCall& call);
RouteReply deliveries_of_hook(RouteCall& call);
RouteReply history_of_hook(RouteCall& call);
RouteReply pause_a_hook(RouteCall& call);
RouteReply resume_a_hook(RouteCall& call);
RouteReply test_a_hook(RouteCall& call);
RouteReply resend_of_hook(RouteCall& call);
RouteReply skip_of_hook(RouteCall& call);

}  // namespace cairn

// Routes that the console needs for itself: views that are saved for all, and links by which one question is answered
// without a token. Each function is safe from any thread, with a call of its own.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply list_views(RouteCall& call);
RouteReply save_view(RouteCall& call);
RouteReply remove_view(RouteCall& call);

// A link for an open question of the run.
RouteReply make_link(RouteCall& call);
// The link's question, and its answer: by the token of the link, which stands in the body.
RouteReply show_linked_question(RouteCall& call);
RouteReply answer_by_link(RouteCall& call);

}  // namespace cairn

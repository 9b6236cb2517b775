// Routes of the feed and its consumers. A caller with a scope has those consumers whose filter lies within it. Each
// function is safe from any thread, with a call of its own.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

// A page, {"events", "cursor", "is_last"}; or a stream of events, whose ids are cursors.
RouteReply show_feed(RouteCall& call);
RouteReply list_consumers(RouteCall& call);
RouteReply add_consumer(RouteCall& call);
RouteReply confirm_consumer(RouteCall& call);
RouteReply remove_consumer(RouteCall& call);

}  // namespace cairn

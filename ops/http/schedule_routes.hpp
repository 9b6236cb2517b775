// Routes of schedules: list, add, edit, look at, pause, resume, trigger, backfill, remove. Each function is safe from
// any thread, with a call of its own.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply list_schedules(RouteCall& call);
RouteReply add_schedule_asked(RouteCall& call);
RouteReply show_schedule(RouteCall& call);
RouteReply edit_schedule(RouteCall& call);
RouteReply remove_schedule(RouteCall& call);
RouteReply next_of_schedule(RouteCall& call);
RouteReply history_of_schedule(RouteCall& call);
RouteReply explain_a_schedule(RouteCall& call);
RouteReply pause_a_schedule(RouteCall& call);
RouteReply resume_a_schedule(RouteCall& call);
RouteReply trigger_a_schedule(RouteCall& call);
RouteReply backfill_a_schedule(RouteCall& call);

}  // namespace cairn

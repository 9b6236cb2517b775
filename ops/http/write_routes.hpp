// Routes that ask for something: runs, answers, signals, controls, within the caller's scope and under its name. Each
// function is safe from any thread, with a call of its own.
#pragma once

#include "ops/http/route_call.hpp"

namespace cairn {

RouteReply start_run(RouteCall& call);
RouteReply fork_run(RouteCall& call);
RouteReply answer_question(RouteCall& call);
RouteReply signal_run(RouteCall& call);
RouteReply cancel_run(RouteCall& call);
RouteReply pause_run(RouteCall& call);
RouteReply resume_run(RouteCall& call);
RouteReply retry_run(RouteCall& call);
RouteReply reset_a_run(RouteCall& call);
RouteReply move_run(RouteCall& call);
RouteReply change_a_queue(RouteCall& call);  // its limit, and whether it is paused

}  // namespace cairn

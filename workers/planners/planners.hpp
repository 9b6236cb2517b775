// The registration of the planners that come with the program: their handlers, whose graphs are in engine/graphs.
// Called once by the catalogue. Not thread-safe.
#pragma once

#include "workers/handlers/handler.hpp"

namespace cairn {

void add_seven_node(HandlerTable& table);
void add_plan_runner(HandlerTable& table);
void add_round_planner(HandlerTable& table);
void add_tool_agent(HandlerTable& table);  // after the built-in handlers
void add_plan_decomposer(HandlerTable& table);
void add_plan_and_do(HandlerTable& table);
void add_plan_handlers(HandlerTable& table);  // plan.create, plan.read, plan.merge
void add_page_agent(HandlerTable& table);
void add_venture_scope(HandlerTable& table);

}  // namespace cairn

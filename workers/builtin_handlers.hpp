// Handlers that let a user compose a graph without C++: model.chat, model.decide, tool.call, data.set, data.pick.
#pragma once

#include "workers/handler.hpp"

namespace cairn {

void add_builtin_handlers(HandlerTable& table);

}  // namespace cairn

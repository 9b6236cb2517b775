// `cairn serve`. Not thread-safe; one command per process.
#pragma once

#include "ops/commands.hpp"
#include "ops/http/guard.hpp"
#include "ops/http/server.hpp"

namespace cairn {

struct ServeOptions {
  ListenAddress listen{"127.0.0.1", 8080};
  ServerLimits limits;
};
Exit serve(const Settings& settings, const ServeOptions& options);

// The guard with the token of CAIRN_TOKEN. Refuses as Guard::make.
Result<Guard> guard_of(const ListenAddress& address);

}  // namespace cairn

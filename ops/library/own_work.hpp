// A program's functions as handlers and tools of the catalogue, which call them from any thread.
#pragma once

#include <memory>

#include "ops/library/library.hpp"
#include "workers/catalogue.hpp"

namespace cairn::library {

std::shared_ptr<const OwnWork> own_work(const Handlers& handlers);

}  // namespace cairn::library

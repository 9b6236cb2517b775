// The store that forwards every call, for tests. Safe from any thread if the other store is.
#pragma once

#include "storage/forwarding_store.hpp"

namespace cairn::test {

using cairn::ForwardingStore;

}  // namespace cairn::test

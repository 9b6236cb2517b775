// The forwarding store under the name by which tests derive their stores from it. Safe from any thread if the other
// store is.
#pragma once

#include "storage/forwarding_store.hpp"

namespace cairn::test {

using cairn::ForwardingStore;

}  // namespace cairn::test

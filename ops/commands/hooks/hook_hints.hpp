// Warnings about a new hook that names a graph or a secret which is not there. It is added all the same, as both may
// come later.
// Used from one thread.
#pragma once

#include "storage/store.hpp"
#include "workers/hooks/hook.hpp"

namespace cairn {

// Prints a sentence on standard error for each. The secret is looked up in the tools file of this process's
// environment.
void hint_at_hook(Store& store, const HookDefinition& hook);

}  // namespace cairn

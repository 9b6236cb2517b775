// Files and folders that this test program has synced: its own fsync() stands in the place of the C library's, notes
// the path and does the same. Safe from any thread.
#pragma once

#include <set>
#include <string>

namespace cairn::program {

std::set<std::string> synced_paths();
void forget_synced_paths();

}  // namespace cairn::program

// Folders of this machine in which the processes on a database keep something, and the reason why one cannot be
// written: said while nothing has been lost yet. Safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "ops/answers/doctor.hpp"
#include "ops/service/database.hpp"

namespace cairn {

// The embedded database, its checkpoints, the key that signs them where it is still to be made, and the archive that
// CAIRN_ARCHIVE names. Each is tried by a file that is removed at once, in the nearest folder above it that exists.
std::vector<FolderFacts> kept_folders(const DatabaseChoice& choice, const CheckpointOptions& checkpoints);

// One folder, tried in that way.
FolderFacts try_folder(const std::string& what, const std::string& path);

// "Expected to write checkpoints in /var/lib/cairn/checkpoints, but: Read-only file system." REQUIRES: it is one that
// cannot be written.
std::string sentence_of(const FolderFacts& folder);

}  // namespace cairn

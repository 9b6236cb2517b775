// Files and folders that outlast a loss of power. Safe from any thread.
#pragma once

#include <filesystem>

namespace cairn {

// Has the disk take what a file holds, or the names in a folder. False: it cannot.
bool keep_on_disk(const std::filesystem::path& path);

// Makes the folder, with those above it that are missing, and has the disk take the name of each: not every file system
// keeps a folder's name because a file in that folder is kept. False: it cannot.
bool make_kept_folder(const std::filesystem::path& folder);

}  // namespace cairn

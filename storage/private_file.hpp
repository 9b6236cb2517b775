// A file for its owner alone: archives, pictures of pages, whatever holds what runs held. Safe from any thread.
#pragma once

#include <string>

namespace cairn {

// Makes the file, or empties it, and gives it the mode 0600 whatever the umask is. False if it may not be written.
bool make_private_file(const std::string& path);

}  // namespace cairn

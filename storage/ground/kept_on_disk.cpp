#include "storage/ground/kept_on_disk.hpp"

#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace cairn {

namespace fs = std::filesystem;

bool keep_on_disk(const fs::path& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return false;
  const bool kept = fsync(handle) == 0;
  ::close(handle);
  return kept;
}

bool make_kept_folder(const fs::path& folder) {
  std::error_code fault;
  if (fs::is_directory(folder, fault)) return true;
  const fs::path above = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
  if (above == folder || !make_kept_folder(above)) return false;
  fs::create_directory(folder, fault);  // another process may have been quicker
  return fs::is_directory(folder, fault) && keep_on_disk(above);
}

}  // namespace cairn

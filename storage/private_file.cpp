#include "storage/private_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn {

bool make_private_file(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool is_private = fchmod(file, 0600) == 0;
  close(file);
  return is_private;
}

}  // namespace cairn

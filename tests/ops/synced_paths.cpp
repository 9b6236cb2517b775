#include "tests/ops/synced_paths.hpp"

#include <filesystem>
#include <mutex>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace cairn::program {
namespace {

struct SyncedPaths {
  std::mutex mutex;
  std::set<std::string> paths;
};

// Never destroyed: what a program does at its end may sync as well.
SyncedPaths& noted_syncs() {
  static SyncedPaths& synced = *new SyncedPaths;
  return synced;
}

}  // namespace

std::set<std::string> synced_paths() {
  const std::lock_guard lock(noted_syncs().mutex);
  return noted_syncs().paths;
}

void forget_synced_paths() {
  const std::lock_guard lock(noted_syncs().mutex);
  noted_syncs().paths.clear();
}

}  // namespace cairn::program

extern "C" int fsync(int file) {
  std::error_code none;
  const std::string path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), none).string();
  const int done = static_cast<int>(syscall(SYS_fsync, file));
  if (done != 0) return done;
  cairn::program::SyncedPaths& synced = cairn::program::noted_syncs();
  const std::lock_guard lock(synced.mutex);
  synced.paths.insert(path);
  return done;
}

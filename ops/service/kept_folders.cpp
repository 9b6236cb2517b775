#include "ops/service/kept_folders.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace cairn {
namespace {

namespace fs = std::filesystem;

fs::path nearest_folder(const std::string& path) {
  std::error_code fault;
  fs::path folder = fs::absolute(path, fault);
  while (folder.has_relative_path() && !fs::is_directory(folder, fault)) folder = folder.parent_path();
  return folder;
}

// Refuses `unavailable`: no file can be made there. The rights alone do not say it: root has them on a read-only file
// system, too.
Status make_probe(const fs::path& folder) {
  std::string probe = (folder / ".cairn_probe_XXXXXX").string();
  const int file = mkstemp(probe.data());
  if (file < 0) return Error{Code::unavailable, std::error_code(errno, std::generic_category()).message()};
  close(file);
  unlink(probe.c_str());
  return Done{};
}

}  // namespace

FolderFacts try_folder(const std::string& what, const std::string& path) {
  return {what, path, make_probe(nearest_folder(path))};
}

std::vector<FolderFacts> kept_folders(const DatabaseChoice& choice, const CheckpointOptions& checkpoints) {
  std::vector<FolderFacts> folders;
  if (choice.is_embedded()) folders.push_back(try_folder("the database", choice.directory));
  folders.push_back(try_folder("checkpoints", checkpoints.folder));
  std::error_code fault;
  const fs::path key = signing_key_file(checkpoints).path;
  if (!fs::exists(key, fault))
    folders.push_back(try_folder("a key that signs", fs::absolute(key, fault).parent_path()));
  const char* archive = std::getenv("CAIRN_ARCHIVE");
  if (archive != nullptr && *archive != '\0') folders.push_back(try_folder("archives", archive));
  return folders;
}

std::string sentence_of(const FolderFacts& folder) {
  return "Expected to write " + folder.what + " in " + folder.path + ", but: " + folder.written.error().message + ".";
}

}  // namespace cairn

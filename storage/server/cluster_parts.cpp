#include "storage/server/cluster_parts.hpp"

#include <cstdlib>
#include <unistd.h>

#include "storage/server/server_process.hpp"

namespace cairn {

namespace fs = std::filesystem;

namespace {

bool has_programs(const fs::path& folder) {
  std::error_code hidden;
  return fs::exists(folder / "initdb", hidden);
}

std::optional<fs::path> find_programs(int version, const fs::path& installed) {
  std::optional<fs::path> found;
  int newest = 0;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(installed, none)) {
    const int one = std::atoi(entry.path().filename().c_str());
    const fs::path folder = entry.path() / "bin";
    if (one == 0 || !has_programs(folder)) continue;
    if (one == version) return folder;
    if (one <= newest) continue;
    found = folder;
    newest = one;
  }
  if (found) return found;
  for (const char* folder : {"/usr/bin", "/usr/local/bin", "/usr/local/pgsql/bin", "/opt/homebrew/bin"})
    if (has_programs(folder)) return folder;
  return std::nullopt;
}

}  // namespace

Result<fs::path> programs_for(int version, const fs::path& installed) {
  const char* given = std::getenv("CAIRN_PG_BIN");
  const std::optional<fs::path> found = given == nullptr      ? find_programs(version, installed)
                                        : has_programs(given) ? std::optional<fs::path>(given)
                                                              : std::nullopt;
  if (found) return *found;
  return Error{Code::unavailable,
               "Expected the programs of PostgreSQL (initdb, pg_ctl), but found none; CAIRN_PG_BIN may name "
               "their directory."};
}

Result<fs::path> absolute_path(const std::string& directory) {
  std::error_code fault;
  fs::path path = fs::weakly_canonical(fs::absolute(directory, fault), fault);
  if (directory.empty()) return Error{Code::invalid, "Expected a directory, but got none."};
  if (fault)
    return Error{Code::invalid, "Expected a directory, but got \"" + directory + "\": " + fault.message() + "."};
  return path;
}

int version_of_data(const fs::path& data) { return std::atoi(read_text(data / "PG_VERSION").c_str()); }

int version_of_programs(const fs::path& programs, const fs::path& output) {
  const ProgramRun ran = run_program({geteuid(), getegid()}, {(programs / "postgres").string(), "--version"}, output);
  const std::size_t digits = ran.says.find_first_of("0123456789");
  return digits == std::string::npos ? 0 : std::atoi(ran.says.c_str() + digits);
}

}  // namespace cairn

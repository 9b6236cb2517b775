#include "storage/server/cluster_parts.hpp"

#include <cstdlib>
#include <unistd.h>

#include "storage/server/server_process.hpp"

namespace cairn {

namespace fs = std::filesystem;

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

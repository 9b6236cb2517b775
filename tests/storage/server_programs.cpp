#include "tests/storage/server_programs.hpp"

#include <cstdlib>
#include <fstream>

namespace cairn::test {

namespace fs = std::filesystem;

fs::path copy_programs(const fs::path& folder) {
  const char* given = std::getenv("CAIRN_PG_BIN");
  const fs::path installed = given != nullptr ? given : "/usr/lib/postgresql/15/bin";
  const fs::path programs = folder / "lib/postgresql/15/bin";
  fs::create_directories(programs);
  fs::create_directories(folder / "share/postgresql");
  for (const char* name : {"postgres", "initdb", "pg_ctl"}) fs::copy_file(installed / name, programs / name);
  fs::create_directory_symlink(installed.parent_path() / "lib", folder / "lib/postgresql/15/lib");
  fs::create_directory_symlink("/usr/share/postgresql/15", folder / "share/postgresql/15");
  return programs;
}

void replace_server_program(const fs::path& programs) {
  fs::copy_file(programs / "postgres", programs / "newer");
  fs::rename(programs / "newer", programs / "postgres");
}

void put_programs(const fs::path& folder, const std::string& version) {
  fs::create_directories(folder);
  for (const char* name : {"postgres", "initdb"}) {
    fs::remove(folder / name);
    std::ofstream(folder / name) << "#!/bin/sh\necho 'postgres (PostgreSQL) " << version << "'\n";
    fs::permissions(folder / name, fs::perms(0755));
  }
}

}  // namespace cairn::test

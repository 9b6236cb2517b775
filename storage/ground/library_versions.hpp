// The versions of the libraries that storage uses and no other folder sees. Safe from any thread.
#pragma once

#include <map>
#include <string>

namespace cairn {

// By name: libpq and openssl as they run here, libpqxx as it was compiled.
std::map<std::string, std::string> storage_library_versions();

}  // namespace cairn

#include "tests/paths.hpp"

#include <filesystem>

namespace cairn::testing {

std::string source_dir() { return CAIRN_SOURCE_DIR; }
std::string samples() { return CAIRN_SOURCE_DIR "/../shared/samples"; }
bool has_samples() { return std::filesystem::is_directory(samples()); }
std::string cairn_program() { return CAIRN_PROGRAMS "/cairn"; }
std::string note_program() { return CAIRN_PROGRAMS "/note"; }
std::string crash_worker() { return CAIRN_PROGRAMS "/crash_worker"; }
std::string moved_clock() { return CAIRN_PROGRAMS "/libmoved_clock.so"; }

}  // namespace cairn::testing

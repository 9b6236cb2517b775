// PostgreSQL's programs in a folder of a test's own, where they can be replaced as an upgrade of the package does. Safe
// from any thread.
#pragma once

#include <filesystem>
#include <string>

namespace cairn::test {

// Copies of those that are installed, below the folder, from where they find the rest of the package; the answer is
// where they are.
std::filesystem::path copy_programs(const std::filesystem::path& folder);

// Another file takes the place of the server's program, and is the same.
void replace_server_program(const std::filesystem::path& programs);

// Programs that say their version, and are good for nothing else; in the place of any that are there.
void put_programs(const std::filesystem::path& folder, const std::string& version);

}  // namespace cairn::test

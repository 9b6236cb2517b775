// Parts of an embedded cluster that more than one file knows: names in its directory, and versions of PostgreSQL. Safe
// from any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/result.hpp"

namespace cairn {

inline constexpr std::string_view data_name = "data";
inline constexpr std::string_view password_name = "owner.pass";
inline constexpr std::string_view logs_name = "logs";  // of the processes of `cairn up`

// Refuses `invalid`: the text is empty, or no path.
Result<std::filesystem::path> absolute_path(const std::string& directory);

// The major version that wrote the data; 0: it holds none.
int version_of_data(const std::filesystem::path& data);

// The major version of the programs; 0: they do not say it. `output` is written.
int version_of_programs(const std::filesystem::path& programs, const std::filesystem::path& output);

}  // namespace cairn

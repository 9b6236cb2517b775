// Parts of an embedded cluster that more than one file knows: names in its directory, the recovery of a
// copy, and versions of PostgreSQL. Safe from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/result.hpp"

namespace cairn {

inline constexpr std::string_view data_name = "data";
inline constexpr std::string_view password_name = "owner.pass";
inline constexpr std::string_view logs_name = "logs";  // of the processes of `cairn up`

inline std::filesystem::path data_of(const std::filesystem::path& directory) { return directory / data_name; }

// The first start of a copy: its server is waited for as long as it recovers, and archives no WAL.
struct Recovery {
  std::string wal;                            // a folder with WAL that was archived; "": the copy's own alone
  std::optional<std::int64_t> until_us = {};  // of that WAL, the moment to end at; nothing: its end
};

// Refuses `invalid`: the text is empty, or no path.
Result<std::filesystem::path> absolute_path(const std::string& directory);

// The major version that wrote the data; 0: it holds none.
int version_of_data(const std::filesystem::path& data);

// The folder of PostgreSQL's programs: the one that CAIRN_PG_BIN names; else that of the major version among
// `installed`, and where it has none, or for 0, that of the newest; else one of the usual folders. Refuses
// `unavailable`: there is none.
Result<std::filesystem::path> programs_for(int version, const std::filesystem::path& installed = "/usr/lib/postgresql");

// The major version of the programs; 0: they do not say it. `output` is written.
int version_of_programs(const std::filesystem::path& programs, const std::filesystem::path& output);

}  // namespace cairn

// The settings of an embedded cluster's server: its files cairn.conf and cairn_hba.conf, which are written at each
// start, and the command that starts it. Safe from any thread; the caller holds the directory's lock.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/server/cluster_parts.hpp"
#include "storage/server/server_process.hpp"

namespace cairn {

inline constexpr std::string_view cluster_owner = "postgres";  // its superuser
inline constexpr int cluster_port = 5432;                      // names the socket; nothing listens on TCP

// Written as a new file that takes the old one's place, so that a server that reads it finds one or the other. False:
// it could not be written.
bool write_server_file(const ServerAccount& account, const std::filesystem::path& path, const std::string& text);

// The rules of entry. Until the owner has a password none is asked for: only the server's account and root reach the
// socket.
bool write_entrance(const std::filesystem::path& directory, const ServerAccount& account);

// Both files; `socket` is the folder of the server's socket.
bool write_settings(const std::filesystem::path& directory, const std::filesystem::path& socket,
                    const ServerAccount& account);

// A server that recovers a copy archives nothing: its WAL has the names of that of the original. It answers no one
// before it is where it is to be.
std::vector<std::string> server_command(const std::filesystem::path& programs, const std::filesystem::path& data,
                                        const std::optional<Recovery>& recovery);

}  // namespace cairn

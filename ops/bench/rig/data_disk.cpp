#include "ops/bench/rig/data_disk.hpp"

#include <filesystem>
#include <system_error>

namespace cairn {

Status leaves_room(const std::string& directory, std::int64_t free_bytes, std::int64_t bytes) {
  constexpr std::int64_t megabyte = 1'000'000;
  if (free_bytes - bytes >= free_bytes_kept) return Done{};
  return Error{Code::limit, "Expected " + std::to_string(free_bytes_kept / megabyte) + " MB to stay free at " +
                                directory + ", where the server's data is, but " +
                                std::to_string(free_bytes / megabyte) + " MB are free and the copies of runs take " +
                                std::to_string(bytes / megabyte) + " MB more: ask for fewer, or free some."};
}

Status leaves_room(Administration& database, std::int64_t bytes) {
  const AdminRows rows = database.query("bench_data_directory");
  rows.expect_columns({"directory"});
  if (rows.size() == 0) return Done{};
  std::error_code fault;
  const std::filesystem::space_info space = std::filesystem::space(rows.text(0, 0), fault);
  if (fault) return Done{};
  return leaves_room(rows.text(0, 0), static_cast<std::int64_t>(space.available), bytes);
}

}  // namespace cairn

// The embedded server while `cairn up` runs: it is started again when it has ended and was not stopped, and when other
// programs took the place of its own; and a warning says that its disk fills. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/result.hpp"
#include "ops/service/embedded_database.hpp"

namespace cairn {

class WatchedServer {
 public:
  // `space_pause`: between two checks of the disk, and before the first one, because the command that starts a
  // server checks it as well.
  explicit WatchedServer(std::string directory, std::chrono::milliseconds space_pause = std::chrono::minutes(1));

  // Checks at most once a second, and less and less often while a server that has ended does not start. Its findings
  // are said on stderr. Refuses `not_found` once its data is gone or another's.
  Status check();

  // True once for a server whose programs were replaced some seconds ago, while others are connected: they are to end,
  // and renew() is to be called.
  bool is_to_be_renewed();

  // Starts the server from the programs that are there now. Others that are connected keep it as it is.
  void renew();

 private:
  void check_programs(std::chrono::steady_clock::time_point now);
  void check_space(std::chrono::steady_clock::time_point now);
  void start_again();

  std::string directory_;
  std::optional<std::uint64_t> identifier_;
  std::chrono::steady_clock::time_point next_due_;
  std::chrono::seconds pause_;
  std::optional<std::chrono::steady_clock::time_point> replaced_at_;
  bool is_renewal_tried_ = false;  // since then
  bool is_to_be_renewed_ = false;
  const std::chrono::milliseconds space_pause_;
  SpaceWatch space_;
  std::chrono::steady_clock::time_point next_space_due_;
};

}  // namespace cairn

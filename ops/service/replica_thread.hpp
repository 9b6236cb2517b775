// The way of a server to the replica of CAIRN_READ_DSN: it is opened when the server starts, or, while it is away or
// lags behind a migration, by a thread that tries again every five seconds. Used by the thread that made it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ops/service/database.hpp"

namespace cairn {

class ReplicaThread {
 public:
  // Takes the replica, once: before start() returns, or on the thread.
  using Use = std::function<void(Opened)>;

  // Null where nothing is to be waited for: it is open, or none is named. `identity` is that of the database that takes
  // writes. Refuses at once, as open_replica, what is another database then.
  static Result<std::unique_ptr<ReplicaThread>> start(const Settings& settings, const std::string& identity,
                                                      std::int64_t patience_ms, Use use);
  // Waits for an attempt that is under way.
  ~ReplicaThread();

 private:
  struct Parts;
  explicit ReplicaThread(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn

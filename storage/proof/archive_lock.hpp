// The lock of a database under which runs go into files: one process at a time, so that no run lands in two. It lives
// in a transaction without a snapshot, on a connection of its own: behind a pooler in transaction mode a lock of the
// session would stay with another client's connection. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/result.hpp"

namespace cairn {

class Administration;
class PostgresError;

// The refusal `unsupported` of a login that is no member of the role cairn_archive; nothing: the failure is another
// one.
std::optional<Error> refusal_of_archivist(const PostgresError& failure);

class ArchiveLock {
 public:
  // Waits so long for another process (0: not at all); null if that one still has it then. Refuses `unsupported`: this
  // login may not remove runs. Throws StoreUnavailable, PostgresError.
  static Result<std::unique_ptr<ArchiveLock>> take(const std::string& dsn, std::int64_t patience_ms);
  ~ArchiveLock();  // lets go of it
  ArchiveLock(const ArchiveLock&) = delete;
  ArchiveLock& operator=(const ArchiveLock&) = delete;

  // Refuses `unavailable`: the connection is gone, and the lock with it, so that another process may have it.
  Status check();

 private:
  explicit ArchiveLock(std::unique_ptr<Administration> database);

  std::unique_ptr<Administration> database_;
};

}  // namespace cairn

#include "storage/proof/archive_lock.hpp"

#include <utility>

#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/store.hpp"

namespace cairn {
namespace {

constexpr std::string_view insufficient_privilege = "42501";
constexpr std::string_view no_such_role = "22023";

bool has_waited_for_lock(Administration& database, std::int64_t patience_ms) {
  if (patience_ms <= 0) return false;
  try {
    database.query("lock_archive");
    return true;
  } catch (const PostgresError& failure) {
    if (failure.sqlstate() != lock_not_available) throw;
    return false;
  }
}

// As the role that may remove runs, so that a login without it is refused before anything is written.
bool begin_under_lock(Administration& database, std::int64_t patience_ms) {
  database.begin();
  database.execute("set transaction isolation level read committed");  // no snapshot is to last
  database.query("become_archivist");
  database.query("archive_limits", {std::to_string(patience_ms)});
  if (!database.query("try_lock_archive").boolean(0, 0) && !has_waited_for_lock(database, patience_ms)) return false;
  database.let_go_of_snapshot();
  return true;
}

}  // namespace

std::optional<Error> refusal_of_archivist(const PostgresError& failure) {
  if (failure.sqlstate() != insufficient_privilege && failure.sqlstate() != no_such_role) return {};
  return Error{Code::unsupported,
               std::string("Expected this login to be a member of the role cairn_archive, but: ") + failure.what()};
}

ArchiveLock::ArchiveLock(std::unique_ptr<Administration> database) : database_(std::move(database)) {}
ArchiveLock::~ArchiveLock() = default;

Result<std::unique_ptr<ArchiveLock>> ArchiveLock::take(const std::string& dsn, std::int64_t patience_ms) {
  try {
    // A worker ends what stands in a transaction under a name of its own kind; this is none.
    auto database = std::make_unique<Administration>(dsn, "archive of cairn", patience_ms + statement_limit_ms);
    if (!begin_under_lock(*database, patience_ms)) return std::unique_ptr<ArchiveLock>();
    return std::unique_ptr<ArchiveLock>(new ArchiveLock(std::move(database)));
  } catch (const PostgresError& failure) {
    if (std::optional<Error> refusal = refusal_of_archivist(failure)) return *std::move(refusal);
    if (failure.is_transient())
      throw StoreUnavailable(std::string("Expected the database to give the archive's lock, but: ") + failure.what());
    throw;
  }
}

// A statement of such a transaction leaves no snapshot, and fails if the server or a pooler has ended it.
Status ArchiveLock::check() {
  try {
    database_->let_go_of_snapshot();
    return Done{};
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable,
                 std::string("Expected to keep the archive's lock, but its connection is gone, and another process may "
                             "archive; nothing more was removed: ") +
                     failure.what()};
  }
}

}  // namespace cairn

// The database schema `cairn`: its numbered migrations, and which of them a database has. The way forward is
// storage/migration/migrator.hpp. Safe from any thread; an Administration belongs to one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/result.hpp"

namespace cairn {

class Administration;

struct Migration {
  int number = 0;
  std::string_view name;  // without number and ending
  std::string_view text;
};

// In order: 1, 2, 3 ...
std::vector<Migration> migrations();
int newest_schema();

// Makes the login of an embedded cluster that workers and commands use; may be run again.
std::string_view embedded_login();

// Makes triggers that record each claim under a limit of a queue, for the benchmark and for tests; may be run again.
// REQUIRES: the login owns the schema.
std::string_view limit_notes();

// The oldest PostgreSQL that will do, as `server_version_num` has it.
inline constexpr std::int64_t server_version_min = 150'000;
// Refuses `unavailable` an older one.
Status check_server_version(std::int64_t version);

struct SchemaFound {
  int version = 0;  // 0: none
  std::int32_t shards = 1;
  bool is_empty = false;  // version 0, but the schema exists, with nothing in it
};

// Refuses `unsupported` for a schema newer than this program, `conflict` for another program's schema of that name,
// `corrupt` for one without a version. Throws PostgresError.
Result<SchemaFound> find_schema(Administration& database);

// A worker session with a heartbeat of late. `machine`: as SessionRow has it.
struct SessionAtWork {
  std::int64_t session = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string machine;
};
// In a schema of any version. Throws PostgresError.
std::vector<SessionAtWork> sessions_at_work(Administration& database, std::int64_t silence_ms);

// The refusal, `unavailable`, of a server that is a replica where something is to be written.
Error takes_no_writes(const std::string& dsn);

}  // namespace cairn

#include "storage/migration/migrator.hpp"

#include <algorithm>
#include <chrono>
#include <spdlog/spdlog.h>
#include <thread>
#include <utility>

#include "engine/embedded.hpp"
#include "storage/clock.hpp"
#include "storage/ground/jitter.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {
namespace {

constexpr std::string_view beside_writers = "create index concurrently";
constexpr std::int64_t first_pause_ms = 200;
constexpr std::int64_t last_pause_ms = 5'000;

std::string_view file_of_schema(std::string_view name) {
  for (const EmbeddedFile& file : schema_files()) {
    if (file.name == name) return file.text;
  }
  CHECK(false);
}

// In the order of their names: views that others build on begin with a number.
void apply_views(Administration& database) {
  for (const EmbeddedFile& file : schema_files()) {
    if (file.name.starts_with("views/")) database.execute(std::string(file.text));
  }
}

std::string without(std::string text, std::string_view what) {
  const std::size_t at = text.find(what);
  CHECK(at != std::string::npos);
  return text.erase(at, what.size());
}

// As it runs where there was no schema. The first migration creates it, unless an operator has created it for a login
// that has no right to; an index on a table without rows is built within the transaction.
std::string text_at_creation(const Migration& migration, bool has_schema) {
  std::string text(migration.text);
  if (has_schema && migration.number == 1) text = without(std::move(text), "create schema cairn;\n");
  if (is_built_beside_writers(migration)) text = without(std::move(text), " concurrently if not exists");
  return text;
}

// As it moves a schema that is there: the commands of a block, one at a time. A Citus cluster sends the change of a
// distributed table on to its shards in the words of the text that it was given, where only one statement may stand.
std::string as_block(const Migration& migration) {
  CHECK(migration.text.find("$migration$") == std::string_view::npos);
  return "do $migration$ begin\n" + std::string(migration.text) + "\nend $migration$";
}

// The name after "if not exists".
std::string index_of(const Migration& migration) {
  constexpr std::string_view before = " concurrently if not exists ";
  const std::size_t at = migration.text.find(before);
  CHECK(at != std::string_view::npos);
  const std::string_view rest = migration.text.substr(at + before.size());
  return std::string(rest.substr(0, rest.find(' ')));
}

// Events hold any text: in another encoding the server would refuse some of it, and only when it comes.
Status check_encoding(Administration& database) {
  const std::string encoding = database.query("database_encoding").text(0, 0);
  if (encoding == "UTF8") return Done{};
  return Error{Code::invalid, "Expected a database in the encoding UTF8, but it is in " + encoding + "."};
}

Result<SchemaFound> find_fitting(Administration& database, std::int32_t shards) {
  if (const Status fits = check_server_version(database.query("server_kind").number(0, 1)); !fits) return fits.error();
  if (const Status fits = check_encoding(database); !fits) return fits.error();
  Result<SchemaFound> found = find_schema(database);
  if (!found || found->version == 0 || shards <= 0 || shards == found->shards) return found;
  return Error{Code::conflict, "Expected a schema with " + std::to_string(shards) + " shards, but it has " +
                                   std::to_string(found->shards) + "; the number is chosen once."};
}

std::vector<Migration> migrations_after(int version) {
  std::vector<Migration> found = migrations();
  std::erase_if(found, [&](const Migration& migration) { return migration.number <= version; });
  return found;
}

// Pauses between the attempts of one migration: doubled each time, with jitter, so that those who waited behind an
// attempt have far longer than it took.
class Attempts {
 public:
  explicit Attempts(std::int64_t all_ms) : until_us_(steady_us() + all_ms * 1'000) {}

  bool may_go_on() const { return steady_us() < until_us_; }
  void pause() {
    const std::int64_t left_ms = std::max<std::int64_t>((until_us_ - steady_us()) / 1'000, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(jittered(next_ms_), left_ms + 1)));
    next_ms_ = std::min(next_ms_ * 2, last_pause_ms);
  }

 private:
  const std::int64_t until_us_;
  std::int64_t next_ms_ = first_pause_ms;
};

class Migrator {
 public:
  Migrator(const std::string& dsn, std::int32_t shards, const LockPatience& patience)
      : dsn_(dsn), shards_(shards), patience_(patience), database_(dsn, "cairn migrate", no_limit) {}

  Result<MigrateReport> run() {
    if (database_.query("is_replica").boolean(0, 0)) return takes_no_writes(dsn_);
    MigrateReport report;
    for (bool is_first = true;; is_first = false) {
      const Result<SchemaFound> before = step();
      if (!before) return before.error();
      if (is_first) report.from = before->version;
      report.to = newest_schema();
      report.shards = before->version > 0 ? before->shards : std::max(shards_, 1);
      if (before->version == 0 || before->version >= newest_schema() - 1) return report;
    }
  }

 private:
  // For this transaction, because those who come after it wait behind it; also on the nodes of a cluster, which ask for
  // the locks of the shards.
  void limit_lock_wait() {
    if (database_.query("has_citus").boolean(0, 0))
      database_.execute("set local citus.propagate_set_commands to 'local'");
    database_.execute("set local lock_timeout to '" + std::to_string(patience_.each_ms) + "ms'");
  }

  // Creates the schema, runs the next migration, or finds none; returns the state before.
  Result<SchemaFound> step() {
    Attempts attempts(patience_.all_ms);
    for (bool has_said = false;; has_said = true) {
      int number = 0;
      try {
        return attempted(number);
      } catch (const PostgresError& failure) {
        const bool is_lock = failure.sqlstate() == lock_not_available;
        const bool is_over = number == 0 || failure.sqlstate().empty() || !(is_lock || failure.is_transient());
        roll_back();
        if (is_over) throw;
        if (!attempts.may_go_on()) return without_lock(number);
        if (!has_said)
          spdlog::warn("Migration {} waits for its locks and lets the others pass; it is tried again.", number);
      }
      attempts.pause();
    }
  }

  // `number` becomes that of the migration that may be attempted again; 0: none may.
  Result<SchemaFound> attempted(int& number) {
    begin();
    database_.query("lock_migrations");
    const Result<SchemaFound> found = find_fitting(database_, shards_);
    if (!found) {
      roll_back();
      return found.error();
    }
    if (found->version == 0) {
      create(found->is_empty);
    } else if (found->version < newest_schema()) {
      const Migration next = migrations_after(found->version).front();
      number = next.number;
      if (is_built_beside_writers(next)) return built(next, *found);
      limit_lock_wait();
      database_.execute(as_block(next));
      record(next, found->shards);
    } else {
      grant();
    }
    commit();
    return found;
  }

  void create(bool has_schema) {
    for (const Migration& migration : migrations()) {
      database_.execute(text_at_creation(migration, has_schema));
      database_.query("record_migration", {std::to_string(migration.number), std::string(migration.name),
                                           std::to_string(std::max(shards_, 1))});
    }
    apply_views(database_);
    grant();
  }

  void record(const Migration& done, std::int32_t shards) {
    database_.query("record_migration", {std::to_string(done.number), std::string(done.name), std::to_string(shards)});
    if (done.number < newest_schema()) return;
    apply_views(database_);
    grant();
  }

  void grant() { database_.execute(std::string(file_of_schema("roles.sql"))); }

  // The lock of migrations is let go meanwhile: a process that waited for it would hold a snapshot, for which the
  // building waits. So a second lock is asked for and never waited for, in a transaction that has no snapshot.
  Result<SchemaFound> built(const Migration& migration, const SchemaFound& found) {
    roll_back();
    Administration alone(dsn_, "cairn migrate", no_limit);
    alone.begin();
    if (!alone.query("try_lock_build").boolean(0, 0)) throw PostgresError(std::string(lock_not_available), "building");
    alone.let_go_of_snapshot();
    const std::string index = index_of(migration);
    if (database_.query("index_is_broken", {index}).boolean(0, 0))
      database_.execute("drop index concurrently cairn." + index);
    database_.execute(std::string(migration.text));
    begin();
    database_.query("lock_migrations");
    const Result<SchemaFound> now = find_schema(database_);
    if (!now) {
      roll_back();
      return now.error();
    }
    limit_lock_wait();
    if (now->version < migration.number) record(migration, found.shards);
    commit();
    return found;
  }

  Error without_lock(int number) {
    std::string sentence = "Expected to have the locks for migration " + std::to_string(number) + " within " +
                           std::to_string(patience_.all_ms / 1'000) + " s, but ";
    const AdminRows rows = database_.query("lock_holders");
    rows.expect_columns({"pid", "application_name", ""});
    if (rows.size() == 0)
      sentence += "others had them";
    else
      sentence += "process " + rows.text(0, 0) + " (" + rows.text(0, 1) + ") has been in a transaction for " +
                  rows.text(0, 2) + " s";
    return {Code::unavailable,
            sentence + "; the schema is at version " + std::to_string(number - 1) + ", and the same again goes on."};
  }

  void begin() {
    database_.begin();
    is_open_ = true;
  }
  void commit() {
    database_.commit();
    is_open_ = false;
  }
  void roll_back() {
    if (std::exchange(is_open_, false)) database_.roll_back();
  }

  const std::string& dsn_;
  const std::int32_t shards_;
  const LockPatience patience_;
  Administration database_;
  bool is_open_ = false;
};

}  // namespace

bool is_built_beside_writers(const Migration& migration) {
  return migration.text.find(beside_writers) != std::string_view::npos;
}

Result<MigrateReport> migrate(const std::string& dsn, std::int32_t shards, const LockPatience& patience) {
  try {
    return Migrator(dsn, shards, patience).run();
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to migrate the database, but: ") + failure.what()};
  }
}

MigrationCheck nothing_migrated() { return {0, newest_schema(), 1, migrations()}; }

Result<MigrationCheck> check_migrations(const std::string& dsn) {
  try {
    Administration database(dsn, "cairn migrate");
    const Result<SchemaFound> found = find_fitting(database, 0);
    if (!found) return found.error();
    return MigrationCheck{found->version, newest_schema(), found->shards, migrations_after(found->version)};
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to look at the schema, but: ") + failure.what()};
  }
}

}  // namespace cairn

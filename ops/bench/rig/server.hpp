// The database server under measurement: fresh databases, settings, and the resources of its processes.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "storage/postgres/administration.hpp"

namespace cairn {

// The connection string for another database of the same server.
std::string with_database(const std::string& dsn, const std::string& database);

// Seconds of processor time of a process, and of its ended children; none if there is no such process.
std::optional<double> process_cpu_seconds(pid_t pid);

struct ServerMeter {
  std::int64_t wal_bytes = 0;
  std::int64_t commits = 0;           // of one database, as far as the server has counted
  std::optional<double> cpu_seconds;  // of all its processes, if they are on this machine
};

// Connected to the database `postgres` of the server.
class BenchServer {
 public:
  explicit BenchServer(const std::string& dsn);  // throws PostgresError

  // {"postgres", "fsync", "synchronous_commit", "cores", "machine", "settings"}
  Json settings();
  ServerMeter read(const std::string& database);
  void checkpoint();                           // if this role may
  Status leaves_room_for(std::int64_t bytes);  // as leaves_room()

 private:
  Administration server_;
};

// A database of its own, dropped at the end, and a folder for its checkpoints, removed with it.
class FreshDatabase {
 public:
  explicit FreshDatabase(const std::string& dsn);  // throws PostgresError
  ~FreshDatabase();
  FreshDatabase(const FreshDatabase&) = delete;
  FreshDatabase& operator=(const FreshDatabase&) = delete;
  const std::string& name() const { return name_; }
  std::string dsn() const { return with_database(server_dsn_, name_); }
  std::string checkpoints() const;  // in a folder of its own, where the key that signs them is, too
  // The environment of a child process that works on it.
  std::map<std::string, std::string> settings() const { return {{"CAIRN_CHECKPOINTS", checkpoints()}}; }

  struct Runs {
    std::int64_t all = 0;
    std::int64_t done = 0;
    std::int64_t events = 0;
  };
  Runs runs();

  // {"dead_jobs", "dead_runs", "hot_updates"}: rows, and the share of updates that moved no index entry.
  Json tables();
  Administration& administration();

 private:
  std::string folder() const;

  std::string server_dsn_;
  std::string name_;
  std::unique_ptr<Administration> inside_;
};

}  // namespace cairn

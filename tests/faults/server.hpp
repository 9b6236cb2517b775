// A PostgreSQL server of a fault test's own: its disks, its death and its standby are the test's. Runs as an
// unprivileged user on a unix socket; stopped and removed at the end of its life. Not thread-safe.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cairn::program {

class OwnServer {
 public:
  // Its data lie in `place` (default: the test's directory), its log of changes in `wal` (default: with the data).
  explicit OwnServer(std::string name, std::filesystem::path place = {}, std::filesystem::path wal = {});
  // A standby of `primary`, which replicates from then on.
  OwnServer(std::string name, const OwnServer& primary);
  ~OwnServer();
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;

  void start();
  void kill_at_once();  // SIGKILL to all of its processes
  void signal_all(int number);
  void promote();
  void set(const std::string& setting, const std::string& value);  // as ALTER SYSTEM, then a reload

  pid_t pid() const;  // 0: it does not run
  std::string dsn() const;
  // Names both servers, in this order; a client connects to the one that takes writes.
  std::string dsn_with(const OwnServer& other) const;

 private:
  void run(const std::string& program, const std::vector<std::string>& arguments) const;

  std::string name_;
  std::filesystem::path data_;
  std::filesystem::path socket_;
};

}  // namespace cairn::program

// A PostgreSQL server of a fault test's own: its disks, its death and its standby are the test's. Runs as an
// unprivileged user on a unix socket, or on a machine of its own; stopped and removed at the end of its life. Not
// thread-safe.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cairn::program {

class Machine;

struct ServerOptions {
  std::filesystem::path place = {};  // of its data; empty: the test's directory
  std::filesystem::path wal = {};    // of its log of changes; empty: with the data
  bool has_clock = false;            // one of its own, see set_clock(); needs libfaketime
  const Machine* machine = nullptr;  // where it runs, and listens to the network; outlives it. None: this one
};

class OwnServer {
 public:
  explicit OwnServer(std::string name, ServerOptions options = {});
  // A standby of `primary`, which replicates from then on.
  OwnServer(std::string name, const OwnServer& primary);
  ~OwnServer();
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;

  void start();
  void kill_at_once();     // SIGKILL to all of its processes
  void kill_postmaster();  // SIGKILL to that process alone; returns when the others have noticed and are gone
  // SIGKILL to one backend of so many, and to one at least; returns, when the server has recovered, to how many.
  int kill_backends(int one_of);
  void kill_process(const std::string& kind);  // likewise, one such as `walwriter`, as pg_stat_activity names it
  void restart_fast();                         // as `pg_ctl restart -m fast`: transactions under way are ended
  void signal_all(int number);
  int signal_backends(int number, int one_of);  // to one backend of a client of so many; returns to how many
  void promote();
  void back_up();      // a physical copy, taken while it runs
  void restore();      // kills it and starts it with that copy in place of its data
  void take_data();    // moves its folder away under it
  void return_data();  // and back; starts it if it is gone
  // Sets its clock so many seconds from the real one. REQUIRES: has_clock.
  void set_clock(int seconds);
  static bool can_set_clock();
  void set(const std::string& setting, const std::string& value);  // as ALTER SYSTEM, then a reload

  pid_t pid() const;  // 0: it does not run
  std::string dsn() const;
  std::string local_dsn() const;  // by its socket, also while its machine is cut off
  // Names both servers, in this order; a client connects to the one that takes writes.
  std::string dsn_with(const OwnServer& other) const;

 private:
  void run(const std::string& program, const std::vector<std::string>& arguments) const;
  void await_recovery() const;
  std::string host() const;

  std::string name_;
  std::filesystem::path data_;
  std::filesystem::path socket_;
  std::filesystem::path clock_;  // the file that says what its clock shows; empty: none
  const Machine* machine_ = nullptr;
};

}  // namespace cairn::program

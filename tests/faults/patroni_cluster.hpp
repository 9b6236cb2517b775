// Two PostgreSQL servers under Patroni, which keeps its word in an etcd: from Debian's packages patroni and
// etcd-server, on free loopback ports, as an unprivileged user. One leads, the other follows synchronously. All of it
// is ended and removed at the end of its life. Not thread-safe.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cairn::program {

class PatroniCluster {
 public:
  static bool is_installed();

  // Returns when one leads and the other follows. Throws std::runtime_error.
  PatroniCluster();
  ~PatroniCluster();
  PatroniCluster(const PatroniCluster&) = delete;
  PatroniCluster& operator=(const PatroniCluster&) = delete;

  // Names both servers; a client connects to the one that takes writes.
  std::string dsn() const;

  // SIGKILL to the leader's Patroni and to its postmaster.
  void kill_leader();
  // Returns when the other server takes writes.
  void wait_for_successor();
  // Starts what kill_leader() killed, and returns when it follows the other synchronously: it may lead again.
  void bring_back();

 private:
  struct Node {
    std::string name;
    int rest_port = 0;
    int port = 0;
    pid_t patroni = -1;
  };
  pid_t spawn(const std::vector<std::string>& words, const std::string& log) const;
  void write_settings(const Node& node) const;
  void start(Node& node) const;
  void end(Node& node) const;
  pid_t postmaster(const Node& node) const;
  int leading_port() const;  // 0: none takes writes
  void wait_for_follower() const;

  std::filesystem::path directory_;
  int etcd_port_ = 0;
  pid_t etcd_ = -1;
  std::array<Node, 2> nodes_;
  Node* killed_ = nullptr;
};

}  // namespace cairn::program

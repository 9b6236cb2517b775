#include "tests/faults/patroni_cluster.hpp"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <pwd.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ops/free_port.hpp"
#include "tests/ops/program.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace fs = std::filesystem;
namespace {

constexpr const char* patroni_program = "/usr/bin/patroni";
constexpr const char* patronictl_program = "/usr/bin/patronictl";
constexpr const char* etcd_program = "/usr/bin/etcd";
constexpr std::chrono::seconds failover_patience{120};

// The servers run as it, because they refuse to run as root; null where they may run as who this is.
const passwd* other_user() {
  if (geteuid() != 0) return nullptr;
  const passwd* const user = getpwnam("postgres");
  if (user == nullptr) throw std::runtime_error("there is no user postgres");
  return user;
}

std::string local(int port) { return "127.0.0.1:" + std::to_string(port); }
std::string local_url(int port) { return "http://" + local(port); }

void end_process(pid_t& pid) {
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  pid = -1;
}

}  // namespace

bool PatroniCluster::is_installed() {
  return fs::exists(patroni_program) && fs::exists(patronictl_program) && fs::exists(etcd_program);
}

PatroniCluster::PatroniCluster() : directory_(directory() / "patroni"), etcd_port_(std::stoi(free_port())) {
  fs::create_directories(directory_);
  if (const passwd* user = other_user())
    if (chown(directory_.c_str(), user->pw_uid, user->pw_gid) != 0) throw std::runtime_error("cannot give it away");
  const std::string peers = local_url(std::stoi(free_port()));
  etcd_ = spawn({etcd_program, "--name", "one", "--data-dir", directory_ / "etcd", "--listen-client-urls",
                 local_url(etcd_port_), "--advertise-client-urls", local_url(etcd_port_), "--listen-peer-urls", peers,
                 "--initial-advertise-peer-urls", peers, "--initial-cluster", "one=" + peers},
                "etcd.log");
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    Node& node = nodes_[at];
    node.name = at == 0 ? "a" : "b";
    node.rest_port = std::stoi(free_port());
    node.port = std::stoi(free_port());
    write_settings(node);
    start(node);
    if (at == 0 && !wait_until([this] { return leading_port() != 0; }, failover_patience))
      throw std::runtime_error("no leader:\n" + read_file(directory_ / "a.log"));
  }
  wait_for_follower();
}

PatroniCluster::~PatroniCluster() {
  for (Node& node : nodes_) end(node);
  end_process(etcd_);
  std::error_code none;
  fs::remove_all(directory_, none);
}

pid_t PatroniCluster::spawn(const std::vector<std::string>& words, const std::string& log) const {
  const passwd* const user = other_user();
  const std::string file = directory_ / log;
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  const int out = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  if (user != nullptr && (setgroups(0, nullptr) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
    _exit(126);
  if (chdir(directory_.c_str()) != 0) _exit(126);
  execv(arguments.front(), arguments.data());
  _exit(127);
}

// A leader that is gone is replaced after `ttl` seconds.
void PatroniCluster::write_settings(const Node& node) const {
  const Json parameters = {{"max_connections", 100},
                           {"shared_buffers", "64MB"},
                           {"max_wal_size", "256MB"},
                           {"wal_keep_size", "256MB"},
                           {"wal_log_hints", "on"}};
  const auto login = [](const char* name) { return Json{{"username", name}, {"password", "x"}}; };
  const Json settings = {
      {"scope", "cairn"},
      {"name", node.name},
      {"restapi", {{"listen", local(node.rest_port)}, {"connect_address", local(node.rest_port)}}},
      {"etcd3", {{"host", local(etcd_port_)}}},
      {"bootstrap",
       {{"dcs",
         {{"ttl", 5},
          {"loop_wait", 1},
          {"retry_timeout", 3},
          {"maximum_lag_on_failover", 1'048'576},
          {"synchronous_mode", true},
          {"postgresql", {{"use_pg_rewind", true}, {"use_slots", true}, {"parameters", parameters}}}}},
        {"initdb", {{{"encoding", "UTF8"}}, {{"locale", "C.UTF-8"}}}},
        {"pg_hba",
         {"local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"}}}},
      {"postgresql",
       {{"listen", local(node.port)},
        {"connect_address", local(node.port)},
        {"data_dir", directory_ / node.name},
        {"bin_dir", "/usr/lib/postgresql/15/bin"},
        {"pgpass", directory_ / (node.name + ".pass")},
        {"authentication",
         {{"superuser", login("postgres")}, {"replication", login("follower")}, {"rewind", login("rewinder")}}},
        {"parameters", {{"unix_socket_directories", directory_}}}}}};
  std::ofstream(directory_ / (node.name + ".yml")) << settings.dump(1);  // which is YAML as well
}

void PatroniCluster::start(Node& node) const {
  node.patroni = spawn({patroni_program, directory_ / (node.name + ".yml")}, node.name + ".log");
}

pid_t PatroniCluster::postmaster(const Node& node) const {
  std::ifstream file(directory_ / node.name / "postmaster.pid");
  pid_t pid = 0;
  return file >> pid && pid > 1 ? pid : 0;
}

void PatroniCluster::end(Node& node) const {
  const pid_t server = postmaster(node);
  end_process(node.patroni);
  if (server != 0) kill(server, SIGKILL);
}

std::string PatroniCluster::dsn() const {
  return "host=127.0.0.1,127.0.0.1 port=" + std::to_string(nodes_[0].port) + "," + std::to_string(nodes_[1].port) +
         " user=postgres dbname=postgres target_session_attrs=read-write connect_timeout=2";
}

int PatroniCluster::leading_port() const {
  try {
    return static_cast<int>(test::ask_number(dsn(), "select inet_server_port()::bigint"));
  } catch (const PostgresError&) {
    return 0;
  }
}

void PatroniCluster::kill_leader() {
  const int port = leading_port();
  for (Node& node : nodes_)
    if (node.port == port) killed_ = &node;
  if (port == 0 || killed_ == nullptr) throw std::runtime_error("no server leads");
  end(*killed_);
}

void PatroniCluster::wait_for_successor() {
  const auto has_followed = [this] {
    const int port = leading_port();
    return port != 0 && port != killed_->port;
  };
  if (!wait_until(has_followed, failover_patience))
    throw std::runtime_error("nothing takes over:\n" + read_file(directory_ / "a.log") +
                             read_file(directory_ / "b.log"));
}

void PatroniCluster::bring_back() {
  start(*killed_);
  killed_ = nullptr;
  wait_for_follower();
}

// By what is written in etcd: only whom it names may take over.
void PatroniCluster::wait_for_follower() const {
  const auto follows = [this] {
    const Ran ran = run_program(patronictl_program, {"-c", directory_ / "a.yml", "list"});
    return ran.out.find("Sync Standby") != std::string::npos;
  };
  if (!wait_until(follows, failover_patience))
    throw std::runtime_error("nothing follows:\n" + read_file(directory_ / "a.log") + read_file(directory_ / "b.log"));
}

}  // namespace cairn::program

#include "tests/faults/server.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <pwd.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tests/faults/machine.hpp"
#include "tests/ops/program.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace fs = std::filesystem;
namespace {

constexpr const char* programs = "/usr/lib/postgresql/15/bin/";
constexpr const char* time_library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

// A directory of the server's user.
fs::path own_directory(const fs::path& path) {
  fs::create_directories(path);
  if (geteuid() == 0) {
    const passwd* const user = getpwnam("postgres");
    if (user == nullptr || chown(path.c_str(), user->pw_uid, user->pw_gid) != 0)
      throw std::runtime_error("cannot give " + path.string() + " to the user postgres");
  }
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  const std::string number = std::to_string(parent);
  std::ifstream file("/proc/" + number + "/task/" + number + "/children");
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

}  // namespace

OwnServer::OwnServer(std::string name, ServerOptions options)
    : name_(std::move(name)), socket_(own_directory(directory() / (name_ + "_socket"))), machine_(options.machine) {
  const fs::path& wal = options.wal;
  data_ = own_directory((options.place.empty() ? directory() : options.place) / (name_ + "_data"));
  std::vector<std::string> arguments = {"-D",    data_.string(), "-U",   "postgres",         "-A",
                                        "trust", "-E",           "UTF8", "--locale=C.UTF-8", "--no-instructions"};
  if (!wal.empty()) arguments.insert(arguments.end(), {"--waldir", own_directory(wal / (name_ + "_wal")).string()});
  run("initdb", arguments);
  std::ofstream(data_ / "postgresql.conf", std::ios::app)
      << "listen_addresses = ''\nunix_socket_directories = '" << socket_.string()
      << "'\nshared_buffers = 64MB\nmax_wal_size = 64MB\nmin_wal_size = 32MB\nmax_connections = 60\n";
  if (machine_ != nullptr) {
    std::ofstream(data_ / "postgresql.conf", std::ios::app) << "listen_addresses = '" << machine_->address() << "'\n";
    std::ofstream(data_ / "pg_hba.conf", std::ios::app)
        << "host all all samenet trust\nhost replication all samenet trust\n";
  }
  if (options.has_clock) {
    clock_ = directory() / (name_ + "_clock");
    set_clock(0);
  }
  start();
}

OwnServer::OwnServer(std::string name, const OwnServer& primary)
    : name_(std::move(name)),
      data_(own_directory(directory() / (name_ + "_data"))),
      socket_(own_directory(directory() / (name_ + "_socket"))) {
  run("pg_basebackup", {"-D", data_.string(), "-R", "-X", "stream", "-c", "fast", "-d", primary.dsn()});
  std::ofstream(data_ / "postgresql.auto.conf", std::ios::app)
      << "listen_addresses = ''\nunix_socket_directories = '" << socket_.string() << "'\n";
  start();
}

OwnServer::~OwnServer() { kill_at_once(); }

void OwnServer::run(const std::string& program, const std::vector<std::string>& arguments) const {
  std::vector<std::string> words = {"/usr/bin/env"};
  if (!clock_.empty())
    words.insert(words.end(), {std::string("LD_PRELOAD=") + time_library, "FAKETIME_TIMESTAMP_FILE=" + clock_.string(),
                               "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"});
  if (geteuid() == 0) words.insert(words.begin(), {"/usr/sbin/runuser", "-u", "postgres", "--"});
  if (machine_ != nullptr) {
    const Arguments inside = machine_->inside();
    words.insert(words.begin(), inside.begin(), inside.end());
  }
  words.push_back(programs + program);
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Ran ran = run_program(words.front(), {words.begin() + 1, words.end()});
  EXPECT_EQ(ran.exit, 0) << program << "\n" << ran.out << ran.err;
}

void OwnServer::start() {
  run("pg_ctl", {"-D", data_.string(), "-l", (data_ / "log").string(), "-w", "-t", "60", "start"});
}
void OwnServer::promote() { run("pg_ctl", {"-D", data_.string(), "-w", "promote"}); }

pid_t OwnServer::pid() const {
  std::ifstream file(data_ / "postmaster.pid");
  pid_t pid = 0;
  return file >> pid && pid > 1 && kill(pid, 0) == 0 ? pid : 0;
}

void OwnServer::signal_all(int number) {
  const pid_t server = pid();
  if (server == 0) return;
  const std::vector<pid_t> children = children_of(server);
  kill(server, number);
  for (const pid_t child : children) kill(child, number);
}

void OwnServer::kill_at_once() {
  const pid_t server = pid();
  signal_all(SIGKILL);
  wait_until([&] { return server == 0 || kill(server, 0) != 0; });
  std::error_code none;
  fs::remove(data_ / "postmaster.pid", none);
}

// Its processes end when they notice that their parent is gone. One that does not is in the way of the next server.
void OwnServer::kill_postmaster() {
  const pid_t server = pid();
  const std::vector<pid_t> children = children_of(server);
  kill(server, SIGKILL);
  const auto are_gone = [&] {
    return std::all_of(children.begin(), children.end(), [](pid_t child) { return kill(child, 0) != 0; });
  };
  EXPECT_TRUE(wait_until(are_gone)) << "processes of the server outlive it";
}

int OwnServer::signal_backends(int number, int one_of) {
  const PgResult backends = test::ask(
      dsn(), "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()");
  for (int row = 0; row < backends.rows(); row += one_of) kill(backends.int4(row, 0), number);
  return (backends.rows() + one_of - 1) / one_of;
}

int OwnServer::kill_backends(int one_of) {
  const int killed = signal_backends(SIGKILL, one_of);
  await_recovery();
  return killed;
}

void OwnServer::kill_process(const std::string& kind) {
  const PgResult process = test::ask(dsn(), "select pid from pg_stat_activity where backend_type = '" + kind + "'");
  ASSERT_EQ(process.rows(), 1) << kind;
  kill(process.int4(0, 0), SIGKILL);
  await_recovery();
}

void OwnServer::restart_fast() {
  run("pg_ctl", {"-D", data_.string(), "-l", (data_ / "log").string(), "-w", "-t", "60", "-m", "fast", "restart"});
}

void OwnServer::await_recovery() const {
  const auto is_up = [this] {
    try {
      return test::ask_number(dsn(), "select 1") == 1;
    } catch (const PostgresError&) {
      return false;
    }
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until the postmaster has noticed
  EXPECT_TRUE(wait_until(is_up)) << "no recovery";
}

void OwnServer::back_up() {
  const fs::path copy = own_directory(data_.string() + ".copy");
  run("pg_basebackup", {"-D", copy.string(), "-X", "stream", "-c", "fast", "-d", dsn()});
}

void OwnServer::restore() {
  kill_at_once();
  fs::remove_all(data_);
  fs::rename(data_.string() + ".copy", data_);
  start();
}

void OwnServer::take_data() { fs::rename(data_, data_.string() + ".away"); }
void OwnServer::return_data() {
  fs::rename(data_.string() + ".away", data_);
  if (pid() == 0) start();
}

// In one move, so that no half of it is read.
void OwnServer::set_clock(int seconds) {
  const std::string text = (seconds < 0 ? "" : "+") + std::to_string(seconds) + "\n";
  fs::rename(write_file(name_ + "_clock.next", text), clock_);
}
bool OwnServer::can_set_clock() { return fs::exists(time_library); }

void OwnServer::set(const std::string& setting, const std::string& value) {
  test::ask(dsn(), "alter system set " + setting + " = '" + value + "'");
  test::ask(dsn(), "select pg_reload_conf()");
}

std::string OwnServer::host() const { return machine_ == nullptr ? socket_.string() : machine_->address(); }

std::string OwnServer::dsn() const { return "host='" + host() + "' port=5432 user=postgres dbname=postgres"; }
std::string OwnServer::local_dsn() const {
  return "host='" + socket_.string() + "' port=5432 user=postgres dbname=postgres";
}

std::string OwnServer::dsn_with(const OwnServer& other) const {
  return "host='" + host() + "," + other.host() +
         "' port=5432,5432 user=postgres dbname=postgres target_session_attrs=read-write";
}

}  // namespace cairn::program

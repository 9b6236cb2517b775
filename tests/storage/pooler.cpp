#include "tests/storage/pooler.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/storage/test_database.hpp"
#include "tests/waiting.hpp"

namespace cairn::test {
namespace {

constexpr const char* program = "/usr/sbin/pgbouncer";

std::string socket_folder(const std::string& dsn) {
  const std::size_t begin = dsn.find("host='") + 6;
  return dsn.substr(begin, dsn.find('\'', begin) - begin);
}

// The last setting in a DSN of a test's database.
std::string database_of(const std::string& dsn) {
  const std::size_t begin = dsn.rfind("dbname=") + 7;
  return dsn.substr(begin, dsn.find(' ', begin) - begin);
}

// It may not run as root, and only the server's own user may enter the server's socket.
void become_owner(const struct stat& of) {
  if (geteuid() != 0) return;
  if (setgid(of.st_gid) != 0 || setuid(of.st_uid) != 0) _exit(126);
}

// The socket's file is there a moment before it is listened to.
bool takes_connections(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
  const bool is_taken = connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(connection);
  return is_taken;
}

}  // namespace

PgBouncer::PgBouncer(const std::string& server_dsn, const std::string& directory, const Pooling& pooling) {
  const std::string server = socket_folder(server_dsn);
  struct stat owner {};
  if (stat((server + "/.s.PGSQL.5432").c_str(), &owner) != 0) throw std::runtime_error("no server in " + server);
  std::string pattern = directory + "/pooler_XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory for the pooler");
  directory_ = pattern;
  server_ = server;
  write_settings(pooling);
  std::ofstream(directory_ + "/users") << "\"postgres\" \"\"\n\"tester\" \"\"\n\"cairn\" \"\"\n\"cairn_app\" \"\"\n";
  if (geteuid() == 0 && chown(directory_.c_str(), owner.st_uid, owner.st_gid) != 0)
    throw std::runtime_error("the pooler's directory has the wrong owner");
  dsn_ = server_dsn + " host='" + directory_ + "'";
  start();
}

// `led`: a further line of its databases.
void PgBouncer::write_settings(const Pooling& pooling, const std::string& led) const {
  std::ofstream(directory_ + "/pgbouncer.ini")
      << "[databases]\n"
      << led << "* = host=" << server_ << " port=5432\n[pgbouncer]\n"
      << "unix_socket_dir = " << directory_ << "\nlisten_port = 5432\n"
      << "auth_type = trust\nauth_file = " << directory_ << "/users\n"
      << "pool_mode = " << pooling.mode << "\ndefault_pool_size = " << pooling.connections
      << "\nlogfile = " << directory_ << "/log\n";
}

void PgBouncer::start() {
  struct stat owner {};
  if (stat(server_.c_str(), &owner) != 0) throw std::runtime_error("no server in " + server_);
  const std::string settings = directory_ + "/pgbouncer.ini";
  pid_ = fork();
  if (pid_ == 0) {
    become_owner(owner);
    execl(program, program, "-q", settings.c_str(), nullptr);
    _exit(127);
  }
  const bool listens =
      wait_until([&] { return takes_connections(directory_ + "/.s.PGSQL.5432"); }, std::chrono::seconds(20));
  if (!listens) throw std::runtime_error(std::string(program) + " does not listen; its Debian package is pgbouncer");
}

void PgBouncer::lead_to(const std::string& database_dsn) {
  const std::string to = database_of(database_dsn);
  write_settings({}, database_of(dsn_) + " = host=" + server_ + " port=5432 dbname=" + to + "\n");
  kill(pid_, SIGHUP);
  const bool is_led =
      wait_until([&] { return ask_text(dsn_, "select current_database()") == to; }, std::chrono::seconds(20));
  if (!is_led) throw std::runtime_error("the pooler does not lead to " + to);
}

void PgBouncer::start_again() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  start();
}

void PgBouncer::start_again(const Pooling& pooling) {
  write_settings(pooling);
  start_again();
}

PgBouncer::~PgBouncer() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  std::filesystem::remove_all(directory_);
}

}  // namespace cairn::test

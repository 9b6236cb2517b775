#include "tests/storage/postgres/cutting_proxy.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/storage/test_database.hpp"

namespace cairn::test {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("socket path too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// -1: no server answers there.
int connect_to(const std::string& path) {
  const sockaddr_un address = address_of(path);
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(server);
    return -1;
  }
  return server;
}

bool is_readable(int file, int timeout_ms) {
  pollfd wait{file, POLLIN, 0};
  return poll(&wait, 1, timeout_ms) > 0;
}

bool has(const std::string& bytes, std::string_view part) { return bytes.find(part) != std::string::npos; }

// The bytes that a client sends until it says that it wants an answer. They commit if they have a COMMIT, or events
// outside of a transaction that is open already: by a statement's text, or by the name of a prepared one.
class Message {
 public:
  void add(const std::string& bytes, bool in_transaction) {
    if (is_whole_) *this = Message();
    const bool has_events = has(bytes, "insert_events") || has(bytes, "insert into cairn.event");
    commits_ =
        commits_ || has(bytes, {"COMMIT\0", 7}) || has(bytes, {"commit\0", 7}) || (has_events && !in_transaction);
    is_whole_ = bytes.ends_with(std::string_view("S\0\0\0\4", 5));
  }
  bool commits() const { return is_whole_ && commits_; }

 private:
  bool commits_ = false;
  bool is_whole_ = false;
};

// The server is done, and outside of any transaction.
bool is_ready(const std::string& bytes) { return bytes.ends_with(std::string_view("Z\0\0\0\5I", 6)); }
// It waits for more statements of one.
bool is_in_transaction(const std::string& bytes) { return bytes.ends_with(std::string_view("Z\0\0\0\5T", 6)); }

}  // namespace

CuttingProxy::CuttingProxy(const std::string& server_dsn) {
  const std::size_t begin = server_dsn.find("host='") + 6;
  server_path_ = server_dsn.substr(begin, server_dsn.find('\'', begin) - begin) + "/.s.PGSQL.5432";
  std::string pattern = scratch_directory() + "/proxy_XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory for the proxy");
  directory_ = pattern;
  dsn_ = server_dsn + " host='" + directory_ + "'";
  const sockaddr_un address = address_of(directory_ + "/.s.PGSQL.5432");
  listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener_, 16) != 0) {
    throw std::runtime_error("the proxy cannot listen");
  }
  accepting_ = std::thread([this] { accept_loop(); });
}

CuttingProxy::~CuttingProxy() {
  stop_ = true;
  accepting_.join();
  for (std::thread& relay : relays_) relay.join();
  close(listener_);
  std::filesystem::remove_all(directory_);
}

void CuttingProxy::accept_loop() {
  while (!stop_) {
    if (!is_readable(listener_, 20)) continue;
    const int client = accept(listener_, nullptr, nullptr);
    if (client >= 0) relays_.emplace_back([this, client] { relay(client); });
  }
}

bool CuttingProxy::forward(int from, int to, std::string& seen) {
  std::array<char, 65536> buffer{};
  const ssize_t got = read(from, buffer.data(), buffer.size());
  if (got <= 0) return false;
  seen.assign(buffer.data(), static_cast<std::size_t>(got));
  if (to < 0) return true;
  return send(to, seen.data(), seen.size(), MSG_NOSIGNAL) == got;
}

void CuttingProxy::relay(int client) {
  const int server = connect_to(server_path_);
  if (server < 0) {
    close(client);
    return;
  }
  std::string seen;
  Message message;
  bool in_transaction = false, is_cut = false;
  while (!stop_) {
    std::array<pollfd, 2> waits{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    if (poll(waits.data(), waits.size(), 20) <= 0) continue;
    if (swallows_) {
      if (waits[0].revents != 0 && !forward(client, -1, seen)) break;
      swallowed_ += waits[0].revents != 0 ? 1 : 0;
      if (waits[1].revents != 0 && !forward(server, -1, seen)) break;
      continue;
    }
    if (waits[1].revents != 0) {
      if (!forward(server, client, seen)) break;
      in_transaction = is_in_transaction(seen);
    }
    if (waits[0].revents == 0) continue;
    if (!forward(client, -1, seen)) break;
    message.add(seen, in_transaction);
    const Cut cut = message.commits() ? cut_.exchange(Cut::none) : Cut::none;
    if (cut == Cut::before_it_arrives) {
      is_cut = true;
      break;
    }
    if (send(server, seen.data(), seen.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(seen.size())) break;
    if (cut == Cut::none) continue;
    is_cut = true;
    // The server's own word that it is done; the client never hears it.
    while (is_readable(server, 10'000) && forward(server, -1, seen) && !is_ready(seen)) {
    }
    break;
  }
  cuts_ += is_cut ? 1 : 0;
  close(server);
  if (is_cut && on_cut_) on_cut_();
  close(client);
}

}  // namespace cairn::test

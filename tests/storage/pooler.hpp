// A real pgbouncer before a server's socket. By transaction, each transaction may get another of its few connections to
// the server; by session, a client keeps the one that it got until it leaves. Not thread-safe.
#pragma once

#include <string>
#include <sys/types.h>

namespace cairn::test {

struct Pooling {
  const char* mode = "transaction";  // or "session"
  int connections = 2;               // to the server; further clients wait for one
};

class PgBouncer {
 public:
  // Forwards to the server that the DSN names by its socket's folder; its own socket is in a new folder below
  // `directory`. Throws std::runtime_error.
  PgBouncer(const std::string& server_dsn, const std::string& directory, const Pooling& pooling = {});
  ~PgBouncer();
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  const std::string& dsn() const { return dsn_; }
  // From now on its clients, which stay connected, are led to this database of the same server.
  void lead_to(const std::string& database_dsn);
  // Kills it, and starts another one in its place.
  void start_again();
  void start_again(const Pooling& pooling);

 private:
  void write_settings(const Pooling& pooling, const std::string& led = "") const;
  void start();

  std::string server_;  // the folder of its socket
  std::string directory_;
  std::string dsn_;
  pid_t pid_ = -1;
};

}  // namespace cairn::test

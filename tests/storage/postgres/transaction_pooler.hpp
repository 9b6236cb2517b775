// A real pgbouncer in transaction mode before a server's socket: each transaction may get another of its few
// connections to the server. Not thread-safe.
#pragma once

#include <string>
#include <sys/types.h>

namespace cairn::test {

class TransactionPooler {
 public:
  // Forwards to the server that the DSN names by its socket's folder, over two connections; its own socket is in a new
  // folder below `directory`. Throws std::runtime_error.
  TransactionPooler(const std::string& server_dsn, const std::string& directory);
  ~TransactionPooler();
  TransactionPooler(const TransactionPooler&) = delete;
  TransactionPooler& operator=(const TransactionPooler&) = delete;

  const std::string& dsn() const { return dsn_; }
  // Kills it, and starts another one in its place.
  void start_again();

 private:
  void start();

  std::string server_;  // the folder of its socket
  std::string directory_;
  std::string dsn_;
  pid_t pid_ = -1;
};

}  // namespace cairn::test

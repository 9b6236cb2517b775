// A pool of clients, each lent to one thread at a time. Safe from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "ops/service/database.hpp"

namespace cairn {

class ClientPool {
 public:
  // `count` clients with all graphs loaded, writing as `actor`. `opened` lives longer.
  ClientPool(Opened& opened, const std::string& actor, int count);

  // A borrowed client. REQUIRES: at most `count` loans at once.
  class Loan {
   public:
    explicit Loan(ClientPool& from);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Client& operator*() const { return *client_; }

   private:
    ClientPool& from_;
    std::unique_ptr<Client> client_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Client>> free_;
};

}  // namespace cairn

// As many clients as threads use them, each lent to one at a time. Safe from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "ops/database.hpp"

namespace cairn {

class Clients {
 public:
  // With all graphs loaded; what they write has this actor. `opened` lives longer.
  Clients(Opened& opened, const std::string& actor, int count);

  // REQUIRES: not more at once than there are.
  class Loan {
   public:
    explicit Loan(Clients& from);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Client& operator*() const { return *client_; }

   private:
    Clients& from_;
    std::unique_ptr<Client> client_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Client>> free_;
};

}  // namespace cairn

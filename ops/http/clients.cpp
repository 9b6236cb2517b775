#include "ops/http/clients.hpp"

namespace cairn {

Clients::Clients(Opened& opened, const std::string& actor, int count) {
  for (int i = 0; i < count; ++i) {
    free_.push_back(std::make_unique<Client>(*opened.store, *opened.catalogue, actor));
    free_.back()->load_graphs();
  }
}

Clients::Loan::Loan(Clients& from) : from_(from) {
  const std::lock_guard lock(from_.mutex_);
  CHECK(!from_.free_.empty());
  client_ = std::move(from_.free_.back());
  from_.free_.pop_back();
}

Clients::Loan::~Loan() {
  const std::lock_guard lock(from_.mutex_);
  from_.free_.push_back(std::move(client_));
}

}  // namespace cairn

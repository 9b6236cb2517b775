#include "ops/service/client_pool.hpp"

namespace cairn {

ClientPool::ClientPool(Opened& opened, const std::string& actor, int count) {
  for (int i = 0; i < count; ++i) {
    free_.push_back(std::make_unique<Client>(*opened.store, *opened.catalogue, actor));
    opened.is_replica ? free_.back()->read_graphs() : free_.back()->load_graphs();
  }
}

ClientPool::Loan::Loan(ClientPool& from) : from_(from) {
  const std::lock_guard lock(from_.mutex_);
  CHECK(!from_.free_.empty());
  client_ = std::move(from_.free_.back());
  from_.free_.pop_back();
}

ClientPool::Loan::~Loan() {
  const std::lock_guard lock(from_.mutex_);
  from_.free_.push_back(std::move(client_));
}

}  // namespace cairn

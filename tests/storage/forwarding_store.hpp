// The forwarding store under the name by which tests derive their stores from it, and one that says whose notifications
// were waited for last. Safe from any thread if the other store is.
#pragma once

#include <atomic>

#include "storage/forwarding_store.hpp"

namespace cairn::test {

using cairn::ForwardingStore;

class ListenedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  bool await_notification(std::int64_t timeout_ms, NotifiedBy by) override {
    last = by;
    ++waits;
    return ForwardingStore::await_notification(timeout_ms, by);
  }
  std::atomic<NotifiedBy> last = NotifiedBy::any_process;
  std::atomic<int> waits = 0;
};

}  // namespace cairn::test

// The refusal of a store whose connections lead to another database than it was opened on: its data were removed, or a
// server of others stands at its address. It will not come back by waiting. Safe to use from any thread.
#pragma once

#include "storage/store.hpp"

namespace cairn {

class AnotherDatabase : public StoreUnavailable {
 public:
  using StoreUnavailable::StoreUnavailable;
};

}  // namespace cairn

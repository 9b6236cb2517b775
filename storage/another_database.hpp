// The refusal of a store whose connections lead to another database than it was opened on: its data were removed, or a
// server of others stands at its address. It will not come back by waiting. Safe to use from any thread.
#pragma once

#include <string>

#include "storage/store.hpp"

namespace cairn {

class AnotherDatabase : public StoreUnfit {
 public:
  using StoreUnfit::StoreUnfit;
};

// `found` is the identity of the database that is there; "": it has none.
inline std::string another_database_sentence(const std::string& expected, const std::string& found) {
  return "Expected to find database " + expected + " again, but there is " +
         (found.empty() ? "one without the schema cairn" : "database " + found) +
         " at its address now; nothing more is asked of it";
}

}  // namespace cairn

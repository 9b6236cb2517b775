// Views of the console that were saved under a name for all who use it, in PostgreSQL. Uses an Administration of its
// own, opened at the first use. Safe from any thread (one lock).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/id.hpp"
#include "engine/result.hpp"

namespace cairn {

class SharedAdministration;

struct SavedView {
  std::string name;
  std::string address;  // what follows "#/" in the address of the page
  TimeUs created_at = 0;
  std::string created_by;
};

class SavedViews {
 public:
  static constexpr int views_max = 200;

  explicit SavedViews(std::string dsn);
  ~SavedViews();
  SavedViews(const SavedViews&) = delete;
  SavedViews& operator=(const SavedViews&) = delete;

  // Every function refuses `unavailable`.
  Result<std::vector<SavedView>> list();  // by name
  // In place of one with this name. `created_at` is not read. Refuses `limit`: there are views_max others.
  Status put(const SavedView& view);
  Status remove(const std::string& name);  // Refuses `not_found`.

 private:
  std::unique_ptr<SharedAdministration> database_;
};

}  // namespace cairn

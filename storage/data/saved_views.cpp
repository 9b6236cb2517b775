#include "storage/data/saved_views.hpp"

#include "storage/postgres/shared_administration.hpp"

namespace cairn {

SavedViews::SavedViews(std::string dsn)
    : database_(std::make_unique<SharedAdministration>([dsn = std::move(dsn)]() -> Result<std::string> { return dsn; },
                                                       "cairn views", "the saved views", opening_limit_ms)) {}
SavedViews::~SavedViews() = default;

Result<std::vector<SavedView>> SavedViews::list() {
  return database_->use([&](Administration& database) -> Result<std::vector<SavedView>> {
    const AdminRows rows = database.query("saved_views", {std::to_string(views_max)});
    rows.expect_columns({"name", "address", "created_at", "created_by"});
    std::vector<SavedView> views;
    for (std::size_t row = 0; row < rows.size(); ++row)
      views.push_back({rows.text(row, 0), rows.text(row, 1), rows.number(row, 2), rows.text(row, 3)});
    return views;
  });
}

Status SavedViews::put(const SavedView& view) {
  return database_->use([&](Administration& database) -> Status {
    const AdminRows kept =
        database.query("put_saved_view", {view.name, view.address, view.created_by, std::to_string(views_max)});
    if (kept.size() == 1) return Done{};
    return Error{Code::limit, "Expected fewer than " + std::to_string(views_max) +
                                  " saved views, but there are so many: remove one that is not used."};
  });
}

Status SavedViews::remove(const std::string& name) {
  return database_->use([&](Administration& database) -> Status {
    if (database.query("remove_saved_view", {name}).size() == 1) return Done{};
    return Error{Code::not_found, "Expected a saved view named " + name + ", but there is none."};
  });
}

}  // namespace cairn

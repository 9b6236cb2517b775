#include <algorithm>
#include <iostream>
#include <span>

#include "ops/audit/exporter.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/requests/run_filter.hpp"

namespace cairn {
namespace {

constexpr std::size_t runs_at_once = 100;

Result<std::vector<RunRow>> named_runs(Store& store, const std::vector<std::string>& names) {
  std::vector<RunRow> rows;
  for (const std::string& name : names) {
    const Result<RunId> id = run_argument(name);
    if (!id) return id.error();
    std::optional<RunRow> row = store.run(*id);
    if (!row) return Error{Code::not_found, "Expected run " + name + ", but there is none."};
    rows.push_back(*std::move(row));
  }
  return rows;
}

// Until one cannot be exported, or nobody reads any more.
Status add_page(Exporter& exporter, std::span<const RunRow> page) {
  for (; !page.empty() && std::cout; page = page.subspan(std::min(page.size(), runs_at_once)))
    if (Status added = exporter.add(page.first(std::min(page.size(), runs_at_once))); !added) return added;
  return Done{};
}

Status add_matching(Exporter& exporter, Store& store, const RunFilter& filter) {
  Status added = Done{};
  for_each_page(store, unlimited(filter), [&](std::span<const RunRow> page) {
    if (added) added = add_page(exporter, page);
  });
  return added;
}

}  // namespace

Exit export_runs(const Settings& settings, const ExportOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Store& store = *opened->store;
  const Result<std::vector<RunRow>> named = named_runs(store, options.of.runs);
  if (!named) return named.error();
  ExportWriter writer([](std::string_view bytes) { std::cout.write(bytes.data(), std::ssize(bytes)); }, options.zstd);
  Exporter exporter(store, writer, current_actor(), Exporter::Purpose::copy);
  const Status added = options.of.runs.empty() ? add_matching(exporter, store, options.of.where.value_or(RunFilter{}))
                                               : add_page(exporter, *named);
  if (!added) return added.error();
  exporter.end();
  return 0;
}

}  // namespace cairn

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <span>

#include "ops/audit/exporter.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/service/database.hpp"

namespace cairn {
namespace {

struct ExportOptions {
  RunSelection of;
  bool zstd = false;
};

constexpr std::size_t runs_at_once = 100;

Result<std::vector<RunRow>> named_runs(Store& store, const std::vector<std::string>& names) {
  std::vector<RunRow> rows;
  for (const std::string& name : names) {
    const Result<RunId> id = run_argument(name);
    if (!id) return id.error();
    std::optional<RunRow> row = store.run(*id);
    if (!row) return no_such_run(name);
    rows.push_back(*std::move(row));
  }
  return rows;
}

// Ends early when a run cannot be exported, or the reader of stdout is gone.
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

// To stdout; see ops/audit/export_format.md.
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
  return exit_ok;
}

}  // namespace

void add_export(CommandLine& line) {
  auto& options = line.keep<ExportOptions>();
  CLI::App& command = add_command(
      line, "export", "Write runs with their whole history to stdout",
      [&](const Settings& settings) { return export_runs(settings, options); },
      [&] { return need_selection(options.of, "export"); });
  add_selection(command, options.of, "Every run");
  command.add_flag("--zstd", options.zstd, "Compressed");
}

}  // namespace cairn

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <set>
#include <span>

#include "ops/audit/exporter.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/service/database.hpp"
#include "storage/proof/checkpoint_table.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

struct ExportOptions {
  RunSelection of;
  bool zstd = false;
  std::vector<std::string> except;
};

constexpr std::size_t runs_at_once = 100;

Result<std::vector<RunRow>> named_runs(Store& store, const std::vector<std::string>& names) {
  std::vector<RunRow> rows;
  for (const std::string& name : names) {
    const Result<RunId> id = run_meant(store, name);
    if (!id) return id.error();
    std::optional<RunRow> row = store.run(*id);
    if (!row) return no_such_run(name);
    rows.push_back(*std::move(row));
  }
  return rows;
}

// The runs that could not be exported, reported after all others.
struct LeftOut {
  std::vector<std::pair<RunId, std::string>> runs;
  Exporter::LeftOut take() {
    return [this](const RunId& run, const std::string& says) { runs.emplace_back(run, says); };
  }
  ExitCode tell() const {
    for (const auto& [run, says] : runs)
      std::cerr << "cairn: Left out run " << to_string(run) << ": " << readable_line(says, 2'000) << '\n';
    return runs.empty() ? exit_ok : exit_finding;
  }
};

// Ends early when the reader of stdout is gone.
void add_page(Exporter& exporter, std::span<const RunRow> page, const std::set<RunId>& except, LeftOut& left) {
  std::vector<RunRow> wanted;
  for (const RunRow& run : page)
    if (!except.contains(run.id)) wanted.push_back(run);
  for (std::span<const RunRow> rest = wanted; !rest.empty() && std::cout;
       rest = rest.subspan(std::min(rest.size(), runs_at_once)))
    exporter.add(rest.first(std::min(rest.size(), runs_at_once)), left.take());
}

// To stdout; see ops/audit/export_format.md.
Exit export_runs(const Settings& settings, const ExportOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Store& store = *opened->store;
  const Result<std::set<RunId>> except = runs_meant(store, options.except);
  if (!except) return except.error();
  const Result<std::vector<RunRow>> named = named_runs(store, options.of.runs);
  if (!named) return named.error();
  ExportWriter writer([](std::string_view bytes) { std::cout.write(bytes.data(), std::ssize(bytes)); }, options.zstd);
  Exporter exporter(store, writer, current_actor(), Exporter::Purpose::copy);
  LeftOut left;
  if (options.of.runs.empty())
    for_each_page(store, unlimited(options.of.where.value_or(RunFilter{})),
                  [&](std::span<const RunRow> page) { add_page(exporter, page, *except, left); });
  else
    add_page(exporter, *named, *except, left);
  CheckpointTable checkpoints(opened->dsn, store.shards());
  exporter.end(&checkpoints);
  return left.tell();
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
  add_except(command, options.except);
}

}  // namespace cairn

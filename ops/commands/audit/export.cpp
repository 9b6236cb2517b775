#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <span>

#include "ops/answers/words.hpp"
#include "ops/audit/exporter.hpp"
#include "ops/commands/audit/export_traces.hpp"
#include "ops/commands/audit/unreadable_runs.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/requests/run_ids.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "ops/traces/otlp_client.hpp"
#include "storage/ground/private_file.hpp"
#include "storage/proof/checkpoint_table.hpp"

namespace cairn {
namespace {

struct ExportOptions {
  RunSelection of;
  bool zstd = false;
  std::string out;  // "": stdout
  std::vector<std::string> except;
  TraceExportOptions traces;
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

// Ends early when the reader of stdout is gone, or the disk is full.
void add_page(Exporter& exporter, std::span<const RunRow> page, const std::set<RunId>& except, UnreadableRuns& left,
              const std::ostream& out) {
  std::vector<RunRow> wanted;
  for (const RunRow& run : page)
    if (!except.contains(run.id)) wanted.push_back(run);
  for (std::span<const RunRow> rest = wanted; !rest.empty() && out;
       rest = rest.subspan(std::min(rest.size(), runs_at_once)))
    exporter.add(rest.first(std::min(rest.size(), runs_at_once)),
                 [&left](const RunId& run, const std::string& says) { left.add(run, says); });
}

bool is_compressed(const ExportOptions& options) { return options.zstd || options.out.ends_with(".zst"); }

ExportForm export_form(const ExportOptions& options) {
  if (is_compressed(options)) return ExportForm::compressed;
  return options.out.empty() && is_terminal() ? ExportForm::visible : ExportForm::plain;
}

// A private file of its own until it is whole; then it takes the place of the one that is named. A device, a pipe or a
// link is written to as it is.
class Destination {
 public:
  explicit Destination(std::string path) : path_(std::move(path)) {
    std::error_code none;
    if (path_.empty()) return;
    const std::filesystem::file_status found = std::filesystem::symlink_status(path_, none);
    if (!std::filesystem::exists(found) || std::filesystem::is_regular_file(found)) part_.emplace(path_ + ".part");
    if (!part_ || part_->state() == PrivatePart::State::there)
      file_.open(part_ ? part_->path() : path_, std::ios::binary | std::ios::trunc);
  }

  // Refuses `conflict`: another export writes to it.
  Status is_free() const {
    if (!part_ || part_->state() != PrivatePart::State::taken) return Done{};
    return Error{Code::conflict,
                 "Expected no other export to be writing to " + path_ + ", but one has " + part_->path() + "."};
  }
  std::ostream& stream() { return path_.empty() ? std::cout : file_; }

  // Refuses `unavailable`.
  Status finish() {
    if (path_.empty()) return Done{};
    file_.close();
    if (file_ && (!part_ || part_->become(path_))) return Done{};
    return Error{Code::unavailable, "Expected to write the export to " + path_ + ", but it cannot be written."};
  }

 private:
  const std::string path_;
  std::optional<PrivatePart> part_;
  std::ofstream file_;
};

// Traces go to a collector, and no export is written then.
Status check_destination(const ExportOptions& options) {
  if (const Status fits = check_traces(options.traces); !fits) return fits;
  if (!options.traces.url.empty() && (!options.out.empty() || options.zstd))
    return Error{Code::invalid, "Expected --otlp or a file, but found both."};
  if (options.zstd && options.out.empty() && is_terminal())
    return Error{Code::invalid, "Expected --out or a pipe for a compressed export, but stdout is a terminal."};
  return need_selection(options.of, "export");
}

// See ops/audit/export_format.md.
Exit export_runs(const Settings& settings, const ExportOptions& options) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Store& store = *opened->store;
  const Result<std::set<RunId>> except = runs_meant(store, options.except);
  if (!except) return except.error();
  const Result<std::vector<RunRow>> named = named_runs(store, options.of.runs);
  if (!named) return named.error();
  const Result<RunFilter> where = known_filter(store, options.of.where.value_or(RunQuery{}));
  if (!where) return where.error();
  if (!options.traces.url.empty()) return export_traces(settings, *opened, *named, *where, *except, options.traces);
  Destination destination(options.out);
  if (const Status alone = destination.is_free(); !alone) return alone.error();
  std::ostream& out = destination.stream();
  ExportWriter writer([&out](std::string_view bytes) { out.write(bytes.data(), std::ssize(bytes)); },
                      export_form(options));
  Exporter exporter(store, writer, current_actor(), Exporter::Purpose::copy);
  UnreadableRuns left;
  if (options.of.runs.empty())
    for_each_page(store, unlimited(*where),
                  [&](std::span<const RunRow> page) { add_page(exporter, page, *except, left, out); });
  else
    add_page(exporter, *named, *except, left, out);
  CheckpointTable checkpoints(opened->dsn, store.shards());
  exporter.end(&checkpoints);
  if (const Status written = destination.finish(); !written) return written.error();
  if (!options.out.empty() && settings.json)
    print_json({{"file", options.out}, {"runs", writer.counts().runs}, {"events", writer.counts().events}});
  else if (!options.out.empty())
    print_paragraph("Exported into " + options.out + ": " + counted(writer.counts().runs, "run") + " with " +
                    counted(writer.counts().events, "event") + ".");
  return left.report();
}

}  // namespace

void add_export(CommandLine& line) {
  auto& options = line.keep<ExportOptions>();
  CLI::App& command = add_command(
      line, "export", "Write runs with their whole history to stdout or a file",
      "cairn export --where graph=order --out order.jsonl.zst",
      [&](const Settings& settings) { return export_runs(settings, options); },
      [&] { return check_destination(options); });
  add_selection(command, options.of, "Every run");
  add_text(command, "--out", "FILE", "Where they go (default: stdout); compressed if the name ends in .zst",
           [&](const std::string& path) { return assign(options.out, output_argument(path)); });
  command.add_flag("--zstd", options.zstd, "Compressed");
  add_except(command, options.except);
  add_traces(command, "Send the traces of ended runs to this collector instead", options.traces);
}

}  // namespace cairn

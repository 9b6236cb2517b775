#include "ops/audit/archiver.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <unistd.h>

#include "ops/audit/exporter.hpp"
#include "ops/requests/input_lines.hpp"
#include "storage/private_file.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::int32_t candidates_page = 200;
constexpr std::size_t removed_at_once = 100;

Error cannot_write(const std::string& file) {
  return {Code::invalid, "Expected to write the archive " + file + ", but it cannot be written."};
}

bool keep_on_disk(const fs::path& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return false;
  const bool kept = fsync(handle) == 0;
  ::close(handle);
  return kept;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

}  // namespace

Archiver::Archiver(Store& store, RunArchive& archive, const SigningKey& key, Kept kept)
    : store_(store),
      archive_(archive),
      key_(key),
      kept_(std::move(kept)),
      going_(static_cast<std::size_t>(store.shards())) {}

Result<ArchiveReport> Archiver::archive(const std::string& file, TimeUs ended_before,
                                        const std::function<bool(const RunRow&)>& is_wanted, const std::string& by) {
  report_.was_there = fs::exists(file);
  if (!report_.was_there) {
    const std::string part = file + ".part";
    if (Status written = write(part, ended_before, is_wanted, by); !written) return written.error();
    if (Status sound = check_file(part); !sound) return sound.error();
    std::error_code fault;
    if (report_.runs == 0) {
      fs::remove(part, fault);
      return report_;
    }
    fs::rename(part, file, fault);
    if (fault || !keep_on_disk(folder_of(file))) return cannot_write(file);
  } else if (Status sound = check_file(file); !sound) {
    return sound.error();
  }
  if (Status removed = remove_all(file); !removed) return removed.error();
  return report_;
}

Status Archiver::write(const std::string& file, TimeUs ended_before,
                       const std::function<bool(const RunRow&)>& is_wanted, const std::string& by) {
  const bool compressed = fs::path(file).stem().extension() == ".zst";  // without the ".part"
  if (!make_private_file(file)) return cannot_write(file);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out) return cannot_write(file);
  ExportWriter writer([&out](std::string_view bytes) { out.write(bytes.data(), std::ssize(bytes)); }, compressed);
  Exporter exporter(store_, writer, by, Exporter::Purpose::archive);
  referred_ = archive_.kept_for_open_runs();
  const auto add = [&](const RunRow& run) { return out ? exporter.add(run) : Status(cannot_write(file)); };
  RunArchive::Place last{std::numeric_limits<TimeUs>::min(), RunId{}};
  for (;;) {
    const std::vector<RunArchive::Place> page = archive_.candidates(ended_before, last, candidates_page);
    for (const auto& [started_at, run] : page) {
      const std::optional<RunRow> row = store_.run(run);
      if (!row || !is_wanted(*row)) continue;
      if (Status added = add_family(run, add); !added) return added;
    }
    if (page.size() < static_cast<std::size_t>(candidates_page)) break;
    last = page.back();
  }
  exporter.end();
  out.close();
  return out && keep_on_disk(file) ? Status(Done{}) : Status(cannot_write(file));
}

// A run and all that it called go together or stay together.
Status Archiver::add_family(const RunId& root, const std::function<Status(const RunRow&)>& add) {
  const std::vector<RunArchive::Member> family = archive_.family(shard_of(root, store_.shards()), root);
  for (const RunArchive::Member& member : family) {
    if (!member.has_ended) {
      kept_(root, "run " + to_string(member.run) + ", which it called, has not ended");
      return Done{};
    }
    if (referred_.contains(member.run)) {
      kept_(root, "an open run continues " + (member.run == root ? "it" : "run " + to_string(member.run)) +
                      " or was forked from there");
      return Done{};
    }
  }
  for (const RunArchive::Member& member : family) {
    const std::optional<RunRow> row = store_.run(member.run);
    if (!row) continue;
    if (Status added = add(*row); !added) return added;
  }
  return Done{};
}

Status Archiver::check_file(const std::string& file) {
  std::string first;
  ExportTaker taker;
  taker.head = [&](const ExportHead& head) {
    if (head.database == store_.identity() && head.is_archive) return Status(Done{});
    return Status(Error{Code::conflict, "Expected no file " + file + ", or an archive of this database, but found " +
                                            (head.is_archive ? "another database's." : "an export.")});
  };
  ExportAudit audit(
      file, [&](const Finding& finding) { first = first.empty() ? finding.says : first; }, std::move(taker));
  if (Status read = audit.run(); !read) return read;
  report_.runs = audit.counts().runs;
  report_.events = audit.counts().events;
  if (first.empty()) return Done{};
  return Error{Code::corrupt, first + " Nothing was removed."};
}

Status Archiver::remove_all(const std::string& file) {
  const Result<std::string> digest = file_digest(file);
  if (!digest) return digest.error();
  pattern_.file_digest = *parse_hash(*digest);
  pattern_.at_us = store_.database_time();
  ExportTaker taker;
  taker.run = [this](const RunState& state, const Hash& chain_hash) {
    const Shard shard = shard_of(state.id, store_.shards());
    std::vector<Tombstone>& going = going_[static_cast<std::size_t>(shard)];
    going.push_back(pattern_);
    going.back().shard = shard;
    going.back().head = {state.id, state.seq, chain_hash};
    sign(going.back(), store_.identity(), key_);
    return going.size() < removed_at_once ? Status(Done{}) : remove(shard);
  };
  if (Status read = ExportAudit(
                        file, [](const Finding&) {}, std::move(taker))
                        .run();
      !read)
    return read;
  for (Shard shard = 0; shard < store_.shards(); ++shard)
    if (Status removed = remove(shard); !removed) return removed;
  return Done{};
}

Status Archiver::remove(Shard shard) {
  std::vector<Tombstone>& going = going_[static_cast<std::size_t>(shard)];
  if (going.empty()) return Done{};
  const Result<std::int64_t> removed = archive_.remove(shard, going);
  if (!removed) return removed.error();
  report_.removed += *removed;
  going.clear();
  return Done{};
}

}  // namespace cairn

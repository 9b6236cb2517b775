#include "ops/audit/archiver.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "ops/audit/exporter.hpp"
#include "ops/requests/input_lines.hpp"
#include "storage/ground/kept_on_disk.hpp"
#include "storage/ground/private_file.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::int32_t candidates_page = 200;
constexpr std::size_t removed_at_once = 100;  // and removed_events_at_once

Error cannot_write(const std::string& file) {
  return {Code::invalid, "Expected to write the archive " + file + ", but it cannot be written."};
}

Error another_archives(const std::string& file) {
  return {Code::unavailable, "Expected to archive into " + file +
                                 ", but another process archives in this database: the same again, later, does it."};
}

// A file that is there only as long as this.
struct Part {
  explicit Part(std::string of) : path(std::move(of)) {}
  ~Part() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  const std::string path;
};

// `run`: itself, or one that it called.
std::string why_referred(const RunId& root, const RunId& run) {
  return "an open run continues " + (run == root ? "it" : "run " + to_string(run)) + " or was forked from there";
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

}  // namespace

Archiver::Archiver(Store& store, RunArchive& archive, CheckpointTable& checkpoints, const SigningKey& key, Kept kept)
    : store_(store),
      archive_(archive),
      checkpoints_(checkpoints),
      key_(key),
      kept_(std::move(kept)),
      going_(static_cast<std::size_t>(store.shards())) {}

void Archiver::leave_out(const std::set<RunId>& runs) { left_out_ = runs; }

Result<ArchiveReport> Archiver::archive(const std::string& file, const WantedRuns& wanted, const std::string& by) {
  const Roots roots = [&](const Take& take) {
    const auto take_page = [&](const std::vector<RunArchive::Place>& page) {
      return std::all_of(page.begin(), page.end(), [&](const RunArchive::Place& place) {
        const std::optional<RunRow> row = store_.run(place.second);
        return !row || !wanted.is_wanted(*row) || take(place.second);
      });
    };
    if (!wanted.tags.empty()) {
      take_page(archive_.candidates(wanted.ended_before, wanted.tags));
      return;
    }
    RunArchive::Place last{std::numeric_limits<TimeUs>::min(), RunId{}};
    for (;;) {
      const std::vector<RunArchive::Place> page = archive_.candidates(wanted.ended_before, last, candidates_page);
      if (!take_page(page) || page.size() < static_cast<std::size_t>(candidates_page)) return;
      last = page.back();
    }
  };
  return archive(file, roots, by);
}

Result<ArchiveReport> Archiver::archive(const std::string& file, const std::vector<RunId>& roots,
                                        const std::string& by) {
  const Roots these = [&roots](const Take& take) {
    for (const RunId& run : roots)
      if (!take(run)) return;
  };
  return archive(file, these, by);
}

Result<ArchiveReport> Archiver::erase(const std::string& file, const std::vector<RunId>& roots, std::set<RunId> allowed,
                                      const std::string& by) {
  pattern_.erased_by = by;
  allowed_ = std::move(allowed);
  return archive(file, roots, by);
}

Result<ArchiveReport> Archiver::archive(const std::string& file, const Roots& roots, const std::string& by) {
  if (lent_ != nullptr) return archive_alone(file, roots, by);
  Result<std::unique_ptr<ArchiveLock>> taken = archive_.lock(patience_ms_);
  if (!taken) return taken.error();
  if (*taken == nullptr) return another_archives(file);
  own_ = *std::move(taken);
  Result<ArchiveReport> report = archive_alone(file, roots, by);
  own_.reset();
  return report;
}

Result<ArchiveReport> Archiver::archive_alone(const std::string& file, const Roots& roots, const std::string& by) {
  report_.was_there = fs::exists(file);
  const Status there = report_.was_there ? check_file(file, false) : write_new(file, roots, by);
  if (!there) return there.error();
  if (report_.runs == 0) return report_;
  if (Status removed = remove_all(file); !removed) return removed.error();
  return report_;
}

// The lock is looked at when all is written: without it another process may have put the same runs into a file.
Status Archiver::write_new(const std::string& file, const Roots& roots, const std::string& by) {
  const Part part{file + ".part"};
  if (Status made = make(part.path, roots, by); !made) return made;
  if (report_.runs > 0) {
    if (Status alone = lock().check(); !alone) return alone;
    std::error_code fault;
    fs::rename(part.path, file, fault);
    if (fault || !keep_on_disk(folder_of(file))) return cannot_write(file);
  }
  for (const auto& [run, why] : kept_runs_) kept_(run, why);
  report_.faulty = std::ssize(faulty_);
  return Done{};
}

// Runs that turn out to be faulty are left out the next time, with those that go together with them.
Status Archiver::make(const std::string& file, const Roots& roots, const std::string& by) {
  for (;;) {
    const std::size_t known = faulty_.size();
    kept_runs_.clear();
    if (Status written = write(file, roots, by); !written) return written;
    if (Status sound = check_file(file, true); !sound) return sound;
    if (faulty_.size() == known) return Done{};
  }
}

Status Archiver::write(const std::string& file, const Roots& roots, const std::string& by) {
  const bool is_compressed = fs::path(file).stem().extension() == ".zst";  // without the ".part"
  if (!make_private_file(file)) return cannot_write(file);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out) return cannot_write(file);
  ExportWriter writer([&out](std::string_view bytes) { out.write(bytes.data(), std::ssize(bytes)); },
                      is_compressed ? ExportForm::compressed : ExportForm::plain);
  Exporter exporter(store_, writer, by, Exporter::Purpose::archive);
  const auto add = [&](const RunRow& run) {
    exporter.add({&run, 1}, [this](const RunId& id, const std::string& says) { faulty_.emplace(id, says); });
  };
  roots([&](const RunId& run) {
    add_family(run, add);
    return out.good();
  });
  exporter.end(&checkpoints_);
  out.close();
  return out && keep_on_disk(file) ? Status(Done{}) : Status(cannot_write(file));
}

// A run and all that it called go together or stay together.
void Archiver::add_family(const RunId& root, const std::function<void(const RunRow&)>& add) {
  const std::vector<RunArchive::Member> family = archive_.family(shard_of(root, store_.shards()), root);
  if (std::string why = reason_to_keep(root, family); !why.empty()) {
    kept_runs_.emplace(root, std::move(why));
    return;
  }
  for (const RunArchive::Member& member : family)
    if (const std::optional<RunRow> row = store_.run(member.run)) add(*row);
}

// "": none.
std::string Archiver::reason_to_keep(const RunId& root, const std::vector<RunArchive::Member>& family) {
  for (const RunArchive::Member& member : family)
    if (std::string why = reason_to_keep(root, member); !why.empty()) return why;
  const std::set<RunId> referred = archive_.kept_for_open_runs(family);
  if (referred.empty()) return "";
  return why_referred(root, referred.contains(root) ? root : *referred.begin());
}

std::string Archiver::reason_to_keep(const RunId& root, const RunArchive::Member& member) const {
  const std::string it = member.run == root ? "it" : "run " + to_string(member.run) + ", which it called,";
  if (!member.has_ended) return it + " has not ended";
  if (left_out_.contains(member.run)) return it + " is to be left out";
  const auto faulty = faulty_.find(member.run);
  return faulty == faulty_.end() ? "" : it + " cannot be archived: " + faulty->second;
}

// Faulty runs are noted if the file is new; in a file that was there before they are a refusal.
Status Archiver::check_file(const std::string& file, bool is_own) {
  std::string first;
  ExportTaker taker;
  taker.head = [&](const ExportHead& head) {
    if (head.database == store_.identity() && head.is_archive) return Status(Done{});
    return Status(Error{Code::conflict, "Expected no file " + file + ", or an archive of this database, but found " +
                                            (head.is_archive ? "another database's." : "an export.")});
  };
  taker.run = [this](const RunState& state, const Hash&) {
    if (state.parent) callers_.insert_or_assign(state.id, state.parent->run);
    return Status(Done{});
  };
  ExportAudit audit(
      file,
      [&](const Finding& finding) {
        if (is_own && !finding.run.is_nil())
          faulty_.emplace(finding.run, finding.says);
        else
          first = first.empty() ? finding.says : first;
      },
      std::move(taker));
  audit.bound(bounds_);
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
  pattern_.file = fs::absolute(file).lexically_normal().string();
  ExportTaker taker;
  taker.run = [this](const RunState& state, const Hash& chain_hash) { return take(state, chain_hash); };
  ExportAudit audit(
      file, [](const Finding&) {}, std::move(taker));
  audit.bound(bounds_);
  if (Status read = audit.run(); !read) return read;
  for (Shard shard = 0; shard < store_.shards(); ++shard)
    if (Status removed = remove(shard); !removed) return removed;
  return Done{};
}

// The first of those that called it, as far as the file knows them. A file may say anything, so the way has an end.
RunId Archiver::root_of(RunId run) const {
  for (std::size_t left = callers_.size(); left > 0; --left) {
    const auto caller = callers_.find(run);
    if (caller == callers_.end()) break;
    run = caller->second;
  }
  return run;
}

// Those that go together follow one another in the file, and are removed by one transaction.
Status Archiver::take(const RunState& state, const Hash& chain_hash) {
  if (allowed_ && !allowed_->contains(state.id)) return Done{};
  const Shard shard = shard_of(state.id, store_.shards());
  Going& going = going_[static_cast<std::size_t>(shard)];
  const RunId root = root_of(state.id);
  const bool is_enough = going.runs.size() >= removed_at_once || going.events >= removed_events_at_once;
  if (is_enough && going.roots.back() != root)
    if (Status removed = remove(shard); !removed) return removed;
  going.runs.push_back(pattern_);
  going.runs.back().shard = shard;
  going.runs.back().head = {state.id, state.seq, chain_hash};
  sign(going.runs.back(), store_.identity(), key_);
  going.roots.push_back(root);
  going.events += state.seq;
  return Done{};
}

// An open run may continue one, or have been forked from it, since the file was made.
void Archiver::keep_referred(Going& going) {
  std::vector<RunArchive::Member> members;
  for (const Tombstone& one : going.runs) members.push_back({one.head.run, true});
  const std::set<RunId> referred = archive_.kept_for_open_runs(members);
  if (referred.empty()) return;
  std::map<RunId, RunId> kept;  // root -> the run that is referred to
  for (std::size_t at = 0; at < going.runs.size(); ++at)
    if (referred.contains(going.runs[at].head.run)) kept.emplace(going.roots[at], going.runs[at].head.run);
  for (const auto& [root, run] : kept)
    if (store_.run(run)) kept_(root, why_referred(root, run));
  Going left;
  for (std::size_t at = 0; at < going.runs.size(); ++at) {
    if (kept.contains(going.roots[at])) continue;
    left.runs.push_back(std::move(going.runs[at]));
    left.roots.push_back(going.roots[at]);
  }
  going = std::move(left);
}

Status Archiver::remove(Shard shard) {
  Going going = std::exchange(going_[static_cast<std::size_t>(shard)], {});
  if (!going.runs.empty()) keep_referred(going);
  if (going.runs.empty()) return Done{};
  if (Status alone = lock().check(); !alone) return alone;
  const Result<std::int64_t> removed = archive_.remove(shard, going.runs, going.roots);
  if (!removed) return removed.error();
  report_.removed += *removed;
  return Done{};
}

}  // namespace cairn

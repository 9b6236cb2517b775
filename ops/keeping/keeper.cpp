#include "ops/keeping/keeper.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <spdlog/spdlog.h>

#include "storage/clock.hpp"
#include "storage/ground/kept_on_disk.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t again_after_us = 600'000'000;
constexpr std::int64_t rest_of_a_pass = 50;  // a pass over everything takes at most such a part of the time
constexpr RunArchive::Place from_the_beginning{std::numeric_limits<TimeUs>::min(), RunId{}};

std::string utc(TimeUs at_us, const char* form) {
  const std::time_t seconds = at_us / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, form, &parts);
  return text;
}

// The page may begin with a run that is kept for now, and then begins so again: the time makes the name new.
std::string name_of_file(const std::vector<RunArchive::Place>& page, TimeUs now_us) {
  const std::string micros = std::to_string(1'000'000 + now_us % 1'000'000).substr(1);
  return utc(page.front().first, "%Y-%m-") + to_string(page.front().second) + "-" + to_string(page.back().second) +
         "-" + utc(now_us, "%Y%m%dT%H%M%S.") + micros + "Z.jsonl.zst";
}

// The next time for what began then and has ended now.
std::int64_t next_after(std::int64_t began_us) {
  const std::int64_t ended_us = steady_us();
  return ended_us + std::max(again_after_us, (ended_us - began_us) * rest_of_a_pass);
}

Error cannot_make(const fs::path& path) {
  return {Code::invalid, "Expected to write into " + path.string() + ", but it cannot be written."};
}

// The entry that says that a file's runs are being removed; it holds the file's path below the database's folder. It is
// on disk before the first of them goes, so that what is left of them lands in no second file after a loss of power.
class Removing {
 public:
  Removing(const fs::path& folder, const fs::path& file)
      : entry_(folder / "removing" / (file.filename().string() + ".path")),
        text_(fs::relative(file, folder).string()) {}

  Status note() const {
    const fs::path entries = entry_.parent_path();
    if (!make_kept_folder(entries)) return cannot_make(entries);
    std::ofstream out(entry_, std::ios::binary | std::ios::trunc);
    out << text_;
    out.close();
    const bool is_kept = out && keep_on_disk(entry_) && keep_on_disk(entries);
    return is_kept ? Status(Done{}) : Status(cannot_make(entry_));
  }
  void forget() const {
    std::error_code ignored;
    fs::remove(entry_, ignored);
  }

 private:
  const fs::path entry_;
  const std::string text_;
};

// The paths that entries hold. A graph may be named like their folder, and have its files there.
std::vector<fs::path> files_under_way(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder / "removing", none)) {
    if (entry.path().extension() != ".path") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string text;
    std::getline(in, text);
    if (!text.empty()) files.push_back(folder / text);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Keeper::Keeper(Store& store, const std::string& owner_dsn, const SigningKey& key, const std::string& folder)
    : store_(store),
      key_(key),
      folder_((fs::path(folder) / store.identity()).string()),
      archive_(owner_dsn),
      erasure_(owner_dsn),
      signatures_(owner_dsn, store.shards()),
      policies_(store) {}

void Keeper::give_up() {
  archive_.give_up();
  erasure_.give_up();
}

Result<KeepPass> Keeper::pass(std::int32_t portion) {
  KeepPass pass;
  if (policies_.current().empty() && files_under_way(folder_).empty()) return pass;
  const Result<std::unique_ptr<ArchiveLock>> lock = archive_.lock(0);
  if (!lock) return lock.error();
  pass.is_another_at_it = *lock == nullptr;
  if (pass.is_another_at_it) return pass;
  if (Status done = pass_alone({**lock, pass}, portion); !done) return done.error();
  return pass;
}

// The first refusal of a file or a graph; the others go on.
Status Keeper::pass_alone(const Alone& alone, std::int32_t portion) {
  Status first = go_on(alone);
  for (const KeepPolicy& policy : policies_.current()) {
    const std::vector<RunArchive::Place> page = page_of(policy, portion);
    alone.pass.has_more = alone.pass.has_more || std::ssize(page) == portion;
    if (page.empty()) continue;
    if (Status still = alone.lock.check(); !still) return still;
    if (Status archived = archive(policy, page, alone); !archived && first) first = archived;
  }
  if (Status still = alone.lock.check(); !still) return still;
  if (Status removed = remove_values(alone.pass); !removed && first) first = removed;
  return first;
}

// A pass from the beginning goes over all that may not go yet, so it is taken seldom; between two of them the page
// begins where the one before ended.
std::vector<RunArchive::Place> Keeper::page_of(const KeepPolicy& policy, std::int32_t portion) {
  const auto [found, is_new] = marks_.try_emplace(policy.graph, Mark{from_the_beginning, 0});
  Mark& mark = found->second;
  const std::int64_t began_us = steady_us();
  const bool is_from_the_beginning = began_us >= mark.again_at_us;
  if (is_from_the_beginning) mark.last = from_the_beginning;
  const std::vector<RunArchive::Place> page =
      archive_.due(policy.graph, store_.database_time() - policy.keep_us, mark.last, portion);
  if (is_from_the_beginning) mark.again_at_us = next_after(began_us);
  if (!page.empty()) mark.last = page.back();
  return page;
}

Status Keeper::archive(const KeepPolicy& policy, const std::vector<RunArchive::Place>& page, const Alone& alone) {
  const fs::path file = fs::path(folder_) / policy.graph / name_of_file(page, store_.database_time());
  if (!make_kept_folder(file.parent_path())) return cannot_make(file.parent_path());
  if (fs::exists(file))  // only go_on() takes a file for one whose runs are still to be removed
    return Error{Code::conflict,
                 "Expected no file " + file.string() + " before its runs are archived, but it is there."};
  const Removing removing(folder_, file);
  if (Status noted = removing.note(); !noted) return noted;
  std::vector<RunId> roots;
  for (const auto& [started_at, run] : page) roots.push_back(run);
  const Result<ArchiveReport> report = archive_into(file.string(), roots, "policy:" + policy.graph, alone.lock);
  if (!report) return report.error();
  removing.forget();
  if (report->runs == 0) return Done{};
  alone.pass.runs += report->runs;
  alone.pass.removed += report->removed;
  alone.pass.files.push_back(file.string());
  return Done{};
}

// Also where the policy was withdrawn or is longer by now: each run of a complete file leaves the database, so that it
// is there or in that file, and lands in no second one when its time comes. At most a portion of runs is concerned. An
// entry without a file is left by a process that ended before its file was complete. The first refusal.
Status Keeper::go_on(const Alone& alone) {
  Status first = Done{};
  for (const fs::path& file : files_under_way(folder_)) {
    if (fs::exists(file)) {
      const Result<ArchiveReport> report = archive_into(file.string(), {}, "policy", alone.lock);
      if (!report) {
        if (first) first = report.error();
        continue;
      }
      alone.pass.removed += report->removed;
      alone.pass.files.push_back(file.string());
    }
    std::error_code ignored;
    fs::remove(file.string() + ".part", ignored);
    Removing(folder_, file).forget();
  }
  return first;
}

// The log is read to find which values are used.
Status Keeper::remove_values(KeepPass& pass) {
  const std::int64_t began_us = steady_us();
  if (began_us < values_again_at_us_) return Done{};
  values_again_at_us_ = next_after(began_us);  // also if it fails: it reads the log again from the beginning
  for (Shard shard = 0; shard < store_.shards(); ++shard) {
    const Result<RunErasure::Values> values = erasure_.remove_values(shard, unused_for_us);
    if (!values) return values.error();
    pass.values += values->removed;
  }
  values_again_at_us_ = next_after(began_us);
  return Done{};
}

Result<ArchiveReport> Keeper::archive_into(const std::string& file, const std::vector<RunId>& roots,
                                           const std::string& by, ArchiveLock& lock) {
  const auto kept = [](const RunId& run, const std::string& why) {
    spdlog::debug("Run {} is kept for now: {}.", to_string(run), why);
  };
  Archiver archiver(store_, archive_, signatures_, key_, kept);
  archiver.work_under(lock);
  return archiver.archive(file, roots, by);
}

}  // namespace cairn

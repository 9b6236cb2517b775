#include "workers/tools/repository/history_cache.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/clock.hpp"

namespace cairn {
namespace {

// The time after which a call reads no more, so that what it has read can be kept before its own time is over.
std::int64_t reading_ms_of(std::int64_t timeout_ms) { return timeout_ms - timeout_ms / 8; }

using Places = std::unordered_map<std::string_view, std::size_t>;  // of the commits of a log, by id

Places places_of(const CommitLog& log) {
  Places places;
  places.reserve(log.commits.size());
  for (std::size_t i = 0; i < log.commits.size(); ++i) places.emplace(log.id_of(log.commits[i]), i);
  return places;
}

}  // namespace

struct HistoryCache::Reading {
  std::string repository;
  std::string source;  // "": it is not kept in the folder
  std::string head;
  TimeUs until_us = 0;

  std::int64_t left_ms() const { return (until_us - steady_us()) / 1000; }
};

HistoryCache::HistoryCache(const std::string& directory, HistoryCacheLimits limits)
    : folder_(directory, limits.folder_bytes_max), limits_(limits) {}

std::size_t HistoryCache::commits_read() const {
  const std::lock_guard lock(mutex_);
  return commits_read_;
}

std::shared_ptr<HistoryCache::Entry> HistoryCache::entry_of(const std::string& source) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Entry>& entry = entries_[source];
  if (!entry) entry = std::make_shared<Entry>();
  entry->used = ++uses_;
  return entry;
}

// Drops the entries that were used longest ago until the others fit; a call that reads one of them keeps its own.
void HistoryCache::keep(const std::shared_ptr<Entry>& entry, std::shared_ptr<const CommitLog> log) {
  const std::size_t bytes = size_of(*log);
  entry->log = std::move(log);
  const std::lock_guard lock(mutex_);
  entry->bytes = bytes;
  std::size_t sum = 0;
  for (const auto& [source, kept] : entries_) sum += kept->bytes;
  while (sum > limits_.memory_bytes_max && !entries_.empty()) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                         [](const auto& a, const auto& b) { return a.second->used < b.second->used; });
    sum -= oldest->second->bytes;
    entries_.erase(oldest);
  }
}

// Reads what `known` lacks. A head that came from the known one adds commits before it; any other takes over those
// that both have.
Result<std::shared_ptr<const CommitLog>> HistoryCache::bring_forward(const Reading& reading, const CommitLog& known,
                                                                     const std::shared_ptr<Entry>& entry) {
  const bool is_forward =
      !known.head.empty() && git_came_from(reading.repository, reading.head, known.head, reading.left_ms());
  Result<std::vector<std::string>> ids =
      git_commit_ids(reading.repository, reading.head, is_forward ? known.head : "", reading.left_ms());
  if (!ids) return ids.error();
  const Places places = is_forward ? Places() : places_of(known);
  CommitLogWriter writer(is_forward ? known : CommitLog());
  std::vector<std::string> wanted;
  for (std::string& id : *ids) {
    const auto at = places.find(id);
    if (at != places.end()) {
      writer.add(known, known.commits[at->second]);
    } else {
      wanted.push_back(std::move(id));
    }
  }
  const std::span<const std::string> all(wanted);
  std::size_t read = 0;
  std::optional<Error> refused;
  while (read < all.size() && !refused) {
    const auto part = all.subspan(read, std::min(limits_.commits_of_a_part, all.size() - read));
    const Result<std::vector<CodeCommit>> commits = git_commits(reading.repository, part, reading.left_ms());
    if (!commits) {
      refused = commits.error();
    } else {
      for (const CodeCommit& commit : *commits) writer.add(commit);
      read += part.size();
      const std::lock_guard lock(mutex_);
      commits_read_ += part.size();
    }
    if (size_of(writer.log()) > history_bytes_max) {
      return Error{Code::limit, "Expected a history of at most " + std::to_string(history_bytes_max) + " bytes at " +
                                    reading.repository + ", but it has more."};
    }
  }
  writer.sort();
  auto log = std::make_shared<const CommitLog>(writer.take(refused ? "" : reading.head));
  const bool is_worth_keeping = read > 0 || !refused;
  if (is_worth_keeping) {
    keep(entry, log);
    if (!reading.source.empty()) folder_.write(reading.source, *log);
  }
  if (!refused) return log;
  if (refused->code != Code::unavailable || read == 0) return *refused;
  return Error{Code::unavailable, "Expected to read the history of " + reading.repository + " in time, but " +
                                      std::to_string(all.size() - read) + " of its " +
                                      std::to_string(log->commits.size() + all.size() - read) +
                                      " commits are left; the next attempt goes on from there."};
}

Result<std::shared_ptr<const CommitLog>> HistoryCache::read(const std::string& repository, const GitState& state,
                                                            std::int64_t timeout_ms) {
  // The oldest commits of a cut history change when it is deepened, so none of it is kept.
  const std::shared_ptr<Entry> entry = state.is_shallow ? std::make_shared<Entry>() : entry_of(state.directory);
  const Reading reading{repository, state.is_shallow ? "" : state.directory, state.head,
                        steady_us() + reading_ms_of(timeout_ms) * 1000};
  const std::unique_lock lock(entry->reading, std::chrono::milliseconds(std::max<std::int64_t>(reading.left_ms(), 1)));
  if (!lock.owns_lock()) {
    return Error{Code::unavailable,
                 "Expected to read the history of " + repository + " in time, but another call is still reading it."};
  }
  if (!entry->log && !reading.source.empty()) {
    if (std::optional<CommitLog> kept = folder_.read(reading.source))
      keep(entry, std::make_shared<const CommitLog>(*std::move(kept)));
  }
  if (entry->log && entry->log->head == state.head) return entry->log;
  const std::shared_ptr<const CommitLog> known = entry->log ? entry->log : std::make_shared<const CommitLog>();
  return bring_forward(reading, *known, entry);
}

}  // namespace cairn

// Histories of git repositories, each read once: kept in memory and in a folder, and brought forward by the new commits
// alone when HEAD has moved. Reading goes in parts, so that no more than the history and one part is in memory, and a
// part that was read stays when time runs out: the next attempt goes on from there. Calls for one repository wait for
// each other. Blocks; safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "workers/tools/repository/git_log.hpp"
#include "workers/tools/repository/history_file.hpp"

namespace cairn {

struct HistoryCacheLimits {
  std::size_t memory_bytes_max = history_bytes_max;  // of all histories; those used longest ago go
  std::size_t folder_bytes_max = 1024UL * 1024 * 1024;
  std::size_t commits_of_a_part = 4000;
};

class HistoryCache {
 public:
  // `directory`: see HistoryFolder; "": memory only.
  explicit HistoryCache(const std::string& directory = "", HistoryCacheLimits limits = {});

  // A history is shared because a call may use one that the cache has already let go.
  // Refuses as git_log.hpp says; `unavailable` also if another call does not finish reading it in time, and `limit` if
  // it takes more than history_bytes_max.
  Result<std::shared_ptr<const CommitLog>> read(const std::string& repository, const GitState& state,
                                                std::int64_t timeout_ms);

  std::size_t commits_read() const;  // from git, so far: what is kept is not read

 private:
  struct Entry {
    std::timed_mutex reading;  // guards `log`
    std::shared_ptr<const CommitLog> log;
    std::uint64_t used = 0;  // guarded by the cache's mutex, as is `bytes`
    std::size_t bytes = 0;
  };
  struct Reading;

  std::shared_ptr<Entry> entry_of(const std::string& source);
  void keep(const std::shared_ptr<Entry>& entry, std::shared_ptr<const CommitLog> log);
  Result<std::shared_ptr<const CommitLog>> bring_forward(const Reading& reading, const CommitLog& known,
                                                         const std::shared_ptr<Entry>& entry);

  HistoryFolder folder_;
  HistoryCacheLimits limits_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries_;
  std::uint64_t uses_ = 0;
  std::size_t commits_read_ = 0;
};

}  // namespace cairn

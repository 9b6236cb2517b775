// The commits of a code base, as they are read and as they are kept. Plain values.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/id.hpp"
#include "engine/result.hpp"

namespace cairn {

inline constexpr std::size_t history_bytes_max = 256u * 1024 * 1024;  // of one CommitLog, and of one numstat file

// One file of a commit, as its source has it.
struct FileChange {
  std::string path;
  std::string from;        // of a rename: the path before; else ""
  std::int64_t added = 0;  // 0 for a binary file
  std::int64_t deleted = 0;
};

// One commit, as its source has it.
struct CodeCommit {
  std::string id;
  std::string author;
  std::string email;    // "" if the source has none
  std::string date;     // as recorded, RFC 3339, or a day
  std::string subject;  // "" if the source has none
  TimeUs at_us = 0;     // of `date`
  TimeUs committed_us = 0;
  std::vector<FileChange> files;
};

inline constexpr std::uint32_t no_path = std::numeric_limits<std::uint32_t>::max();

// A long history in little memory: names stand once, and commits refer to them by number.
struct CommitLog {
  struct Author {
    std::string name;
    std::string email;
    bool operator==(const Author&) const = default;
  };
  struct Change {
    std::uint32_t path = 0;
    std::uint32_t from = no_path;
    std::uint32_t added = 0;
    std::uint32_t deleted = 0;
    bool operator==(const Change&) const = default;
  };
  struct Commit {
    std::int64_t at_s = 0;  // seconds since 1970, when it was written
    std::int64_t committed_s = 0;
    std::uint64_t subject_at = 0;
    std::uint64_t id_at = 0;
    std::uint32_t change_at = 0;
    std::uint32_t changes = 0;
    std::uint32_t author = 0;
    std::uint16_t subject_bytes = 0;
    std::int16_t zone_minutes = 0;
    std::uint16_t id_bytes = 0;
    bool operator==(const Commit&) const = default;
  };

  std::string head;  // the commit whose history this is; "": it is not complete yet
  std::vector<Author> authors;
  std::vector<std::string> paths;
  std::vector<Commit> commits;  // latest first
  std::vector<Change> changes;
  std::string subjects;
  std::string ids;

  bool operator==(const CommitLog&) const = default;

  std::string_view id_of(const Commit& commit) const {
    return std::string_view(ids).substr(commit.id_at, commit.id_bytes);
  }
  std::string_view subject_of(const Commit& commit) const {
    return std::string_view(subjects).substr(commit.subject_at, commit.subject_bytes);
  }
};

// The bytes that it takes in memory, near enough for a bound.
std::size_t size_of(const CommitLog& log);

// 2024-10-22, as the author's clock had it.
std::string commit_day(const CommitLog::Commit& commit);
std::string commit_day(TimeUs at_us);

// The texts that CommitLog numbers, and the way of commits into it. Not thread-safe.
class CommitLogWriter {
 public:
  explicit CommitLogWriter(CommitLog log = {});
  ~CommitLogWriter();
  CommitLogWriter(const CommitLogWriter&) = delete;
  CommitLogWriter& operator=(const CommitLogWriter&) = delete;

  // Adds a commit after the others. Subjects are cut at `subject_bytes_max`.
  void add(const CodeCommit& commit);
  void add(const CommitLog& other, const CommitLog::Commit& commit);

  // Brings the commits into their order: latest first by the committer's time, equals as they stand.
  void sort();

  const CommitLog& log() const { return log_; }
  CommitLog take(std::string head);

 private:
  struct Numbers;
  std::uint32_t author(const CommitLog::Author& author);
  std::uint32_t path(const std::string& path);

  CommitLog log_;
  std::unique_ptr<Numbers> numbers_;
};

inline constexpr std::size_t subject_bytes_max = 200;

}  // namespace cairn

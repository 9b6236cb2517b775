#include "workers/tools/repository/commits.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace cairn {
namespace {

constexpr std::int64_t second_us = 1'000'000;
constexpr std::int64_t minute_us = 60 * second_us;

std::uint32_t lines(std::int64_t count) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 0, std::numeric_limits<std::uint32_t>::max()));
}

// The offset at the end of an RFC 3339 time; 0 if it is Z or the date is a day.
std::int16_t zone_of(std::string_view date) {
  if (date.size() < 16) return 0;
  const std::string_view zone = date.substr(date.size() - 6);
  if ((zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return 0;
  int hours = 0;
  int minutes = 0;
  std::from_chars(zone.data() + 1, zone.data() + 3, hours);
  std::from_chars(zone.data() + 4, zone.data() + 6, minutes);
  const int offset = hours * 60 + minutes;
  return static_cast<std::int16_t>(zone[0] == '-' ? -offset : offset);
}

// Cut where a character of UTF-8 begins.
std::string_view subject_shown(std::string_view subject) {
  if (subject.size() <= subject_bytes_max) return subject;
  std::size_t size = subject_bytes_max;
  while (size > 0 && (static_cast<unsigned char>(subject[size]) & 0xc0U) == 0x80U) --size;
  return subject.substr(0, size);
}

std::string key_of(const CommitLog::Author& author) { return author.name + '\n' + author.email; }

}  // namespace

std::size_t size_of(const CommitLog& log) {
  const auto texts = [](std::size_t sum, const std::string& text) {
    return sum + sizeof(std::string) + (text.size() > 15 ? text.size() : 0);
  };
  const std::size_t authors = std::accumulate(
      log.authors.begin(), log.authors.end(), std::size_t{0},
      [&](std::size_t sum, const CommitLog::Author& author) { return texts(texts(sum, author.name), author.email); });
  return std::accumulate(log.paths.begin(), log.paths.end(), authors, texts) + log.subjects.size() + log.ids.size() +
         log.commits.size() * sizeof(CommitLog::Commit) + log.changes.size() * sizeof(CommitLog::Change);
}

std::string commit_day(TimeUs at_us) { return time_text(at_us).substr(0, 10); }

std::string commit_day(const CommitLog::Commit& commit) {
  return commit_day(commit.at_s * second_us + commit.zone_minutes * minute_us);
}

struct CommitLogWriter::Numbers {
  std::unordered_map<std::string, std::uint32_t> authors;
  std::unordered_map<std::string, std::uint32_t> paths;
};

CommitLogWriter::CommitLogWriter(CommitLog log) : log_(std::move(log)), numbers_(std::make_unique<Numbers>()) {
  for (std::size_t i = 0; i < log_.authors.size(); ++i)
    numbers_->authors.emplace(key_of(log_.authors[i]), static_cast<std::uint32_t>(i));
  for (std::size_t i = 0; i < log_.paths.size(); ++i)
    numbers_->paths.emplace(log_.paths[i], static_cast<std::uint32_t>(i));
}

CommitLogWriter::~CommitLogWriter() = default;

std::uint32_t CommitLogWriter::author(const CommitLog::Author& author) {
  const auto [at, is_new] =
      numbers_->authors.try_emplace(key_of(author), static_cast<std::uint32_t>(log_.authors.size()));
  if (is_new) log_.authors.push_back(author);
  return at->second;
}

std::uint32_t CommitLogWriter::path(const std::string& path) {
  const auto [at, is_new] = numbers_->paths.try_emplace(path, static_cast<std::uint32_t>(log_.paths.size()));
  if (is_new) log_.paths.push_back(path);
  return at->second;
}

void CommitLogWriter::add(const CodeCommit& commit) {
  const std::string_view subject = subject_shown(commit.subject);
  CommitLog::Commit added;
  added.at_s = commit.at_us / second_us;
  added.committed_s = commit.committed_us / second_us;
  added.subject_at = log_.subjects.size();
  added.subject_bytes = static_cast<std::uint16_t>(subject.size());
  added.id_at = log_.ids.size();
  added.id_bytes = static_cast<std::uint16_t>(std::min<std::size_t>(commit.id.size(), 1000));
  added.change_at = static_cast<std::uint32_t>(log_.changes.size());
  added.changes = static_cast<std::uint32_t>(commit.files.size());
  added.author = author({commit.author, commit.email});
  added.zone_minutes = zone_of(commit.date);
  log_.subjects += subject;
  log_.ids.append(commit.id, 0, added.id_bytes);
  for (const FileChange& file : commit.files) {
    const std::uint32_t from = file.from.empty() ? no_path : path(file.from);
    log_.changes.push_back({path(file.path), from, lines(file.added), lines(file.deleted)});
  }
  log_.commits.push_back(added);
}

void CommitLogWriter::add(const CommitLog& other, const CommitLog::Commit& commit) {
  CommitLog::Commit added = commit;
  added.subject_at = log_.subjects.size();
  added.id_at = log_.ids.size();
  added.change_at = static_cast<std::uint32_t>(log_.changes.size());
  added.author = author(other.authors[commit.author]);
  log_.subjects += other.subject_of(commit);
  log_.ids += other.id_of(commit);
  for (std::uint32_t i = 0; i < commit.changes; ++i) {
    CommitLog::Change change = other.changes[commit.change_at + i];
    change.path = path(other.paths[change.path]);
    if (change.from != no_path) change.from = path(other.paths[change.from]);
    log_.changes.push_back(change);
  }
  log_.commits.push_back(added);
}

void CommitLogWriter::sort() {
  std::stable_sort(
      log_.commits.begin(), log_.commits.end(),
      [](const CommitLog::Commit& a, const CommitLog::Commit& b) { return a.committed_s > b.committed_s; });
}

CommitLog CommitLogWriter::take(std::string head) {
  log_.head = std::move(head);
  return std::move(log_);
}

}  // namespace cairn

#include "workers/tools/repository/history_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/digest.hpp"

namespace cairn {
namespace {

constexpr std::string_view history_mark = "cairn-history 1\n";
constexpr std::string_view history_ending = ".history";
constexpr std::size_t file_bytes_max = 2 * history_bytes_max;

// --- writing ---------------------------------------------------------------------------------------------------------
class Bytes {
 public:
  explicit Bytes(std::size_t expected) { text_.reserve(expected); }

  template <class Number>
  void number(Number value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(Number); ++i, bits >>= 8U) text_ += static_cast<char>(bits & 0xffU);
  }
  void text(std::string_view value) {
    number(std::uint64_t{value.size()});
    text_ += value;
  }
  void raw(std::string_view value) { text_ += value; }
  std::string take() { return std::move(text_); }
  const std::string& so_far() const { return text_; }

 private:
  std::string text_;
};

// --- reading ---------------------------------------------------------------------------------------------------------
// Reads on; once something is missing, every further value is empty and is_whole() false.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  template <class Number>
  Number number() {
    std::uint64_t bits = 0;
    const std::string_view bytes = take(sizeof(Number));
    for (std::size_t i = bytes.size(); i-- > 0;) bits = bits << 8U | static_cast<unsigned char>(bytes[i]);
    return static_cast<Number>(bits);
  }
  std::string text() { return std::string(take(number<std::uint64_t>())); }
  // A count of elements that have at least that many bytes each.
  std::size_t count(std::size_t element_bytes) {
    const auto count = number<std::uint64_t>();
    is_whole_ = is_whole_ && count <= rest_.size() / element_bytes;
    return is_whole_ ? count : 0;
  }
  bool is_whole() const { return is_whole_; }
  bool is_at_end() const { return is_whole_ && rest_.empty(); }

 private:
  std::string_view take(std::uint64_t bytes) {
    is_whole_ = is_whole_ && bytes <= rest_.size();
    if (!is_whole_) return {};
    const std::string_view part = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return part;
  }

  std::string_view rest_;
  bool is_whole_ = true;
};

CommitLog::Commit read_commit(Reader& reader) {
  CommitLog::Commit commit;
  commit.at_s = reader.number<std::int64_t>();
  commit.committed_s = reader.number<std::int64_t>();
  commit.subject_at = reader.number<std::uint64_t>();
  commit.id_at = reader.number<std::uint64_t>();
  commit.change_at = reader.number<std::uint32_t>();
  commit.changes = reader.number<std::uint32_t>();
  commit.author = reader.number<std::uint32_t>();
  commit.subject_bytes = reader.number<std::uint16_t>();
  commit.zone_minutes = static_cast<std::int16_t>(reader.number<std::uint16_t>());
  commit.id_bytes = reader.number<std::uint16_t>();
  return commit;
}

constexpr std::size_t commit_bytes = 50;
constexpr std::size_t change_bytes = 16;

bool has_room(std::uint64_t at, std::uint64_t count, std::size_t size) { return at <= size && count <= size - at; }

// Every number refers to something that is there.
bool is_sound(const CommitLog& log) {
  const bool are_changes = std::all_of(log.changes.begin(), log.changes.end(), [&](const CommitLog::Change& change) {
    return change.path < log.paths.size() && (change.from == no_path || change.from < log.paths.size());
  });
  return are_changes && std::all_of(log.commits.begin(), log.commits.end(), [&](const CommitLog::Commit& commit) {
           return commit.author < log.authors.size() &&
                  has_room(commit.change_at, commit.changes, log.changes.size()) &&
                  has_room(commit.subject_at, commit.subject_bytes, log.subjects.size()) &&
                  has_room(commit.id_at, commit.id_bytes, log.ids.size());
         });
}

}  // namespace

std::string encode_history(const std::string& source, const CommitLog& log) {
  Bytes bytes(size_of(log) + source.size() + 1024);
  bytes.raw(history_mark);
  bytes.text(source);
  bytes.text(log.head);
  bytes.number(std::uint64_t{log.authors.size()});
  for (const CommitLog::Author& author : log.authors) {
    bytes.text(author.name);
    bytes.text(author.email);
  }
  bytes.number(std::uint64_t{log.paths.size()});
  for (const std::string& path : log.paths) bytes.text(path);
  bytes.number(std::uint64_t{log.commits.size()});
  for (const CommitLog::Commit& commit : log.commits) {
    bytes.number(commit.at_s);
    bytes.number(commit.committed_s);
    bytes.number(commit.subject_at);
    bytes.number(commit.id_at);
    bytes.number(commit.change_at);
    bytes.number(commit.changes);
    bytes.number(commit.author);
    bytes.number(commit.subject_bytes);
    bytes.number(static_cast<std::uint16_t>(commit.zone_minutes));
    bytes.number(commit.id_bytes);
  }
  bytes.number(std::uint64_t{log.changes.size()});
  for (const CommitLog::Change& change : log.changes) {
    bytes.number(change.path);
    bytes.number(change.from);
    bytes.number(change.added);
    bytes.number(change.deleted);
  }
  bytes.text(log.subjects);
  bytes.text(log.ids);
  const Hash hash = sha256(bytes.so_far());
  bytes.raw(std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size()));
  return bytes.take();
}

std::optional<CommitLog> decode_history(const std::string& source, std::string_view bytes) {
  constexpr std::size_t hash_bytes = std::tuple_size_v<Hash>;
  if (bytes.size() < history_mark.size() + hash_bytes || !bytes.starts_with(history_mark)) return std::nullopt;
  const Hash hash = sha256(bytes.substr(0, bytes.size() - hash_bytes));
  if (std::memcmp(hash.data(), bytes.data() + bytes.size() - hash_bytes, hash_bytes) != 0) return std::nullopt;
  Reader reader(bytes.substr(history_mark.size(), bytes.size() - hash_bytes - history_mark.size()));
  if (reader.text() != source) return std::nullopt;
  CommitLog log;
  log.head = reader.text();
  log.authors.resize(reader.count(16));
  for (CommitLog::Author& author : log.authors) {
    author.name = reader.text();
    author.email = reader.text();
  }
  log.paths.resize(reader.count(8));
  for (std::string& path : log.paths) path = reader.text();
  log.commits.resize(reader.count(commit_bytes));
  for (CommitLog::Commit& commit : log.commits) commit = read_commit(reader);
  log.changes.resize(reader.count(change_bytes));
  for (CommitLog::Change& change : log.changes) {
    change.path = reader.number<std::uint32_t>();
    change.from = reader.number<std::uint32_t>();
    change.added = reader.number<std::uint32_t>();
    change.deleted = reader.number<std::uint32_t>();
  }
  log.subjects = reader.text();
  log.ids = reader.text();
  if (!reader.is_at_end() || !is_sound(log)) return std::nullopt;
  return log;
}

HistoryFolder::HistoryFolder(std::string directory, std::size_t bytes_max)
    : folder_(std::move(directory), std::string(history_ending), bytes_max) {}

std::string HistoryFolder::file_of(const std::string& source) const { return folder_.file_of(source); }

std::optional<CommitLog> HistoryFolder::read(const std::string& source) const {
  const std::optional<std::string> bytes = folder_.read(source, file_bytes_max);
  return bytes ? decode_history(source, *bytes) : std::nullopt;
}

void HistoryFolder::write(const std::string& source, const CommitLog& log) const {
  if (folder_.is_there()) folder_.write(source, encode_history(source, log));
}

}  // namespace cairn

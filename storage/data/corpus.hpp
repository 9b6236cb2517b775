// Corpora in PostgreSQL: documents cut into passages, with full-text search in English. Uses an Administration of its
// own, opened at the first use. Safe from any thread (one lock).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/result.hpp"

namespace cairn {

class SharedAdministration;

struct Document {
  std::string source;  // "FOLDER/path/of/file.md"
  std::string title;
  std::vector<std::string> passages;
};

// A file of a loaded folder that could not be read.
struct UnreadFile {
  std::string source;
  std::string reason;  // one sentence
};

struct FoundPassage {
  std::string source;
  std::string title;
  std::string text;
};

struct CorpusQuery {
  std::string corpus;
  std::string words;
  std::int32_t limit = 5;
};

struct CorpusRow {
  std::string name;
  std::int64_t documents = 0;
  std::int64_t passages = 0;
  std::int64_t characters = 0;
};

struct CorpusLoad {
  std::int64_t added = 0;
  std::int64_t changed = 0;
  std::int64_t unchanged = 0;
  std::int64_t removed = 0;
};

class Corpora {
 public:
  // `dsn` is called at each connecting; if it refuses, so does the call that needed it.
  explicit Corpora(std::function<Result<std::string>()> dsn);
  ~Corpora();
  Corpora(const Corpora&) = delete;
  Corpora& operator=(const Corpora&) = delete;

  // Replaces the folder's documents in the corpus by these; other folders' stay. All or nothing.
  // REQUIRES: each source begins with "FOLDER/". Every function refuses `unavailable` (no database). Unread files are
  // remembered and counted like documents, but never found.
  Result<CorpusLoad> load(const std::string& corpus, const std::string& folder, const std::vector<Document>& documents,
                          const std::vector<UnreadFile>& unread = {});

  // Refuses `not_found` if there is no such corpus.
  Result<std::vector<FoundPassage>> search(const CorpusQuery& query);
  // All passages of the corpus, in order. Refuses `limit` if there are more than `count_max`.
  Result<std::vector<FoundPassage>> passages(const std::string& corpus, std::size_t count_max);
  // The first 50 unread files of the corpus, by their sources.
  Result<std::vector<UnreadFile>> unread(const std::string& corpus);
  Status drop(const std::string& corpus);

  Result<std::vector<CorpusRow>> list();

 private:
  std::unique_ptr<SharedAdministration> database_;
};

}  // namespace cairn

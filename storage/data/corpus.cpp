#include "storage/data/corpus.hpp"

#include <map>

#include "storage/chain.hpp"
#include "storage/postgres/shared_administration.hpp"

namespace cairn {
namespace {

// The title of the row that remembers an unread file; its text is the reason. A document's title has no such character.
constexpr const char* unread_title = "\x01unread";

constexpr std::int64_t load_limit_ms = 600'000;  // a load may wait for another one

Error no_corpus(const std::string& corpus) {
  return {Code::not_found, "Expected a corpus named " + corpus + ", but there is none; `cairn corpus load` makes one."};
}

Error too_many_passages(const std::string& corpus, std::size_t count_max) {
  return {Code::limit,
          "Expected at most " + std::to_string(count_max) + " passages in corpus " + corpus + ", but there are more."};
}

std::string digest_of(const Document& document) {
  std::string text = document.title;
  for (const std::string& passage : document.passages) text += "\n" + passage;
  return hex(sha256(text));
}

void insert(Administration& database, const std::string& corpus, const Document& document) {
  std::int32_t position = 0;
  for (const std::string& passage : document.passages)
    database.query("insert_passage", {corpus, document.source, std::to_string(++position), document.title, passage});
}

// REQUIRES: a transaction is open.
CorpusLoad replace(Administration& database, const std::string& corpus, const std::string& folder,
                   const std::vector<Document>& documents) {
  CorpusLoad report;
  const AdminRows rows = database.query("corpus_documents", {corpus, folder});
  rows.expect_columns({"source", ""});
  std::map<std::string, std::string> before;
  for (std::size_t row = 0; row < rows.size(); ++row) before[rows.text(row, 0)] = rows.text(row, 1);
  for (const Document& document : documents) {
    const auto found = before.find(document.source);
    const bool is_new = found == before.end();
    const bool is_same = !is_new && found->second == digest_of(document);
    if (!is_new) before.erase(found);
    ++(is_new ? report.added : is_same ? report.unchanged : report.changed);
    if (is_same) continue;
    database.query("delete_document", {corpus, document.source});
    insert(database, corpus, document);
  }
  for (const auto& [source, digest] : before) database.query("delete_document", {corpus, source});
  report.removed = static_cast<std::int64_t>(before.size());
  return report;
}

}  // namespace

Corpora::Corpora(std::function<Result<std::string>()> dsn)
    : database_(std::make_unique<SharedAdministration>(std::move(dsn), "cairn corpus", "the corpora", load_limit_ms)) {}

Corpora::~Corpora() = default;

Result<CorpusLoad> Corpora::load(const std::string& corpus, const std::string& folder,
                                 const std::vector<Document>& documents, const std::vector<UnreadFile>& unread) {
  std::vector<Document> rows = documents;
  for (const UnreadFile& file : unread) rows.push_back({file.source, unread_title, {file.reason}});
  return database_->use([&](Administration& database) -> Result<CorpusLoad> {
    database.begin();
    database.query("lock_corpus", {corpus});
    const CorpusLoad report = replace(database, corpus, folder, rows);
    database.commit();
    return report;
  });
}

Result<std::vector<FoundPassage>> Corpora::search(const CorpusQuery& query) {
  return database_->use([&](Administration& database) -> Result<std::vector<FoundPassage>> {
    const AdminRows rows =
        database.query("corpus_search", {query.corpus, query.words, std::to_string(query.limit), unread_title});
    if (rows.size() == 0 && !database.query("corpus_exists", {query.corpus}).boolean(0, 0))
      return no_corpus(query.corpus);
    rows.expect_columns({"source", "title", "text"});
    std::vector<FoundPassage> found;
    for (std::size_t row = 0; row < rows.size(); ++row)
      found.push_back({rows.text(row, 0), rows.text(row, 1), rows.text(row, 2)});
    return found;
  });
}

Result<std::vector<FoundPassage>> Corpora::passages(const std::string& corpus, std::size_t count_max) {
  return database_->use([&](Administration& database) -> Result<std::vector<FoundPassage>> {
    const AdminRows rows = database.query("corpus_passages", {corpus, unread_title, std::to_string(count_max + 1)});
    if (rows.size() > count_max) return too_many_passages(corpus, count_max);
    rows.expect_columns({"source", "title", "text"});
    std::vector<FoundPassage> found;
    for (std::size_t row = 0; row < rows.size(); ++row)
      found.push_back({rows.text(row, 0), rows.text(row, 1), rows.text(row, 2)});
    return found;
  });
}

Result<std::vector<UnreadFile>> Corpora::unread(const std::string& corpus) {
  return database_->use([&](Administration& database) -> Result<std::vector<UnreadFile>> {
    const AdminRows rows = database.query("corpus_unread", {corpus, unread_title});
    rows.expect_columns({"source", "text"});
    std::vector<UnreadFile> files;
    for (std::size_t row = 0; row < rows.size(); ++row) files.push_back({rows.text(row, 0), rows.text(row, 1)});
    return files;
  });
}

Status Corpora::drop(const std::string& corpus) {
  return database_->use([&](Administration& database) -> Status {
    if (!database.query("corpus_exists", {corpus}).boolean(0, 0)) return no_corpus(corpus);
    database.query("delete_corpus", {corpus});
    return Done{};
  });
}

Result<std::vector<CorpusRow>> Corpora::list() {
  return database_->use([&](Administration& database) -> Result<std::vector<CorpusRow>> {
    const AdminRows rows = database.query("corpora");
    rows.expect_columns({"corpus", "", "", ""});
    std::vector<CorpusRow> found;
    for (std::size_t row = 0; row < rows.size(); ++row)
      found.push_back({rows.text(row, 0), rows.number(row, 1), rows.number(row, 2), rows.number(row, 3)});
    return found;
  });
}

}  // namespace cairn

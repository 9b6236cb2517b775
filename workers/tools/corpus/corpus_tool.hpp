// The tool `corpus_search`: full-text search for passages of a corpus that have most of the given words. Native and
// blocking; safe from any thread.
//
// Inputs: {"corpus": NAME, "query": WORDS, "limit"?: 1..20}
// Outputs: {"corpus", "query", "hits": [{"title", "source", "excerpt"}]}, best first; "unreadable": [{"source",
// "reason"}] where files of the corpus could not be read
//
// The corpus `example` comes with the program: small, invented, and loaded into the database at its first use.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/data/corpus.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {

inline constexpr const char* example_corpus = "example";

struct CorpusAnswer {
  std::vector<FoundPassage> passages;  // best first
  std::vector<UnreadFile> unread;      // of the corpus, whatever was asked for
};

// The search of a place that holds corpora.
using SearchCorpus = std::function<Result<CorpusAnswer>(const CorpusQuery&)>;

// Corpora of a database, by PostgreSQL's full-text search. `dsn` is called at the first search.
SearchCorpus corpora_in_database(std::function<Result<std::string>()> dsn);

// Corpora in memory, by the same rule on words without their plural s: for tests and for programs without a database.
SearchCorpus corpora_in_memory(std::map<std::string, std::vector<Document>> corpora);

std::vector<Document> example_documents();

// `corpora`: those that may be searched, another one is refused with `refused`; none: all.
ToolSpec corpus_tool(SearchCorpus search, std::optional<std::vector<std::string>> corpora = {});

}  // namespace cairn

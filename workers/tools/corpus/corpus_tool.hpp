// The tool `corpus_search`: full-text search for passages of a corpus that have most of the given words. Native and
// blocking; safe from any thread.
//
// Inputs: {"corpus": NAME, "query": WORDS, "limit"?: 1..20, "region"?: NAME}
// Outputs: {"corpus", "query", "hits": [{"title", "source", "excerpt"}]}, best first; "unreadable": [{"source",
// "reason"}] where files of the corpus could not be read; where a second ranking by meaning is configured,
// "found_by": ["words", "meaning"] in each hit, and "meaning": {"model", "passages", "known", "fault"?}. With a region,
// those of the 50 best that name it, or whose title does, go before the others ("names_region" in each hit).
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

// The second ranking of a search, by meaning (meaning.hpp), and which ranking each passage was found by.
struct MeaningReport {
  struct FoundBy {
    bool words = false;
    bool meaning = false;
  };
  std::string model;
  std::size_t passages = 0;  // of the corpus
  std::size_t known = 0;     // of these, those with a vector
  std::string fault;         // "": none; else why there is no such ranking, or not of all passages
  std::vector<FoundBy> found_by;
};

struct CorpusAnswer {
  std::vector<FoundPassage> passages;  // best first
  std::vector<UnreadFile> unread;      // of the corpus, whatever was asked for
  std::optional<MeaningReport> meaning = {};
};

// The search of a place that holds corpora.
using SearchCorpus = std::function<Result<CorpusAnswer>(const CorpusQuery&)>;

// Corpora of a database, by PostgreSQL's full-text search. `dsn` is called at the first search.
SearchCorpus corpora_in_database(std::function<Result<std::string>()> dsn);

// Corpora in memory, by the same rule on words without their plural s: for tests and for programs without a database.
SearchCorpus corpora_in_memory(std::map<std::string, std::vector<Document>> corpora);

// All passages of a corpus, in order; refuses `limit` if there are more than `count_max`, `not_found` if there is none
// of that name in memory.
using ReadCorpus = std::function<Result<std::vector<FoundPassage>>(const std::string& corpus, std::size_t count_max)>;
ReadCorpus passages_in_database(std::function<Result<std::string>()> dsn);
ReadCorpus passages_in_memory(std::map<std::string, std::vector<Document>> corpora);

std::vector<Document> example_documents();

// `corpora`: those that may be searched, another one is refused with `refused`; none: all.
ToolSpec corpus_tool(SearchCorpus search, std::optional<std::vector<std::string>> corpora = {});

}  // namespace cairn

// A second ranking of a corpus' passages, by meaning: the likeness of their vectors to that of the words asked for. It
// is joined with the ranking by words, so that a passage in other words is found. Without an answer of the endpoint,
// the words alone decide, and the answer says why. Blocks; safe from any thread (one lock for each corpus).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workers/models/embeddings.hpp"
#include "workers/tools/corpus/corpus_tool.hpp"

namespace cairn {

struct MeaningLimits {
  std::size_t passages_max = 20'000;  // of a corpus; a larger one is searched by words alone
  // For all vectors: those of the corpus used longest ago go, never those of the corpus that is searched.
  std::size_t memory_bytes_max = std::size_t{256} << 20;
  std::size_t folder_bytes_max = std::size_t{1} << 30;
  std::int64_t embedding_ms_max = 20'000;  // of one search; what is missing then comes with later ones
};

// `words` with the second ranking. `passages` gives all of a corpus. `folder`: for vectors, see KeptFolder; "": they
// are kept in memory.
SearchCorpus with_meaning(SearchCorpus words, ReadCorpus passages, EmbeddingEndpoint endpoint, std::string folder,
                          MeaningLimits limits = {});

// Reciprocal rank fusion (Cormack, Clarke, Buettcher: "Reciprocal rank fusion outperforms Condorcet and individual rank
// learning methods", SIGIR 2009): the sum of 1 / (60 + rank) over the rankings that have it. The places of the best
// first; equals in the order of the first ranking. Pure.
std::vector<std::size_t> fused(const std::vector<std::vector<std::size_t>>& rankings);

}  // namespace cairn

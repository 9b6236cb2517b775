#include "workers/tools/corpus/meaning.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "storage/clock.hpp"
#include "workers/ports/kept_folder.hpp"
#include "workers/tools/corpus/vectors.hpp"

namespace cairn {
namespace {

constexpr double fusion_constant = 60;   // of the paper
constexpr std::int32_t ranked_max = 50;  // of each ranking
constexpr std::string_view vectors_ending = ".vectors";

std::string text_of_passage(const FoundPassage& passage) { return passage.title + "\n" + passage.text; }

using PassageName = std::tuple<std::string, std::string, std::string>;
PassageName name_of(const FoundPassage& passage) { return {passage.source, passage.title, passage.text}; }

// The vectors of one corpus.
struct KnownVectors {
  std::timed_mutex filling;  // guards `vectors`
  Vectors vectors;
  bool is_read = false;    // from the folder
  std::uint64_t used = 0;  // guarded by the lock of all, as is `bytes`
  std::size_t bytes = 0;
};

class Meaning {
 public:
  Meaning(SearchCorpus words, ReadCorpus passages, EmbeddingEndpoint endpoint, std::string folder, MeaningLimits limits)
      : words_(std::move(words)),
        passages_(std::move(passages)),
        endpoint_(std::move(endpoint)),
        folder_(std::move(folder), std::string(vectors_ending), limits.folder_bytes_max),
        limits_(limits) {}

  Result<CorpusAnswer> search(const CorpusQuery& query) {
    CorpusQuery wider = query;
    wider.limit = std::max(query.limit, ranked_max);
    Result<CorpusAnswer> answer = words_(wider);
    if (!answer) return answer;
    CorpusAnswer by_words = *std::move(answer);
    MeaningReport report;
    report.model = endpoint_.model;
    Result<std::vector<FoundPassage>> by_meaning = ranked(query, report);
    if (!by_meaning) report.fault = by_meaning.error().message;
    return joined(std::move(by_words), by_meaning ? *std::move(by_meaning) : std::vector<FoundPassage>(),
                  std::move(report), query.limit);
  }

 private:
  // The passages nearest to what is asked, the nearest first.
  Result<std::vector<FoundPassage>> ranked(const CorpusQuery& query, MeaningReport& report) {
    const TimeUs until_us = steady_us() + limits_.embedding_ms_max * 1000;
    Result<std::vector<FoundPassage>> passages = passages_(query.corpus, limits_.passages_max);
    if (!passages) return passages.error();
    report.passages = passages->size();
    if (passages->empty()) return std::vector<FoundPassage>();
    Result<std::vector<Vector>> asked = embed(endpoint_, std::vector<std::string>{query.words}, left_ms(until_us));
    if (!asked) return asked.error();
    const std::shared_ptr<KnownVectors> known = vectors_of(query.corpus);
    const std::unique_lock lock(known->filling, std::chrono::milliseconds(left_ms(until_us)));
    if (!lock.owns_lock())
      return Error{Code::unavailable, "Expected the vectors of corpus " + query.corpus +
                                          " in time, but another search is still asking for them."};
    const Status filled = fill(*known, query.corpus, *passages, asked->front().size(), until_us);
    account(*known);
    report.known = static_cast<std::size_t>(std::count_if(passages->begin(), passages->end(), [&](const auto& passage) {
      return known->vectors.contains(key_of(passage));
    }));
    if (!filled && report.known == 0) return filled.error();
    if (!filled) report.fault = filled.error().message;
    return nearest(*std::move(passages), known->vectors, asked->front());
  }

  static std::int64_t left_ms(TimeUs until_us) { return std::max<std::int64_t>((until_us - steady_us()) / 1000, 1); }

  Hash key_of(const FoundPassage& passage) const { return sha256(endpoint_.model + "\n" + text_of_passage(passage)); }
  std::string source_of(const std::string& corpus) const {
    return endpoint_.url + "\n" + endpoint_.model + "\n" + corpus;
  }

  std::shared_ptr<KnownVectors> vectors_of(const std::string& corpus) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<KnownVectors>& known = known_[corpus];
    if (!known) known = std::make_shared<KnownVectors>();
    known->used = ++uses_;
    return known;
  }

  // Asks for what is missing, in parts; those that have come stay, also when a later one fails. Vectors of another size
  // than `parts` are of a model that had this name before.
  Status fill(KnownVectors& known, const std::string& corpus, const std::vector<FoundPassage>& passages,
              std::size_t parts, TimeUs until_us) {
    read_kept(known, corpus);
    std::erase_if(known.vectors, [parts](const auto& one) { return one.second.size() != parts; });
    std::map<Hash, std::string> missing;
    std::set<Hash> present;
    for (const FoundPassage& passage : passages) {
      const Hash key = key_of(passage);
      present.insert(key);
      if (!known.vectors.contains(key)) missing.emplace(key, text_of_passage(passage));
    }
    const std::size_t gone =
        std::erase_if(known.vectors, [&](const auto& one) { return !present.contains(one.first); });
    const std::size_t before = known.vectors.size();
    const Status filled = ask_for(known, missing, until_us);
    if (known.vectors.size() != before || gone > 0) keep(known, corpus);
    return filled;
  }

  Status ask_for(KnownVectors& known, const std::map<Hash, std::string>& missing, TimeUs until_us) {
    for (auto next = missing.begin(); next != missing.end();) {
      if (steady_us() >= until_us)
        return Error{Code::unavailable, "Expected all passages' vectors in time, but " +
                                            std::to_string(std::distance(next, missing.end())) +
                                            " are left; the next search goes on from there."};
      std::vector<Hash> keys;
      std::vector<std::string> texts;
      for (; next != missing.end() && texts.size() < embedded_texts_max; ++next) {
        keys.push_back(next->first);
        texts.push_back(next->second);
      }
      Result<std::vector<Vector>> vectors = embed(endpoint_, texts, left_ms(until_us));
      if (!vectors) return vectors.error();
      // The model may have been exchanged since the words were asked for.
      const std::size_t size = vectors->front().size();
      std::erase_if(known.vectors, [size](const auto& one) { return one.second.size() != size; });
      for (std::size_t i = 0; i < keys.size(); ++i) known.vectors[keys[i]] = std::move((*vectors)[i]);
    }
    return Done{};
  }

  void read_kept(KnownVectors& known, const std::string& corpus) {
    if (std::exchange(known.is_read, true)) return;
    const std::string source = source_of(corpus);
    if (const auto bytes = folder_.read(source, limits_.folder_bytes_max))
      if (auto vectors = decode_vectors(source, *bytes)) known.vectors = *std::move(vectors);
  }

  void keep(const KnownVectors& known, const std::string& corpus) {
    if (folder_.is_there() && !known.vectors.empty())
      folder_.write(source_of(corpus), encode_vectors(source_of(corpus), known.vectors));
  }

  // Beyond the bound of memory the corpora used longest ago go, but not this one, which would never be whole then.
  void account(KnownVectors& current) {
    const std::size_t parts = current.vectors.empty() ? 0 : current.vectors.begin()->second.size();
    const std::lock_guard lock(mutex_);
    current.bytes = current.vectors.size() * (sizeof(Hash) + sizeof(Vector) + parts * sizeof(float));
    std::size_t sum = 0;
    for (const auto& [name, one] : known_) sum += one->bytes;
    while (sum > limits_.memory_bytes_max) {
      auto oldest = known_.end();
      for (auto at = known_.begin(); at != known_.end(); ++at)
        if (at->second.get() != &current && (oldest == known_.end() || at->second->used < oldest->second->used))
          oldest = at;
      if (oldest == known_.end()) break;
      sum -= oldest->second->bytes;
      known_.erase(oldest);
    }
  }

  std::vector<FoundPassage> nearest(std::vector<FoundPassage> passages, const Vectors& vectors,
                                    const Vector& asked) const {
    std::vector<std::pair<float, std::size_t>> order;
    for (std::size_t i = 0; i < passages.size(); ++i)
      if (const auto found = vectors.find(key_of(passages[i])); found != vectors.end())
        if (const float like = likeness(asked, found->second); like > 0) order.emplace_back(-like, i);
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), static_cast<std::size_t>(ranked_max)));
    std::vector<FoundPassage> best;
    for (const auto& [unlike, at] : order) best.push_back(std::move(passages[at]));
    return best;
  }

  static CorpusAnswer joined(CorpusAnswer by_words, std::vector<FoundPassage> by_meaning, MeaningReport report,
                             std::int32_t limit) {
    std::map<PassageName, std::size_t> places;
    std::vector<FoundPassage> all;
    const auto ranking_of = [&](std::vector<FoundPassage> passages) {
      std::vector<std::size_t> ranking;
      for (FoundPassage& passage : passages) {
        const auto [place, is_new] = places.emplace(name_of(passage), all.size());
        if (is_new) all.push_back(std::move(passage));
        const bool is_again = std::find(ranking.begin(), ranking.end(), place->second) != ranking.end();
        if (!is_again) ranking.push_back(place->second);  // equal passages of a document are one
      }
      return ranking;
    };
    const std::vector<std::size_t> words = ranking_of(std::move(by_words.passages));
    const std::vector<std::size_t> meaning = ranking_of(std::move(by_meaning));
    std::vector<std::size_t> order = fused({words, meaning});
    order.resize(std::min(order.size(), static_cast<std::size_t>(limit)));
    const auto has = [](const std::vector<std::size_t>& ranking, std::size_t at) {
      return std::find(ranking.begin(), ranking.end(), at) != ranking.end();
    };
    CorpusAnswer answer{{}, std::move(by_words.unread), std::move(report)};
    for (const std::size_t at : order) {
      answer.passages.push_back(std::move(all[at]));
      answer.meaning->found_by.push_back({has(words, at), has(meaning, at)});
    }
    return answer;
  }

  const SearchCorpus words_;
  const ReadCorpus passages_;
  const EmbeddingEndpoint endpoint_;
  const KeptFolder folder_;
  const MeaningLimits limits_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<KnownVectors>> known_;
  std::uint64_t uses_ = 0;
};

}  // namespace

SearchCorpus with_meaning(SearchCorpus words, ReadCorpus passages, EmbeddingEndpoint endpoint, std::string folder,
                          MeaningLimits limits) {
  // Shared: a std::function is copied, what is known is not.
  const auto meaning =
      std::make_shared<Meaning>(std::move(words), std::move(passages), std::move(endpoint), std::move(folder), limits);
  return [meaning](const CorpusQuery& query) { return meaning->search(query); };
}

std::vector<std::size_t> fused(const std::vector<std::vector<std::size_t>>& rankings) {
  std::vector<std::pair<std::size_t, double>> sums;  // in the order in which they are met
  for (const std::vector<std::size_t>& ranking : rankings)
    for (std::size_t rank = 0; rank < ranking.size(); ++rank) {
      const double part = 1 / (fusion_constant + static_cast<double>(rank + 1));
      const auto known =
          std::find_if(sums.begin(), sums.end(), [&](const auto& one) { return one.first == ranking[rank]; });
      known == sums.end() ? (void)sums.emplace_back(ranking[rank], part) : (void)(known->second += part);
    }
  std::stable_sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::size_t> order;
  for (const auto& [place, sum] : sums) order.push_back(place);
  return order;
}

}  // namespace cairn

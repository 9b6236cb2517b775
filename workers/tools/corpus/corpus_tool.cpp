#include "workers/tools/corpus/corpus_tool.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "engine/embedded.hpp"
#include "engine/text.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/tools/corpus/documents.hpp"

namespace cairn {
namespace {

constexpr std::int64_t tool_timeout_ms = 30'000;
constexpr std::int32_t limit_default = 5;
constexpr std::int32_t limit_max = 20;
constexpr std::size_t query_bytes_max = 1000;
constexpr std::int32_t ranked_by_region_max = 50;  // passages among which those of a region go first

// --- in memory -------------------------------------------------------------------------------------------------------

using Words = std::set<std::string>;

// Lower-case words without a plural's s and without those that say nothing.
Words words_of(std::string_view text) {
  static const Words empty_words = {"a", "an", "and",  "are", "at", "be", "by",  "for", "from", "how", "in",
                                    "i", "it", "many", "of",  "on", "or", "the", "to",  "what", "with"};
  Words words;
  std::string word;
  const auto end = [&] {
    if (!word.empty() && !empty_words.contains(word)) {
      if (word.size() > 3 && word.ends_with('s')) word.pop_back();
      words.insert(word);
    }
    word.clear();
  };
  for (const char c : lowered(text)) {
    const bool is_part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
    if (is_part)
      word += c;
    else
      end();
  }
  end();
  return words;
}

Error no_corpus_in_memory(const std::string& corpus) {
  return {Code::not_found, "Expected a corpus named " + corpus + ", but there is none."};
}

std::vector<FoundPassage> found_in(const std::vector<Document>& documents, const CorpusQuery& query) {
  const Words asked = words_of(query.words);
  std::vector<std::pair<std::size_t, FoundPassage>> found;
  for (const Document& document : documents) {
    for (const std::string& passage : document.passages) {
      const Words there = words_of(document.title + " " + passage);
      const auto met = static_cast<std::size_t>(
          std::count_if(asked.begin(), asked.end(), [&](const std::string& word) { return there.contains(word); }));
      if (met * 2 > asked.size()) found.push_back({met, {document.source, document.title, passage}});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  found.resize(std::min(found.size(), static_cast<std::size_t>(query.limit)));
  std::vector<FoundPassage> best;
  for (auto& [met, passage] : found) best.push_back(std::move(passage));
  return best;
}

// --- the tool --------------------------------------------------------------------------------------------------------

// A search as it is asked for. With a region more passages are looked at than are wanted.
struct Search {
  CorpusQuery query;
  Words region;  // its words; none: any region
  std::int32_t limit = 0;
};

Result<Search> search_of(const Json& inputs) {
  const auto is_text = [&inputs](const char* name) {
    return inputs.contains(name) && inputs[name].is_string() && !inputs[name].get_ref<const std::string&>().empty();
  };
  if (!inputs.is_object() || !is_text("corpus") || !is_text("query"))
    return Error{Code::invalid, "Expected {\"corpus\": NAME, \"query\": WORDS}, but got " + excerpt(inputs, 200) + "."};
  const Json limit = inputs.value("limit", Json(limit_default));
  if (!limit.is_number_integer() || limit < 1 || limit > limit_max)
    return Error{Code::invalid,
                 "Expected a limit of 1 to " + std::to_string(limit_max) + ", but it is " + excerpt(limit, 50) + "."};
  CorpusQuery query{inputs["corpus"].get<std::string>(), inputs["query"].get<std::string>(), limit.get<std::int32_t>()};
  if (query.words.size() > query_bytes_max)
    return Error{Code::invalid, "Expected a query of at most " + std::to_string(query_bytes_max) +
                                    " bytes, but it has " + std::to_string(query.words.size()) + "."};
  const Json region = inputs.value("region", Json());
  if (!region.is_null() && (!region.is_string() || region.get_ref<const std::string&>().size() > query_bytes_max))
    return Error{Code::invalid, "Expected a region of at most " + std::to_string(query_bytes_max) +
                                    " bytes, but it is " + excerpt(region, 50) + "."};
  Search search{std::move(query), region.is_null() ? Words{} : words_of(region.get_ref<const std::string&>()), 0};
  search.limit = search.query.limit;
  if (!search.region.empty()) search.query.limit = ranked_by_region_max;
  return search;
}

bool names(const FoundPassage& passage, const Words& region) {
  const Words there = words_of(passage.title + " " + passage.text);
  return std::includes(there.begin(), there.end(), region.begin(), region.end());
}

// The places of the passages in their order: those that name the region first, then the others, as far as wanted.
std::vector<std::size_t> order_of(const std::vector<FoundPassage>& passages, const Search& search) {
  std::vector<std::size_t> order(passages.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_partition(order.begin(), order.end(), [&](std::size_t at) { return names(passages[at], search.region); });
  order.resize(std::min(order.size(), static_cast<std::size_t>(search.limit)));
  return order;
}

Json found_by_json(const MeaningReport::FoundBy& found_by) {
  Json rankings = Json::array();
  if (found_by.words) rankings.push_back("words");
  if (found_by.meaning) rankings.push_back("meaning");
  return rankings;
}

Json hits_of(const CorpusAnswer& found, const Search& search) {
  Json hits = Json::array();
  for (const std::size_t at : order_of(found.passages, search)) {
    const FoundPassage& passage = found.passages[at];
    Json hit = {{"title", passage.title}, {"source", passage.source}, {"excerpt", passage.text}};
    if (!search.region.empty()) hit["names_region"] = names(passage, search.region);
    if (found.meaning) hit["found_by"] = found_by_json(found.meaning->found_by[at]);
    hits.push_back(std::move(hit));
  }
  return hits;
}

Json meaning_json(const MeaningReport& report) {
  Json meaning = {{"model", report.model}, {"passages", report.passages}, {"known", report.known}};
  if (!report.fault.empty()) meaning["fault"] = report.fault;
  return meaning;
}

ToolAnswer run_search(const SearchCorpus& search, const std::optional<std::vector<std::string>>& allowed,
                      const ToolCall& call) {
  const Result<Search> asked = search_of(call.inputs);
  if (!asked) return failure_of(asked.error());
  const CorpusQuery& query = asked->query;
  if (allowed && std::find(allowed->begin(), allowed->end(), query.corpus) == allowed->end()) {
    return failure("refused",
                   "Expected a corpus that this worker may search (\"corpora\" in the tools file), but it is " +
                       readable_line(query.corpus, 100) + ".",
                   false);
  }
  const Result<CorpusAnswer> found = search(query);
  if (!found) return failure_of(found.error());
  Json outputs = {{"corpus", query.corpus}, {"query", query.words}, {"hits", hits_of(*found, *asked)}};
  for (const UnreadFile& file : found->unread)
    outputs["unreadable"].push_back({{"source", file.source}, {"reason", file.reason}});
  if (found->meaning) outputs["meaning"] = meaning_json(*found->meaning);
  return outputs;
}

}  // namespace

SearchCorpus corpora_in_database(std::function<Result<std::string>()> dsn) {
  // Shared: a std::function is copied, a connection is not.
  const auto corpora = std::make_shared<Corpora>(std::move(dsn));
  return [corpora](const CorpusQuery& query) -> Result<CorpusAnswer> {
    Result<std::vector<FoundPassage>> found = corpora->search(query);
    const bool may_be_made = !found && found.error().code == Code::not_found && query.corpus == example_corpus;
    if (may_be_made) {
      const Result<CorpusLoad> loaded = corpora->load(example_corpus, example_corpus, example_documents());
      if (!loaded) return loaded.error();
      found = corpora->search(query);
    }
    if (!found) return found.error();
    Result<std::vector<UnreadFile>> unread = corpora->unread(query.corpus);
    if (!unread) return unread.error();
    return CorpusAnswer{*std::move(found), *std::move(unread)};
  };
}

SearchCorpus corpora_in_memory(std::map<std::string, std::vector<Document>> corpora) {
  return [corpora = std::move(corpora)](const CorpusQuery& query) -> Result<CorpusAnswer> {
    const auto found = corpora.find(query.corpus);
    if (found != corpora.end()) return CorpusAnswer{found_in(found->second, query), {}};
    return no_corpus_in_memory(query.corpus);
  };
}

ReadCorpus passages_in_database(std::function<Result<std::string>()> dsn) {
  const auto corpora = std::make_shared<Corpora>(std::move(dsn));
  return [corpora](const std::string& corpus, std::size_t count_max) { return corpora->passages(corpus, count_max); };
}

ReadCorpus passages_in_memory(std::map<std::string, std::vector<Document>> corpora) {
  return [corpora = std::move(corpora)](const std::string& corpus,
                                        std::size_t count_max) -> Result<std::vector<FoundPassage>> {
    const auto found = corpora.find(corpus);
    if (found == corpora.end()) return no_corpus_in_memory(corpus);
    std::vector<FoundPassage> all;
    for (const Document& document : found->second)
      for (const std::string& passage : document.passages) all.push_back({document.source, document.title, passage});
    if (all.size() > count_max)
      return Error{Code::limit, "Expected at most " + std::to_string(count_max) + " passages in corpus " + corpus +
                                    ", but there are " + std::to_string(all.size()) + "."};
    return all;
  };
}

std::vector<Document> example_documents() {
  std::vector<Document> documents;
  for (const EmbeddedFile& file : example_corpus_files())
    documents.push_back(document_of(std::string(example_corpus) + "/" + std::string(file.name), file.text));
  return documents;
}

ToolSpec corpus_tool(SearchCorpus search, std::optional<std::vector<std::string>> corpora) {
  ToolSpec spec;
  spec.name = "corpus_search";
  spec.does = NativeTool([search = std::move(search), corpora = std::move(corpora)](const ToolCall& call) {
    return run_search(search, corpora, call);
  });
  spec.timeout_ms = tool_timeout_ms;
  spec.reach = {"corpus", "corpus"};
  return spec;
}

}  // namespace cairn

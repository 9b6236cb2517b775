#include "ops/requests/run_filter.hpp"

#include <algorithm>
#include <limits>

#include "ops/requests/arguments.hpp"

namespace cairn {
namespace {

constexpr std::int32_t page_runs = 200;

Error bad_filter(std::string sentence) { return {Code::invalid, std::move(sentence)}; }

Status once(bool is_new, const std::string& key) {
  if (is_new) return Done{};
  return bad_filter("Expected \"" + key + "\" once in a filter, but found it twice.");
}

Status add_status(RunFilter& filter, const std::string& word) {
  if (const Status first = once(!filter.status, "status"); !first) return first;
  const bool is_waiting = word == "waiting";
  filter.status = is_waiting ? RunStatus::running : parse_run_status(word);
  if (!filter.status)
    return bad_filter("Expected a status running, waiting, paused, done, failed or aborted, but found \"" + word +
                      "\".");
  if (filter.status == RunStatus::running) filter.waiting = is_waiting;
  return Done{};
}

Status add_lineage(RunFilter& filter, const std::string& text) {
  if (const Status first = once(!filter.lineage, "lineage"); !first) return first;
  filter.lineage = parse_run_id(text);
  if (!filter.lineage) return bad_filter("Expected the id of a run in lineage, but \"" + text + "\" is none.");
  return Done{};
}

Status add_graph_name(RunFilter& filter, const std::string& name) {
  if (const Status first = once(filter.graph.empty(), "graph"); !first) return first;
  if (name.empty()) return bad_filter("Expected the name of a graph in a filter, but found none.");
  filter.graph = name;
  return Done{};
}

Status add_since(RunFilter& filter, const std::string& text) {
  if (const Status first = once(!filter.since, "since"); !first) return first;
  const Result<TimeUs> since = time_argument(text);
  if (!since) return since.error();
  filter.since = *since;
  return Done{};
}

// Splits at each comma that no backslash precedes; the backslash is removed.
std::vector<std::string> terms_of(const std::string& text) {
  std::vector<std::string> terms(1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] == ',')
      terms.back() += text[++at];
    else if (text[at] == ',')
      terms.emplace_back();
    else
      terms.back() += text[at];
  }
  return terms;
}

}  // namespace

Status add_term(RunFilter& filter, const std::string& key, const std::string& value) {
  if (key.starts_with("tag.") && key.size() > 4) return once(filter.tags.emplace(key.substr(4), value).second, key);
  if (key == "graph") return add_graph_name(filter, value);
  if (key == "status") return add_status(filter, value);
  if (key == "since") return add_since(filter, value);
  if (key == "lineage") return add_lineage(filter, value);
  return bad_filter("Expected a filter of graph, status, tag.NAME, since and lineage, but found \"" + key + "\".");
}

Result<RunFilter> filter_argument(const std::string& text) {
  RunFilter filter;
  for (const std::string& term : terms_of(text)) {
    const std::size_t equals = term.find('=');
    if (equals == std::string::npos || equals == 0)
      return bad_filter("Expected a filter like graph=seven_node,status=failed, but found \"" + term + "\".");
    if (const Status added = add_term(filter, term.substr(0, equals), term.substr(equals + 1)); !added)
      return added.error();
  }
  return filter;
}

RunFilter unlimited(RunFilter filter) {
  filter.limit = std::numeric_limits<std::int32_t>::max();
  return filter;
}

std::vector<RunRow> RunPages::next() {
  if (left_ <= 0) return {};
  filter_.limit = std::min(left_, page_runs);
  std::vector<RunRow> page = store_.runs(filter_);
  left_ = page.size() < static_cast<std::size_t>(filter_.limit) ? 0 : left_ - filter_.limit;
  if (!page.empty()) filter_.after = {page.back().started_at, page.back().id};
  return page;
}

void for_each_page(Store& store, RunFilter filter, const std::function<void(std::span<const RunRow>)>& take) {
  RunPages pages(store, std::move(filter));
  for (std::vector<RunRow> page = pages.next(); !page.empty(); page = pages.next()) take(page);
}

}  // namespace cairn

#include "ops/requests/run_filter.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <limits>

#include "engine/nearest.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/run_ids.hpp"

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

Status add_named_run(RunQuery& query, const std::string& key, const std::string& text) {
  if (!may_begin_an_id(text))
    return bad_filter("Expected the id of a run in " + key + ", but \"" + text + "\" is none.");
  return once(query.named.emplace(key, text).second, key);
}

Status add_graph_name(RunFilter& filter, const std::string& name) {
  if (const Status first = once(filter.graph.empty(), "graph"); !first) return first;
  if (name.empty()) return bad_filter("Expected the name of a graph in a filter, but found none.");
  filter.graph = name;
  return Done{};
}

TimeUs now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// A time, or how long ago.
Status add_time(std::optional<TimeUs>& time, const std::string& key, const std::string& text) {
  if (const Status first = once(!time, key); !first) return first;
  const Result<Age> age = age_argument(text);
  if (!age) return age.error();
  time = age->at_us ? *age->at_us : now_us() - age->age_us;
  return Done{};
}

Status add_lasted(RunFilter& filter, const std::string& text) {
  if (const Status first = once(filter.lasted_us == 0, "lasted"); !first) return first;
  const Result<Age> age = age_argument(text);
  if (!age || age->at_us || age->age_us == 0)
    return bad_filter("Expected a duration like 2h, 30m or 10s in lasted, but found \"" + text + "\".");
  filter.lasted_us = age->age_us;
  return Done{};
}

Status add_text_of(std::string& wanted, const std::string& key, const std::string& text) {
  if (const Status first = once(wanted.empty(), key); !first) return first;
  if (text.empty()) return bad_filter("Expected a text in " + key + ", but found none.");
  wanted = text;
  return Done{};
}

// Runs that came of one another are few, and which tools they called is not looked up.
Status check_together(const RunQuery& query) {
  if (!query.named.contains("lineage") || query.filter.tool.empty()) return Done{};
  return bad_filter("Expected a filter with either lineage or tool, but found both.");
}

Status add_one(RunQuery& query, const std::string& key, const std::string& value) {
  RunFilter& filter = query.filter;
  if (key.starts_with("tag.") && key.size() > 4) return once(filter.tags.emplace(key.substr(4), value).second, key);
  if (key == "graph") return add_graph_name(filter, value);
  if (key == "status") return add_status(filter, value);
  if (key == "since") return add_time(filter.since, key, value);
  if (key == "until") return add_time(filter.until, key, value);
  if (key == "lasted") return add_lasted(filter, value);
  if (key == "version") return add_text_of(filter.version, key, value);
  if (key == "reason") return add_text_of(filter.reason, key, value);
  if (key == "error") return add_text_of(filter.error, key, value);
  if (key == "node") return add_text_of(filter.node, key, value);
  if (key == "tool") return add_text_of(filter.tool, key, value);
  if (key == "lineage" || key == "parent") return add_named_run(query, key, value);
  const std::vector<std::string> known(std::begin(filter_keys), std::end(filter_keys));
  std::string keys;
  for (const std::string& one : known) keys += one + ", ";
  return bad_filter("Expected a filter of " + keys + "and tag.NAME, but found \"" + key + "\"" +
                    did_you_mean(key, known) + ".");
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

Status add_term(RunQuery& query, const std::string& key, const std::string& value) {
  const Status added = add_one(query, key, value);
  return added ? check_together(query) : added;
}

Result<RunFilter> meant_filter(Store& store, const RunQuery& query) {
  RunFilter filter = query.filter;
  for (const auto& [key, text] : query.named) {
    const Result<RunId> run = run_meant(store, text);
    if (!run) return run.error();
    (key == "lineage" ? filter.lineage : filter.parent) = *run;
  }
  return filter;
}

Status check_names_known(Store& store, const RunFilter& filter) {
  if (filter.graph.empty() && filter.version.empty()) return Done{};
  std::vector<std::string> names;
  bool is_version = filter.version.empty();
  for (const GraphRow& row : store.graphs().names()) {
    names.push_back(row.name);
    is_version = is_version || row.version.starts_with(filter.version);
  }
  const bool is_graph = filter.graph.empty() || std::find(names.begin(), names.end(), filter.graph) != names.end();
  if (is_graph && is_version) return Done{};
  RunFilter any;  // its graph may have been removed
  any.limit = 1;
  any.graph = filter.graph;
  any.version = filter.version;
  if (!store.runs(any).empty()) return Done{};
  if (is_graph)
    return Error{Code::not_found, "Expected a version of a graph, but none begins with " + filter.version + "."};
  return Error{Code::not_found, "Expected a known graph, but there is no graph " + filter.graph +
                                    did_you_mean(filter.graph, names) + "."};
}

std::string cursor_of(const RunRow& last) { return std::to_string(last.started_at) + "." + to_string(last.id); }

Status add_cursor(RunFilter& filter, const std::string& cursor) {
  const std::size_t dot = cursor.find('.');
  TimeUs started_at = 0;
  const auto read = std::from_chars(cursor.data(), cursor.data() + std::min(dot, cursor.size()), started_at);
  const std::optional<RunId> run = dot == std::string::npos ? std::nullopt : parse_run_id(cursor.substr(dot + 1));
  if (!run || read.ec != std::errc{} || read.ptr != cursor.data() + dot)
    return bad_filter("Expected the cursor that an earlier list ended with in after, but found \"" + cursor + "\".");
  filter.after = {started_at, *run};
  return Done{};
}

Result<RunFilter> known_filter(Store& store, const RunQuery& query) {
  Result<RunFilter> filter = meant_filter(store, query);
  if (!filter) return filter;
  if (const Status known = check_names_known(store, *filter); !known) return known.error();
  return filter;
}

Result<RunQuery> filter_argument(const std::string& text) {
  RunQuery query;
  for (const std::string& term : terms_of(text)) {
    const std::size_t equals = term.find('=');
    if (equals == std::string::npos || equals == 0)
      return bad_filter("Expected a filter like graph=seven_node,status=failed, but found \"" + term + "\".");
    if (const Status added = add_term(query, term.substr(0, equals), term.substr(equals + 1)); !added)
      return added.error();
  }
  return query;
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

// Run filters: the FILTER of --where, the options of `cairn runs` and the query of GET /runs, one meaning for all
// three. Safe from any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ops/requests/requests.hpp"
#include "storage/store.hpp"

namespace cairn {

// As --help says it.
inline constexpr std::string_view filter_says =
    "Runs that match all of KEY=VALUE,...: graph=G, version=V, status=S, tag.K=V, since=TIME, until=TIME (a time, or "
    "2h or 30d ago), lasted=2h, reason=TEXT, error=E, node=N, tool=T, parent=RUN, lineage=RUN; a comma in a value is "
    "\\,";

// The term's keys, but for tag.K.
inline constexpr std::string_view filter_keys[] = {"graph",  "version", "status", "since", "until",  "lasted",
                                                   "reason", "error",   "node",   "tool",  "parent", "lineage"};

// Adds one term to the filter. Refuses `invalid`: an unknown key, a value that does not fit its key, a key for the
// second time.
Status add_term(RunQuery& query, const std::string& key, const std::string& value);

// The filter with the runs that it names. Refuses as run_meant.
Result<RunFilter> meant_filter(Store& store, const RunQuery& query);

// Refuses `not_found`: the filter's graph or version is not known, and no run has it; the sentence names what is near.
Status check_names_known(Store& store, const RunFilter& filter);

// Both, as the command line takes a filter.
Result<RunFilter> known_filter(Store& store, const RunQuery& query);

// "graph=seven_node,status=failed,tag.team=a,since=2026-01-01". Refuses as add_term, and a text without a term.
Result<RunQuery> filter_argument(const std::string& text);

// Where a list that ended with this run goes on: the filter's `after`. Opaque to its readers; it stays valid if the run
// is archived. Refuses `invalid`.
std::string cursor_of(const RunRow& last);
Status add_cursor(RunFilter& filter, const std::string& cursor);

// As many runs as are counted for a person; of more there are "or more".
inline constexpr std::int64_t runs_counted_max = 1'000'000;

// The same filter without a limit.
RunFilter unlimited(RunFilter filter);

// All matching runs, newest first, a page at a time (keyset pagination): no transaction lasts longer than a page.
// `filter.limit` bounds all pages together.
class RunPages {
 public:
  RunPages(Store& store, RunFilter filter) : store_(store), filter_(std::move(filter)), left_(filter_.limit) {}
  std::vector<RunRow> next();  // empty: there are no more

 private:
  Store& store_;
  RunFilter filter_;
  std::int32_t left_;
};
void for_each_page(Store& store, RunFilter filter, const std::function<void(std::span<const RunRow>)>& take);

}  // namespace cairn

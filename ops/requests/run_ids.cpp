#include "ops/requests/run_ids.hpp"

#include <string_view>
#include <vector>

namespace cairn {
namespace {

constexpr std::string_view lowest = "00000000-0000-0000-0000-000000000000";
constexpr std::string_view highest = "ffffffff-ffff-ffff-ffff-ffffffffffff";
constexpr std::int32_t named_max = 3;

}  // namespace

Result<RunId> run_meant(Store& store, const std::string& text) {
  if (const std::optional<RunId> id = parse_run_id(text)) return *id;
  const Error none{Code::not_found, "Expected the id of a run, but \"" + text + "\" is none."};
  if (text.size() < short_id_letters_min || text.size() >= lowest.size()) return none;
  const std::optional<RunId> first = parse_run_id(text + std::string(lowest.substr(text.size())));
  const std::optional<RunId> last = parse_run_id(text + std::string(highest.substr(text.size())));
  if (!first || !last) return none;
  const std::vector<RunId> found = store.runs_between(*first, *last, named_max + 1);
  if (found.empty())
    return Error{Code::not_found, "Expected a run whose id begins with " + text + ", but there is none."};
  if (found.size() == 1) return found.front();
  std::string some;
  for (std::size_t i = 0; i < found.size() && i < named_max; ++i) some += (i == 0 ? "" : ", ") + to_string(found[i]);
  return Error{Code::invalid, "Expected the beginning of one run's id, but with " + text + " begin " + some +
                                  (found.size() > named_max ? " and more." : ".")};
}

Result<std::set<RunId>> runs_meant(Store& store, const std::vector<std::string>& texts) {
  std::set<RunId> runs;
  for (const std::string& text : texts) {
    const Result<RunId> run = run_meant(store, text);
    if (!run) return run.error();
    runs.insert(*run);
  }
  return runs;
}

}  // namespace cairn

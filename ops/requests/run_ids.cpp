#include "ops/requests/run_ids.hpp"

#include <string_view>
#include <vector>

namespace cairn {
namespace {

constexpr std::string_view lowest = "00000000-0000-0000-0000-000000000000";
constexpr std::string_view highest = "ffffffff-ffff-ffff-ffff-ffffffffffff";
constexpr std::int32_t named_max = 3;

// The text and the rest of that id; none: it is no beginning of one.
std::optional<RunId> filled_up(const std::string& text, std::string_view with) {
  if (text.size() < short_id_letters_min || text.size() > with.size()) return std::nullopt;
  return parse_run_id(text + std::string(with.substr(text.size())));
}

}  // namespace

bool may_begin_an_id(const std::string& text) { return filled_up(text, lowest).has_value(); }

Result<RunId> run_meant(Store& store, const std::string& text) {
  if (const std::optional<RunId> id = parse_run_id(text)) return *id;
  const std::optional<RunId> first = filled_up(text, lowest);
  const std::optional<RunId> last = filled_up(text, highest);
  if (!first || !last) return Error{Code::not_found, "Expected the id of a run, but \"" + text + "\" is none."};
  const std::vector<RunId> found = store.all_runs().between(*first, *last, named_max + 1);
  if (found.empty())
    return Error{Code::not_found, "Expected a run whose id begins with " + text + ", but there is none."};
  if (found.size() == 1) return found.front();
  std::string some;
  for (std::size_t i = 0; i < found.size() && i < named_max; ++i) some += (i == 0 ? "" : ", ") + to_string(found[i]);
  return Error{Code::invalid, "Expected the beginning of one run's id, but with " + text + " begin " + some +
                                  (found.size() > named_max ? " and more." : ".")};
}

Result<std::string> event_meant(Store& store, const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos || !may_begin_an_id(text.substr(0, slash))) return text;
  const Result<RunId> run = run_meant(store, text.substr(0, slash));
  if (!run) return run.error();
  return to_string(*run) + text.substr(slash);
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

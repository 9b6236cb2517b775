// The inbox: the open questions of all runs that a filter means, oldest first, a page at a time, as `cairn questions`
// and GET /questions show them. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "workers/client.hpp"

namespace cairn {

struct QuestionsWanted {
  RunFilter filter;  // its limit is that of a page
  // The runs that the filter means, where their rows do not show it; nothing: the rows do.
  std::optional<std::set<RunId>> runs = {};
  std::function<bool(const RunRow&)> covers = {};  // empty: all
};

// Whether the rows of runs do not show what the filter means; then all of them are to be looked up first, at most
// family_max.
bool is_beyond_rows(const RunFilter& filter);
inline constexpr std::int32_t family_max = 10'000;
// The set of these. Refuses `limit`: more than family_max.
Result<std::set<RunId>> family_of(const std::vector<RunRow>& rows);

struct QuestionPage {
  // {"run", "graph", "tags", "question", "step", "kind", "prompt", "schema", "default"?, "asked_at", "expires_at"}
  std::vector<Json> lines;
  std::optional<QuestionPlace> next;  // where the next page begins; nothing: there is no more
};

// A page ends at the filter's limit, at 8 MiB, or after 5,000 questions that were looked at.
QuestionPage open_questions(Client& client, Store& store, const QuestionsWanted& wanted, QuestionPlace from);

// A cursor, opaque to its readers. Refuses `invalid`; "" is the beginning.
std::string cursor_at(const QuestionPlace& place);
Result<QuestionPlace> question_place(const std::string& cursor);

}  // namespace cairn

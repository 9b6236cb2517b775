#include "ops/http/question_route.hpp"

#include <algorithm>
#include <utility>

#include "ops/answers/open_questions.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/covered_runs.hpp"
#include "ops/http/list_page.hpp"

namespace cairn {

RouteReply list_questions(RouteCall& call) {
  const Result<QuestionPlace> from = question_place(query_text(call.request, "after"));
  if (!from) return from.error();
  ApiRequest without_place = call.request;
  std::erase_if(without_place.query, [](const auto& parameter) { return parameter.first == "after"; });
  const Result<RunFilter> filter = filter_asked(call, without_place);
  if (!filter) return filter.error();
  QuestionsWanted wanted{.filter = *filter};
  wanted.covers = [&call](const RunRow& run) { return call.scope().covers(run); };
  if (is_beyond_rows(*filter)) {
    RunFilter all = *filter;
    all.limit = family_max + 1;
    Result<std::set<RunId>> runs = family_of(covered_runs(call, all));
    if (!runs) return runs.error();
    wanted.runs = *std::move(runs);
  }
  const QuestionPage page = open_questions(call.client, call.store(), wanted, *from);
  RouteReply reply = list_response(call.request, page.lines);
  if (reply && page.next)
    std::get<ApiResponse>(*reply).headers.emplace_back("Link", next_link(call.request, cursor_at(*page.next)));
  return reply;
}

}  // namespace cairn

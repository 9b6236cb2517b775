#include "ops/http/question_route.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "ops/http/bodies.hpp"
#include "ops/http/covered_runs.hpp"
#include "ops/http/list_page.hpp"
#include "ops/requests/run_filter.hpp"
#include "storage/commit_rules.hpp"

namespace cairn {
namespace {

constexpr std::int32_t questions_page = 200;
constexpr std::int32_t looked_at_max = 5'000;         // by one request; its link goes on
constexpr std::size_t questions_bytes_max = 8 << 20;  // of one answer
constexpr std::size_t expanded_bytes_max = 1 << 20;   // of one question
constexpr std::int32_t family_max = 10'000;

std::string cursor_at(const QuestionPlace& place) {
  return std::to_string(place.asked_at) + "." + to_string(place.run) + "." + place.id;
}

Result<QuestionPlace> place_query(const ApiRequest& request) {
  constexpr std::size_t id_letters = 36;
  const std::string text = query_text(request, "after");
  QuestionPlace place;
  if (text.empty()) return place;
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto read = std::from_chars(text.data(), text.data() + dot, place.asked_at);
  const std::string rest = dot == text.size() ? "" : text.substr(dot + 1);
  const std::optional<RunId> run = parse_run_id(rest.substr(0, std::min(id_letters, rest.size())));
  const bool has_id = rest.size() > id_letters + 1 && rest[id_letters] == '.';
  if (!run || !has_id || read.ec != std::errc{} || read.ptr != text.data() + dot)
    return Error{
        Code::invalid,
        "Expected the cursor that an earlier list of questions ended with in after, but found \"" + text + "\"."};
  place.run = *run;
  place.id = rest.substr(id_letters + 1);
  return place;
}

// The runs that a filter means which a row alone does not show; nothing: the row shows it.
Result<std::optional<std::set<RunId>>> runs_beyond_rows(const RouteCall& call, RunFilter filter) {
  if (!filter.lineage && filter.tool.empty()) return std::optional<std::set<RunId>>();
  filter.limit = family_max + 1;
  std::set<RunId> runs;
  for (const RunRow& row : covered_runs(call, filter)) runs.insert(row.id);
  if (runs.size() <= static_cast<std::size_t>(family_max)) return std::optional(std::move(runs));
  return Error{Code::limit, "Expected at most " + std::to_string(family_max) + " runs that match, but there are more."};
}

Json question_line(RouteCall& call, const QuestionRow& question, const RunRow& run) {
  const auto whole = [&](const Json& value) {
    return call.client.expand_blobs(value, call.shard(run.id), expanded_bytes_max);
  };
  const auto time = [](const std::optional<TimeUs>& at) { return at ? Json(time_text(*at)) : Json(nullptr); };
  Json line = {{"run", to_string(run.id)},
               {"graph", run.graph},
               {"tags", run.tags},
               {"question", question.id},
               {"step", question.step},
               {"kind", question.kind},
               {"prompt", whole(question.prompt)},
               {"schema", whole(question.schema)},
               {"asked_at", time_text(question.asked_at)},
               {"expires_at", time(question.expires_at)}};
  if (question.fallback) line["default"] = whole(*question.fallback);
  return line;
}

// Walks all open questions and keeps those that are meant.
class QuestionList {
 public:
  QuestionList(RouteCall& call, RunFilter filter, std::optional<std::set<RunId>> runs)
      : call_(call), filter_(std::move(filter)), runs_(std::move(runs)) {}

  // Where the next page begins; nothing: there is no more.
  std::optional<QuestionPlace> read(QuestionPlace place) {
    for (std::int32_t looked_at = 0; looked_at < looked_at_max;) {
      const std::vector<QuestionRow> page = call_.store().questions_after(place, questions_page);
      for (const QuestionRow& question : page) {
        place = {question.asked_at, question.run, question.id};
        ++looked_at;
        take(question);
        if (std::ssize(lines_) >= filter_.limit || bytes_ >= questions_bytes_max) return place;
      }
      if (page.size() < static_cast<std::size_t>(questions_page)) return std::nullopt;
    }
    return place;
  }
  const std::vector<Json>& lines() const { return lines_; }

 private:
  void take(const QuestionRow& question) {
    auto known = rows_.find(question.run);
    if (known == rows_.end()) known = rows_.emplace(question.run, call_.store().run(question.run)).first;
    const std::optional<RunRow>& run = known->second;
    if (!run || !call_.scope().covers(*run) || !matches(filter_, *run)) return;
    if (runs_ && !runs_->contains(run->id)) return;
    lines_.push_back(question_line(call_, question, *run));
    bytes_ += canonical(lines_.back()).size();
  }

  RouteCall& call_;
  const RunFilter filter_;
  const std::optional<std::set<RunId>> runs_;
  std::map<RunId, std::optional<RunRow>> rows_;
  std::vector<Json> lines_;
  std::size_t bytes_ = 0;
};

}  // namespace

RouteReply list_questions(RouteCall& call) {
  const Result<QuestionPlace> from = place_query(call.request);
  if (!from) return from.error();
  ApiRequest without_place = call.request;
  std::erase_if(without_place.query, [](const auto& parameter) { return parameter.first == "after"; });
  const Result<RunFilter> filter = filter_asked(call, without_place);
  if (!filter) return filter.error();
  Result<std::optional<std::set<RunId>>> runs = runs_beyond_rows(call, *filter);
  if (!runs) return runs.error();
  QuestionList list(call, *filter, *std::move(runs));
  const std::optional<QuestionPlace> next = list.read(*from);
  RouteReply reply = list_response(call.request, list.lines());
  if (reply && next)
    std::get<ApiResponse>(*reply).headers.emplace_back("Link", next_link(call.request, cursor_at(*next)));
  return reply;
}

}  // namespace cairn

#include "ops/answers/open_questions.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "storage/commit_rules.hpp"

namespace cairn {
namespace {

constexpr std::int32_t questions_page = 200;
constexpr std::int32_t scanned_max = 5'000;            // for one page; its cursor goes on
constexpr std::int64_t questions_bytes_max = 8 << 20;  // of one page, and of what is read at once for it
constexpr std::size_t expanded_bytes_max = 1 << 20;    // of one question

Json question_line(Client& client, Shard shard, const QuestionRow& question, const RunRow& run) {
  const auto whole = [&](const Json& value) { return client.expand_blobs(value, shard, expanded_bytes_max); };
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
  QuestionList(Client& client, Store& store, const QuestionsWanted& wanted)
      : client_(client), store_(store), wanted_(wanted) {}

  std::optional<QuestionPlace> read(QuestionPlace place) {
    for (std::int32_t scanned = 0; scanned < scanned_max;) {
      const std::vector<QuestionRow> page =
          store_.all_runs().questions_after(place, questions_page, questions_bytes_max);
      for (const QuestionRow& question : page) {
        place = {question.asked_at, question.run, question.id};
        ++scanned;
        take(question);
        if (std::ssize(lines_) >= wanted_.filter.limit || bytes_ >= questions_bytes_max) return place;
      }
      if (page.empty()) return std::nullopt;
    }
    return place;
  }
  std::vector<Json> take_lines() { return std::move(lines_); }

 private:
  void take(const QuestionRow& question) {
    auto known = rows_.find(question.run);
    if (known == rows_.end()) known = rows_.emplace(question.run, store_.run(question.run)).first;
    const std::optional<RunRow>& run = known->second;
    if (!run || (wanted_.covers && !wanted_.covers(*run)) || !matches(wanted_.filter, *run)) return;
    if (wanted_.runs && !wanted_.runs->contains(run->id)) return;
    lines_.push_back(question_line(client_, shard_of(run->id, store_.shards()), question, *run));
    bytes_ += std::ssize(canonical(lines_.back()));
  }

  Client& client_;
  Store& store_;
  const QuestionsWanted& wanted_;
  std::map<RunId, std::optional<RunRow>> rows_;
  std::vector<Json> lines_;
  std::int64_t bytes_ = 0;
};

}  // namespace

bool is_beyond_rows(const RunFilter& filter) { return filter.lineage.has_value() || !filter.tool.empty(); }

Result<std::set<RunId>> family_of(const std::vector<RunRow>& rows) {
  std::set<RunId> runs;
  for (const RunRow& row : rows) runs.insert(row.id);
  if (runs.size() <= static_cast<std::size_t>(family_max)) return runs;
  return Error{Code::limit, "Expected at most " + std::to_string(family_max) + " runs that match, but there are more."};
}

QuestionPage open_questions(Client& client, Store& store, const QuestionsWanted& wanted, QuestionPlace from) {
  QuestionList list(client, store, wanted);
  QuestionPage page;
  page.next = list.read(std::move(from));
  page.lines = list.take_lines();
  return page;
}

std::string cursor_at(const QuestionPlace& place) {
  return std::to_string(place.asked_at) + "." + to_string(place.run) + "." + place.id;
}

Result<QuestionPlace> question_place(const std::string& cursor) {
  constexpr std::size_t id_letters = 36;
  QuestionPlace place;
  if (cursor.empty()) return place;
  const std::size_t dot = std::min(cursor.find('.'), cursor.size());
  const auto read = std::from_chars(cursor.data(), cursor.data() + dot, place.asked_at);
  const std::string rest = dot == cursor.size() ? "" : cursor.substr(dot + 1);
  const std::optional<RunId> run = parse_run_id(rest.substr(0, std::min(id_letters, rest.size())));
  const bool has_id = rest.size() > id_letters + 1 && rest[id_letters] == '.';
  if (!run || !has_id || read.ec != std::errc{} || read.ptr != cursor.data() + dot)
    return Error{
        Code::invalid,
        "Expected the cursor that an earlier list of questions ended with in after, but found \"" + cursor + "\"."};
  place.run = *run;
  place.id = rest.substr(id_letters + 1);
  return place;
}

}  // namespace cairn

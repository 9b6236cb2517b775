#include "ops/answers/step_progress.hpp"

#include "ops/answers/answer_room.hpp"
#include "ops/answers/words.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t line_bytes_max = 200;

}  // namespace

Json progress_json(const ProgressRow& row) {
  return {{"step", row.place.step}, {"node", row.node},           {"attempt", row.place.attempt},
          {"written", row.written}, {"at", time_text(row.at_us)}, {"text", row.text}};
}

Json progress_json(const std::vector<ProgressRow>& rows, std::size_t bytes_max) {
  Json list = Json::array();
  AnswerRoom room(bytes_max);
  for (const ProgressRow& row : rows) {
    Json one = progress_json(row);
    if (!room.take(one)) break;
    list.push_back(std::move(one));
  }
  return list;
}

std::string progress_sentence(const ProgressRow& row) {
  const std::string line = readable_line(last_line(row.text), line_bytes_max);
  return "It has written " + counted(row.written, "character") + (line.empty() ? "." : ": " + line);
}

void ProgressNews::give(const std::vector<ProgressRow>& rows, const std::function<bool(const ProgressRow& row)>& use) {
  decltype(seen_) seen;
  bool goes_on = true;
  for (const ProgressRow& row : rows) {
    const std::pair place(row.place.step, row.place.attempt);
    const std::pair change(row.at_us, row.written);
    const auto before = seen_.find(place);
    const bool is_known = before != seen_.end() && before->second == change;
    const bool is_given = !is_known && goes_on;
    if (is_given) goes_on = use(row);
    if (is_known || is_given)
      seen.emplace(place, change);
    else if (before != seen_.end())
      seen.insert(*before);
  }
  seen_ = std::move(seen);
}

}  // namespace cairn

#include "ops/scheduling/waiting_starts.hpp"

#include <optional>

#include "engine/keyed_starts.hpp"
#include "storage/starts/start_words.hpp"
#include "workers/starts/kept_start.hpp"

namespace cairn {
namespace {

constexpr std::int32_t keys_in_page = 1'000;

Json line_of(const StartKey& of, const KeyedStarts& state) {
  Json line = {{"graph", of.graph},
               {"key", of.key},
               {"run", state.holder ? Json(to_string(*state.holder)) : Json(nullptr)},
               {"starting", Json::array()},
               {"collecting", nullptr},
               {"waiting", state.waiting}};
  for (const StartGroup& group : state.starting) line["starting"].push_back(to_string(group.run));
  if (state.group)
    line["collecting"] = {
        {"run", to_string(state.group->run)},
        {"starts", state.group->count},
        {"since", time_text(state.group->first_at)},
        {"due_at", state.group->due_at == never_us ? Json(nullptr) : Json(time_text(state.group->due_at))}};
  return line;
}

// A holder that has ended has its key only until a process looks at it.
void forget_ended(Store& store, std::vector<KeyedStarts>& states) {
  std::vector<RunId> holders;
  for (const KeyedStarts& state : states)
    if (state.holder) holders.push_back(*state.holder);
  if (holders.empty()) return;
  const std::vector<std::optional<RunHead>> heads = store.all_runs().heads(holders);
  std::size_t n = 0;
  for (KeyedStarts& state : states) {
    if (!state.holder) continue;
    const std::optional<RunHead>& head = heads[n++];
    if ((!head || is_ended(head->status)) && !is_starting(state, *state.holder)) state.holder.reset();
  }
}

}  // namespace

std::vector<std::pair<StartKey, Json>> start_key_lines(Store& store, const std::string& graph, std::int32_t limit,
                                                       StartKey after) {
  std::vector<std::pair<StartKey, Json>> lines;
  while (true) {
    const std::vector<StartKeyRow> rows = store.starts().keys(graph, after, keys_in_page);
    if (rows.empty()) return lines;
    std::vector<KeyedStarts> states;
    for (const StartKeyRow& row : rows)
      states.push_back(row.state.empty() ? KeyedStarts() : read_keyed_starts(parse_stored(row.state)));
    forget_ended(store, states);
    for (std::size_t n = 0; n < rows.size(); ++n) {
      if (is_idle(states[n])) continue;
      lines.emplace_back(rows[n].of, line_of(rows[n].of, states[n]));
      if (std::ssize(lines) == limit) return lines;
    }
    after = rows.back().of;
  }
}

Result<StartKey> start_cursor(const std::string& text, const std::string& option) {
  const std::size_t blank = text.find(' ');
  if (blank == 0 || blank == std::string::npos)
    return Error{Code::invalid, "Expected GRAPH and KEY with a blank between them, as an earlier list ended, in " +
                                    option + ", but found " + excerpt(Json(text), 80) + "."};
  return StartKey{text.substr(0, blank), text.substr(blank + 1)};
}

RunRow run_to_come(const FoundStart& start) {
  RunRow row;
  row.id = start.start.run;
  row.graph = start.of.graph;
  row.tags = read_start(start.of, start.start).tags;
  return row;
}

Json run_to_come_json(const FoundStart& start, const std::string& version) {
  const StartRun command = read_start(start.of, start.start);
  const std::string asked_at = time_text(start.start.asked_at);
  return {{"run", to_string(start.start.run)},
          {"graph", start.of.graph},
          {"version", version},
          {"status", "waiting"},
          {"seq", 0},
          {"steps", Json::array()},
          {"plan", Json::array()},
          {"budgets", Json::object()},
          {"questions", Json::array()},
          {"input", command.input},
          {"key", command.key.empty() ? Json(nullptr) : Json(command.key)},
          {"tags", command.tags},
          {"started_at", asked_at},
          {"updated_at", asked_at},
          {"parent", nullptr},
          {"continues", command.continues ? Json(to_string(*command.continues)) : Json(nullptr)},
          {"channels", Json::object()},
          {"reason", nullptr},
          {"begins", waits_text(start)}};
}

}  // namespace cairn

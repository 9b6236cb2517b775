#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "engine/run_json.hpp"
#include "ops/answers/plan_status.hpp"
#include "ops/answers/run_json.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/requests/run_filter.hpp"
#include "ops/run_asks.hpp"
#include "ops/terminal/print.hpp"
#include "ops/terminal/stop_signals.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds follow_pause{100};

std::string tags_text(const Tags& tags) {
  std::string text;
  for (const auto& [key, value] : tags) text += (text.empty() ? "" : " ") + key + "=" + value;
  return text;
}

void print_event(const Json& event) {
  std::string at = event.at("at").get<std::string>();
  if (at.size() > 23) at = at.substr(11, 12);
  const std::string seq = std::to_string(event.at("seq").get<std::int64_t>());
  const std::string step = event.contains("step") ? event.at("step").dump() : "";
  const std::string type = event.at("type");
  std::string line = std::string(seq.size() < 5 ? 5 - seq.size() : 0, ' ') + seq + "  " + painted(at, Paint::dim) +
                     "  " + std::string(step.size() < 4 ? 4 - step.size() : 0, ' ') + step + "  " + type +
                     std::string(type.size() < 20 ? 20 - type.size() : 1, ' ');
  const std::size_t used = 40 + seq.size();
  print_line(line + event_summary(event, line_width() > used ? line_width() - used : 20));
}

// Prints what lies behind `after`; the number of the last event printed.
Result<std::int64_t> print_events_after(OpenedRun& found, const Settings& settings, const EventsOptions& options,
                                        std::int64_t after) {
  for (;;) {
    const Result<std::vector<Json>> page =
        event_lines(*found.opened.client, found.run, found.shard, {after, events_page, options.raw});
    if (!page) return page.error();
    for (const Json& line : *page) {
      if (settings.json)
        print_json(line);
      else
        print_event(line);
      after = line["seq"];
    }
    if (page->size() < static_cast<std::size_t>(events_page)) return after;
  }
}

// Each run below the one it came from, in the order they began.
void print_lineage(std::vector<RunRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const RunRow& a, const RunRow& b) {
    return std::tie(a.started_at, a.id) < std::tie(b.started_at, b.id);
  });
  std::set<RunId> listed;
  for (const RunRow& row : rows) listed.insert(row.id);
  std::map<RunId, std::vector<const RunRow*>> below;
  for (const RunRow& row : rows) {
    const std::optional<RunId> from = predecessor(row);
    below[from && listed.contains(*from) ? *from : RunId{}].push_back(&row);
  }
  Table table({"RUN", "GRAPH", "STATUS", "EVENTS", "CAME FROM"});
  const std::function<void(const RunId&, const std::string&)> add = [&](const RunId& id, const std::string& indent) {
    for (const RunRow* row : below[id]) {
      const bool is_last = row == below[id].back();
      const std::string branch = id.is_nil() ? "" : is_last ? "└─ " : "├─ ";
      const std::string from = row->forked_from ? "forked at event " + std::to_string(row->forked_from->seq)
                               : row->continues ? "continues"
                                                : "";
      table.add({indent + branch + to_string(row->id), row->graph, painted_status(status_word(*row)),
                 std::to_string(row->head), from});
      add(row->id, id.is_nil() ? "" : indent + (is_last ? "   " : "│  "));
    }
  };
  add(RunId{}, "");
  table.print();
}

}  // namespace

Exit list_runs(const Settings& settings, const RunFilter& filter) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  if (filter.lineage && !settings.json) {
    print_lineage(opened->store->runs(filter));
    return 0;
  }
  Table table({"RUN", "GRAPH", "STATUS", "EVENTS", "STARTED", "TAGS AND REASON"});
  for_each_page(*opened->store, filter, [&](std::span<const RunRow> page) {
    for (const RunRow& row : page) {
      if (settings.json) {
        print_json(run_json(row));
        continue;
      }
      const std::string tags = tags_text(row.tags);
      table.add({to_string(row.id), row.graph, painted_status(status_word(row)), std::to_string(row.head),
                 time_text(row.started_at).substr(0, 19), tags + (tags.empty() ? "" : " ") + row.reason});
    }
  });
  if (!settings.json) table.print();
  return 0;
}

Exit show_run(const Settings& settings, const std::string& run, const Moment& at, bool raw) {
  Result<OpenedRun> found = find_run(settings, run);
  if (!found) return found.error();
  const Result<RunState> state = state_at(*found->opened.client, found->run, at);
  if (!state) return state.error();
  Json shown = state_json(*state);
  if (!raw) shown = found->opened.client->expand_blobs(std::move(shown), found->shard);
  if (settings.json)
    print_json(shown);
  else
    print_state(*state, shown);
  return 0;
}

Exit show_events(const Settings& settings, const EventsOptions& options) {
  Result<OpenedRun> found = find_run(settings, options.run);
  if (!found) return found.error();
  if (!found->opened.store->run(found->run))
    return Error{Code::not_found, "Expected a run " + options.run + ", but there is none."};
  const StopSignals signals;
  Result<std::int64_t> last =
      print_events_after(*found, settings, options, std::max<std::int64_t>(options.from, 1) - 1);
  while (last && options.follow && !signals.came() && !has_ended_by(*found->opened.store, found->run, *last)) {
    std::cout.flush();
    if (!is_read()) break;
    std::this_thread::sleep_for(follow_pause);
    last = print_events_after(*found, settings, options, *last);
  }
  if (!last) return last.error();
  return 0;
}

Exit show_plan(const Settings& settings, const std::string& run, const Moment& at) {
  Result<OpenedRun> found = find_run(settings, run);
  if (!found) return found.error();
  Result<RunState> state = state_at(*found->opened.client, found->run, at);
  if (!state) return state.error();
  if (const Status told = project_plan_status(*found->opened.client, *state); !told) return told.error();
  Json plan = state_json(*state)["plan"];
  if (settings.json)
    print_json(found->opened.client->expand_blobs(std::move(plan), found->shard));
  else
    print_plan(*state);
  return 0;
}

Exit answer(const Settings& settings, const AnswerOptions& options) {
  Result<OpenedRun> found = find_run(settings, options.run);
  if (!found) return found.error();
  const Result<std::string> question = question_meant(*found->opened.client, found->run, options.question);
  if (!question) return question.error();
  const Answer command{*question, options.value, options.by.empty() ? current_actor() : options.by, {}};
  if (const Result<Done> done = found->opened.client->command(found->run, command); !done) return done.error();
  if (settings.json)
    print_json({{"run", options.run}, {"question", *question}});
  else
    print_line("Answered " + *question + " of " + options.run + ".");
  return 0;
}

}  // namespace cairn

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <thread>
#include <utility>

#include "engine/corrupt_history.hpp"
#include "engine/evolve.hpp"
#include "engine/run_json.hpp"
#include "ops/answers/run_json.hpp"
#include "ops/answers/step_progress.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"
#include "ops/terminal/stop_signals.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds follow_pause{100};

struct EventsOptions {
  std::string run;
  std::int64_t from = 1;
  bool follow = false;
  bool raw = false;
  bool progress = false;
};

// A line for each day that is not today.
void print_day(TimeUs at, std::string& day) {
  const std::string of = local_day(at);
  if (of == std::exchange(day, of)) return;
  print_line(painted(of + " " + zone_name(at), Paint::dim));
}

void print_event(const Json& event, std::string& day) {
  const TimeUs at_us = parse_time(event.at("at").get<std::string>()).value_or(0);
  print_day(at_us, day);
  const std::string ms = std::to_string(1'000 + at_us / 1'000 % 1'000).substr(1);
  const std::string at = local_clock(at_us) + "." + ms;
  const std::string seq = std::to_string(event.at("seq").get<std::int64_t>());
  const std::string step = event.contains("step") ? event.at("step").dump() : "";
  const std::string type = event.at("type");
  std::string line = std::string(seq.size() < 5 ? 5 - seq.size() : 0, ' ') + seq + "  " + painted(at, Paint::dim) +
                     "  " + std::string(step.size() < 4 ? 4 - step.size() : 0, ' ') + step + "  " + type +
                     std::string(type.size() < 20 ? 20 - type.size() : 1, ' ');
  const std::size_t used = shown_width(line);
  print_line(line + event_summary(event, line_width() > used ? line_width() - used : 20));
}

// The items of maps that steps execute, which no event says: the history is folded along. Lives for one command.
class ItemNumbers {
 public:
  ItemNumbers(Client& client, const RunId& run) : client_(client) {
    state_.id = run;
    const Result<RunState> now = client.state(run);
    if (!now) return;
    const auto& nodes = now->graph->nodes;
    maps_items_ = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.items() != nullptr; });
  }

  // Adds `item` to the event's JSON if its step stands for one. Events come in order.
  void add_to(Json& event) {
    const StepId id = event.at("step").get<StepId>();
    if (!maps_items_ || id == 0 || !fold_before(event.at("seq").get<std::int64_t>())) return;
    if (const Step* step = find_step(state_, id); step != nullptr && step->item >= 0) event["item"] = step->item;
  }

 private:
  // False if the history cannot be folded: then nothing is said of items.
  bool fold_before(std::int64_t seq) {
    while (maps_items_ && state_.seq + 1 < seq) {
      const Result<std::vector<Event>> page = client_.events(
          state_.id, state_.seq, static_cast<std::int32_t>(std::min<std::int64_t>(events_page, seq - 1 - state_.seq)));
      maps_items_ = page && !page->empty();
      try {
        std::vector<BranchId> touched;
        for (std::size_t i = 0; maps_items_ && i < page->size(); ++i)
          evolve(state_, (*page)[i], client_.graphs(), touched);
      } catch (const CorruptHistory&) {
        maps_items_ = false;
      }
    }
    return maps_items_;
  }

  Client& client_;
  RunState state_;
  bool maps_items_ = false;
};

// The version that a run was moved from, which is that of its state before.
void add_version_before(Client& client, const RunId& run, Json& event) {
  if (event["type"] != "run_moved") return;
  if (const Result<RunState> before = client.state(run, event["seq"].get<std::int64_t>() - 1); before)
    event["from_version"] = before->graph->version;
}

struct EventLines {
  std::string day;  // of the last line
  ItemNumbers items;
};

// In the columns of events; it is none, so it has no number.
void print_progress(const ProgressRow& row, std::string& day) {
  print_day(row.at_us, day);
  const std::string ms = std::to_string(1'000 + row.at_us / 1'000 % 1'000).substr(1);
  const std::string step = std::to_string(row.place.step);
  const std::string line = "       " + painted(local_clock(row.at_us) + "." + ms, Paint::dim) + "  " +
                           std::string(step.size() < 4 ? 4 - step.size() : 0, ' ') + step + "  progress            ";
  print_below(line, std::string(shown_width(line), ' '), "node=" + row.node + " " + progress_sentence(row));
}

void print_news(OpenedRun& found, const Settings& settings, ProgressNews& news, std::string& day) {
  news.give(found.opened.store->progress().of(found.run), [&](const ProgressRow& row) {
    if (!settings.json) {
      print_progress(row, day);
      return true;
    }
    Json line = progress_json(row);
    line["run"] = to_string(row.place.run);
    line["type"] = "progress";
    print_json(line);
    return true;
  });
}

// Prints the events after `after`; the number of the last event printed.
Result<std::int64_t> print_events_after(OpenedRun& found, const Settings& settings, const EventsOptions& options,
                                        std::int64_t after, EventLines& as) {
  for (;;) {
    Result<std::vector<Json>> page =
        event_lines(*found.opened.client, found.run, found.shard, {after, events_page, options.raw});
    if (!page) return page.error();
    for (Json& line : *page) {
      after = line["seq"];
      if (settings.json) {
        print_json(line);
        continue;
      }
      as.items.add_to(line);
      add_version_before(*found.opened.client, found.run, line);
      print_event(line, as.day);
    }
    if (page->size() < static_cast<std::size_t>(events_page) || !is_read()) return after;
  }
}

Exit show_events(Settings settings, const EventsOptions& options) {
  if (options.progress) settings.command += " --progress";  // which a replica does not have
  Result<OpenedRun> found = find_run(settings, options.run);
  if (!found) return found.error();
  if (!found->opened.store->run(found->run)) return no_such_run(*found->opened.store, found->run);
  const StopSignals signals;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EventLines as{local_day(std::chrono::duration_cast<std::chrono::microseconds>(now).count()),
                ItemNumbers(*found->opened.client, found->run)};
  Result<std::int64_t> last =
      print_events_after(*found, settings, options, std::max<std::int64_t>(options.from, 1) - 1, as);
  ProgressNews news;
  while (last && options.follow && !signals.arrived() && !has_ended_by(*found->opened.store, found->run, *last)) {
    if (options.progress) print_news(*found, settings, news, as.day);
    std::cout.flush();
    if (!is_read()) break;
    std::this_thread::sleep_for(follow_pause);
    last = print_events_after(*found, settings, options, *last, as);
  }
  if (!last) return last.error();
  return exit_ok;
}

}  // namespace

void add_events(CommandLine& line) {
  auto& options = line.keep<EventsOptions>();
  CLI::App& command = add_command(
      line, "events", "A run's events in order", "cairn events RUN --follow",
      paged([&](const Settings& settings) { return show_events(settings, options); }, [&] { return options.follow; }));
  add_run(command, options.run);
  command.add_option("--from", options.from, "Begin with this event's number")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->type_name("SEQ")
      ->capture_default_str();
  CLI::Option* follow = command.add_flag("--follow", options.follow, "Go on until the run has ended");
  command.add_flag("--progress", options.progress, "Between events, show what open steps have written so far")
      ->needs(follow);
  command.add_flag("--raw", options.raw, "Leave large values as references to their blobs");
}

}  // namespace cairn

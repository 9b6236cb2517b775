#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <thread>
#include <utility>

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

// In the columns of events; it is none, so it has no number.
void print_progress(const ProgressRow& row, std::string& day) {
  print_day(row.at_us, day);
  const std::string ms = std::to_string(1'000 + row.at_us / 1'000 % 1'000).substr(1);
  const std::string step = std::to_string(row.place.step);
  std::string line = "       " + painted(local_clock(row.at_us) + "." + ms, Paint::dim) + "  " +
                     std::string(step.size() < 4 ? 4 - step.size() : 0, ' ') + step + "  progress            ";
  print_line(line + "node=" + row.node + " " + progress_sentence(row));
}

void print_news(OpenedRun& found, const Settings& settings, ProgressNews& news, std::string& day) {
  news.give(found.opened.store->progress(found.run), [&](const ProgressRow& row) {
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
                                        std::int64_t after, std::string& day) {
  for (;;) {
    const Result<std::vector<Json>> page =
        event_lines(*found.opened.client, found.run, found.shard, {after, events_page, options.raw});
    if (!page) return page.error();
    for (const Json& line : *page) {
      if (settings.json)
        print_json(line);
      else
        print_event(line, day);
      after = line["seq"];
    }
    if (page->size() < static_cast<std::size_t>(events_page)) return after;
  }
}

Exit show_events(const Settings& settings, const EventsOptions& options) {
  Result<OpenedRun> found = find_run(settings, options.run);
  if (!found) return found.error();
  if (!found->opened.store->run(found->run))
    return Error{Code::not_found, "Expected a run " + options.run + ", but there is none."};
  const StopSignals signals;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string day = local_day(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  Result<std::int64_t> last =
      print_events_after(*found, settings, options, std::max<std::int64_t>(options.from, 1) - 1, day);
  ProgressNews news;
  while (last && options.follow && !signals.arrived() && !has_ended_by(*found->opened.store, found->run, *last)) {
    if (options.progress) print_news(*found, settings, news, day);
    std::cout.flush();
    if (!is_read()) break;
    std::this_thread::sleep_for(follow_pause);
    last = print_events_after(*found, settings, options, *last, day);
  }
  if (!last) return last.error();
  return exit_ok;
}

}  // namespace

void add_events(CommandLine& line) {
  auto& options = line.keep<EventsOptions>();
  CLI::App& command = add_command(line, "events", "A run's events in order",
                                  [&](const Settings& settings) { return show_events(settings, options); });
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

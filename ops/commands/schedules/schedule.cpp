#include <CLI/CLI.hpp>
#include <algorithm>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/schedules/definition_options.hpp"
#include "ops/commands/schedules/opened_schedules.hpp"
#include "ops/commands/schedules/schedule_views.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/schedule_arguments.hpp"
#include "ops/scheduling/schedule_lines.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

struct ScheduleOptions {
  std::string name;
  Json fields = Json::object();
  std::vector<std::string> clear;
  std::optional<std::int64_t> revision = {};
  std::string reason;
  std::optional<Overlap> overlap = {};
  TimeUs from = 0;
  TimeUs until = never_us;
};

Exit said(const Settings& settings, const std::string& name, const std::string& what, const std::string& sentence) {
  if (settings.json)
    print_json({{"name", name}, {what, true}});
  else
    print_paragraph(sentence);
  return exit_ok;
}

Exit schedule_add(const Settings& settings, const ScheduleOptions& options) {
  const Result<ScheduleDefinition> definition = parse_schedule(options.fields);
  if (!definition) return definition.error();
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const Status added = (*schedules)->desk->add(options.name, *definition, current_actor());
  if (!added) return added.error();
  const Result<FoundSchedule> found = find_schedule(**schedules, options.name);
  if (!found) return found.error();
  const Json line = schedule_line(found->row, *(*schedules)->zones, *(*schedules)->opened.store);
  if (settings.json) {
    print_json(line);
    return exit_ok;
  }
  print_paragraph("Schedule " + options.name + " starts " + definition->graph + ": " + in_words(*definition) + ".");
  if (line["next_at"].is_string()) print_line("The next time is " + local_moment_of(line["next_at"]) + ".");
  return exit_ok;
}

Exit schedule_edit(const Settings& settings, const ScheduleOptions& options) {
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  ScheduleEdit edit{options.fields, options.revision};
  for (const std::string& field : options.clear) edit.fields[field] = nullptr;
  const Result<std::int64_t> revision = (*schedules)->desk->edit(options.name, edit, current_actor());
  if (!revision) return revision.error();
  if (settings.json)
    print_json({{"name", options.name}, {"revision", *revision}});
  else
    print_paragraph("Schedule " + options.name + " has revision " + std::to_string(*revision) + ".");
  return exit_ok;
}

Exit schedule_pause(const Settings& settings, const ScheduleOptions& options) {
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const Status paused = (*schedules)->desk->pause(options.name, options.reason, current_actor());
  if (!paused) return paused.error();
  return said(settings, options.name, "paused", "Schedule " + options.name + " is paused; its runs go on.");
}

Exit schedule_resume(const Settings& settings, const ScheduleOptions& options) {
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const Status resumed = (*schedules)->desk->resume(options.name, current_actor());
  if (!resumed) return resumed.error();
  return said(settings, options.name, "resumed",
              "Schedule " + options.name + " goes on; what it missed is in its history.");
}

Exit schedule_remove(const Settings& settings, const ScheduleOptions& options) {
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const Status removed = (*schedules)->desk->remove(options.name, current_actor());
  if (!removed) return removed.error();
  return said(settings, options.name, "removed",
              "Schedule " + options.name + " is removed; its runs go on, and its history stays.");
}

// The outcomes of occurrences that were asked for: a line each. Runs that could not start are a finding.
Exit print_notes(const Settings& settings, const FoundSchedule& schedule, const std::vector<ScheduleNote>& notes) {
  std::vector<KeptNote> kept;
  for (const ScheduleNote& note : notes) kept.push_back({0, 0, note});
  const auto is_refused = [](const ScheduleNote& note) { return note.kind == NoteKind::refused; };
  const ExitCode code = std::any_of(notes.begin(), notes.end(), is_refused) ? exit_finding : exit_ok;
  for (const KeptNote& one : settings.json ? kept : notes_to_say(kept)) {
    Json line = note_line(one);
    for (const char* field : {"number", "recorded_at", "revision"}) line.erase(field);
    if (settings.json)
      print_json(line);
    else if (is_refused(one.note))
      print_paragraph("It could not start: " + one.note.says);
    else
      print_paragraph(note_sentence(one, schedule.zone->zone));
  }
  if (notes.empty() && !settings.json) print_line("Nothing came of it.");
  return code;
}

Exit schedule_trigger(const Settings& settings, const ScheduleOptions& options) {
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const Result<FoundSchedule> found = find_schedule(**schedules, options.name);
  if (!found) return found.error();
  const auto notes = (*schedules)->desk->trigger(options.name, options.overlap, current_actor());
  if (!notes) return notes.error();
  return print_notes(settings, *found, *notes);
}

Exit schedule_backfill(const Settings& settings, const ScheduleOptions& options) {
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const Result<FoundSchedule> found = find_schedule(**schedules, options.name);
  if (!found) return found.error();
  BackfillRange range{options.from, options.until};
  range.overlap = options.overlap.value_or(range.overlap);
  const auto notes = (*schedules)->desk->backfill(options.name, range, current_actor());
  if (!notes) return notes.error();
  return print_notes(settings, *found, *notes);
}

void add_overlap(CLI::App& command, ScheduleOptions& options, const std::string& says) {
  add_text(command, "--overlap", "POLICY", says, [&options](const std::string& text) -> Status {
    const Result<Overlap> overlap = parse_overlap(text);
    if (!overlap) return overlap.error();
    options.overlap = *overlap;
    return Done{};
  });
}

void add_edit(CommandLine& line, CLI::App& group, ScheduleOptions& options) {
  CLI::App& edit = add_command(
      line, group, "edit", "Change what is given; the rest stays",
      "cairn schedule edit weekly --cron '0 8 * * MON' --revision 1",
      [&](const Settings& settings) { return schedule_edit(settings, options); },
      [&] { return check_cleared(options.clear, options.fields); });
  add_schedule_name(edit, options.name);
  add_time_options(edit, options.fields);
  add_run_options(edit, options.fields);
  add_list(edit, "--clear", "FIELD",
           "Take away cron, every, phase, exclude, jitter, begins, ends, input or tags (repeatable)",
           [&options](const std::vector<std::string>& texts) { return assign(options.clear, cleared_fields(texts)); });
  edit.add_option("--revision", options.revision, "Refuse if the schedule has another revision by now")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
}

void add_requests(CommandLine& line, CLI::App& group, ScheduleOptions& options) {
  CLI::App& trigger = add_command(line, group, "trigger", "Start a run now, as an occurrence of this moment",
                                  "cairn schedule trigger weekly",
                                  [&](const Settings& settings) { return schedule_trigger(settings, options); });
  add_schedule_name(trigger, options.name);
  add_overlap(trigger, options, "What to do if a run is open (default: as the schedule does)");
  CLI::App& backfill = add_command(
      line, group, "backfill", "Run what has passed without a run: missed, skipped, or before it was there",
      "cairn schedule backfill weekly --from 2026-11-01 --until 2026-11-24",
      [&](const Settings& settings) { return schedule_backfill(settings, options); },
      [&] {
        return check_backfill({options.from, options.until});
      });
  add_schedule_name(backfill, options.name);
  add_text(backfill, "--from", "TIME", "The first time", [&options](const std::string& text) {
    return assign(options.from, time_argument(text));
  })->required();
  add_text(backfill, "--until", "TIME", "The last time (default: now)",
           [&options](const std::string& text) { return assign(options.until, time_argument(text)); });
  add_overlap(backfill, options, "One after another by buffer_all (the default), or any other policy");
}

}  // namespace

void add_schedule(CommandLine& line) {
  auto& options = line.keep<ScheduleOptions>();
  CLI::App& group = add_group(line, "schedule", "What starts runs at times", "cairn schedule list");
  CLI::App& add = add_command(
      line, group, "add", "Make a schedule",
      "cairn schedule add weekly --graph order --cron '0 9 * * MON' --zone Europe/Berlin",
      [&](const Settings& settings) { return schedule_add(settings, options); },
      [&]() -> Status {
        const Result<ScheduleDefinition> definition = parse_schedule(options.fields);
        return definition ? Status(Done{}) : definition.error();
      });
  add_schedule_name(add, options.name);
  add_time_options(add, options.fields);
  add_run_options(add, options.fields);
  add_schedule_views(line, group);
  add_edit(line, group, options);
  CLI::App& pause = add_command(line, group, "pause", "Start nothing until it is resumed",
                                "cairn schedule pause weekly --reason 'The warehouse is closed.'",
                                [&](const Settings& settings) { return schedule_pause(settings, options); });
  add_schedule_name(pause, options.name);
  pause.add_option("--reason", options.reason, "Stands in the history")->type_name("TEXT");
  CLI::App& resume =
      add_command(line, group, "resume", "Go on; what has passed meanwhile is missed", "cairn schedule resume weekly",
                  [&](const Settings& settings) { return schedule_resume(settings, options); });
  add_schedule_name(resume, options.name);
  add_requests(line, group, options);
  CLI::App& remove =
      add_command(line, group, "remove", "End a schedule; its runs go on", "cairn schedule remove weekly",
                  [&](const Settings& settings) { return schedule_remove(settings, options); });
  add_schedule_name(remove, options.name);
}

}  // namespace cairn

#include "ops/commands/schedules/schedule_views.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>

#include "ops/answers/words.hpp"
#include "ops/commands/list_part.hpp"
#include "ops/commands/schedules/definition_options.hpp"
#include "ops/commands/schedules/opened_schedules.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/schedule_arguments.hpp"
#include "ops/scheduling/schedule_lines.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

constexpr std::int32_t rows_at_once = 500;

struct ViewOptions {
  std::string name;
  std::string at;
  Json fields = Json::object();
  std::optional<TimeUs> from = {};
  std::int64_t count = 10;
  std::int64_t limit = 20;
  std::int64_t before = std::numeric_limits<std::int64_t>::max();  // of its history
};

std::string standing_of(const Json& line, TimeUs now_us) {
  if (line["paused"].is_object()) return "paused";
  if (line.contains("fault")) return "fault";
  if (!line["next_at"].is_string()) return "none";
  return listed_time(line["next_at"].get<std::string>(), now_us);
}

Exit schedule_list(const Settings& settings, const ListPart& part) {
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const TimeUs now_us = (*schedules)->table->next_due().now_us;
  Table table({"NAME", "GRAPH", "NEXT (" + zone_name(now_us) + ")", "OPEN", "WAITING", "TIMES"});
  std::vector<ListRow> shown;
  std::string after;
  for (;;) {
    const std::vector<ScheduleRow> rows = (*schedules)->table->rows(after, rows_at_once);
    for (const ScheduleRow& row : rows) {
      const Json line = schedule_line(row, *(*schedules)->zones, *(*schedules)->opened.store);
      const std::string fault = line.value("fault", "");
      after = row.name;
      shown.push_back({row.name,
                       line,
                       {row.name, line["graph"], standing_of(line, now_us), std::to_string(line["open"].size()),
                        std::to_string(line["waiting"].size()),
                        line["words"].get<std::string>() + (fault.empty() ? "" : ". " + fault)}});
    }
    if (rows.size() < static_cast<std::size_t>(rows_at_once)) break;
  }
  print_list(settings, std::move(table), std::move(shown), part, LastColumn::wrapped);
  return exit_ok;
}

void print_schedule(const Json& line, const std::vector<Json>& next) {
  print_paragraph(painted(line["name"].get<std::string>(), Paint::bold) + "  " + line["words"].get<std::string>());
  print_paragraph("starts " + line["graph"].get<std::string>() + " with " + excerpt(line["input"], 200) +
                  ", revision " + line["revision"].dump());
  print_paragraph("overlap " + line["overlap"].get<std::string>() + ", catch up " +
                  duration_text(line["catch_up_ms"].get<std::int64_t>() * 1'000) + ", jitter " +
                  duration_text(line["jitter_ms"].get<std::int64_t>() * 1'000) + ", dst " +
                  line["dst"].get<std::string>());
  if (line["paused"].is_object()) print_paragraph(paused_text(line["paused"]));
  for (const Json& one : line["open"])
    print_line("open: run " + one["run"].get<std::string>() + " of " + local_moment_of(one["at"]));
  for (const Json& at : line["waiting"]) print_line("waiting: " + local_moment_of(at));
  for (const Json& one : next)
    print_line("next: " + one["local"].get<std::string>() + " " + one["zone"].get<std::string>() + ", " +
               one["at"].get<std::string>());
}

Exit schedule_show(const Settings& settings, const ViewOptions& options) {
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const Result<FoundSchedule> found = find_schedule(**schedules, options.name);
  if (!found) return found.error();
  const Json line = schedule_line(found->row, *(*schedules)->zones, *(*schedules)->opened.store);
  constexpr std::int64_t shown = 3;
  if (settings.json)
    print_json(line);
  else
    print_schedule(line, next_lines(options.name, found->definition, found->zone->zone,
                                    (*schedules)->table->next_due().now_us, shown));
  return exit_ok;
}

Exit print_next(const Settings& settings, const ViewOptions& options, const ScheduleDefinition& definition,
                const TimeZone& zone, TimeUs now_us) {
  const TimeUs from = options.from.value_or(now_us);
  const std::vector<Json> lines = next_lines(options.name, definition, zone, from, options.count);
  if (!settings.json) print_paragraph(in_words(definition) + ":");
  for (const Json& line : lines) {
    const TimeUs at = parse_time(line["at"].get<std::string>()).value_or(0);
    const std::int64_t days = days_before(at / 1'000'000 + zone.piece_at(at / 1'000'000).offset);
    static constexpr const char* weekdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    if (settings.json)
      print_json(line);
    else
      print_line(std::string(weekdays[weekday_of(days)]) + " " + line["local"].get<std::string>() + " " +
                 line["zone"].get<std::string>() + "  " + line["at"].get<std::string>());
  }
  if (lines.empty() && !settings.json) print_line("No time is left.");
  return exit_ok;
}

// Without a name the options say what the times are, and no database is needed.
Exit schedule_next(const Settings& settings, const ViewOptions& options) {
  if (options.name.empty()) {
    Json fields = options.fields;
    fields["graph"] = "none";
    const Result<ScheduleDefinition> definition = parse_schedule(fields);
    if (!definition) return definition.error();
    ZoneFiles zones;
    const auto zone = zones.find(definition->zone);
    if (!zone) return zone.error();
    const TimeUs now_us =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    return print_next(settings, options, *definition, (*zone)->zone, now_us);
  }
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const Result<FoundSchedule> found = find_schedule(**schedules, options.name);
  if (!found) return found.error();
  const TimeUs now_us = (*schedules)->table->next_due().now_us;
  return print_next(settings, options, found->definition, found->zone->zone, now_us);
}

Exit schedule_history(const Settings& settings, const ViewOptions& options) {
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const Result<FoundSchedule> found = find_schedule(**schedules, options.name);
  std::vector<KeptNote> notes =
      (*schedules)->table->notes(options.name, options.before, static_cast<std::int32_t>(options.limit + 1));
  const bool is_first_page = options.before == std::numeric_limits<std::int64_t>::max();
  if (notes.empty() && is_first_page) return no_such_schedule(options.name);
  const bool goes_on = std::ssize(notes) > options.limit;
  if (goes_on) notes.pop_back();
  const TimeZone zone = found ? found->zone->zone : TimeZone::utc();
  std::reverse(notes.begin(), notes.end());
  if (settings.json)
    for (const KeptNote& kept : notes) print_json(note_line(kept));
  else
    for (const KeptNote& kept : notes_to_say(notes))
      print_dated(local_time(kept.recorded_at), note_sentence(kept, zone));
  if (goes_on) print_older_ones(notes.size(), notes.front().number, settings.json);
  return exit_ok;
}

Exit schedule_explain(const Settings& settings, const ViewOptions& options) {
  const auto schedules = open_schedules(settings);
  if (!schedules) return schedules.error();
  const Result<std::vector<std::string>> says =
      explain_schedule(*(*schedules)->table, *(*schedules)->zones, options.name, options.at);
  if (!says) return says.error();
  if (settings.json)
    print_json({{"name", options.name}, {"says", *says}});
  else
    for (const std::string& sentence : *says) print_paragraph(sentence);
  return exit_ok;
}

void add_next(CommandLine& line, CLI::App& group, ViewOptions& options) {
  CLI::App& next =
      add_command(line, group, "next", "The next times of a schedule, or of a cron line or an interval that is given",
                  "cairn schedule next weekly --count 5",
                  paged([&](const Settings& settings) { return schedule_next(settings, options); }), [&]() -> Status {
                    if (options.name.empty() == options.fields.empty())
                      return Error{Code::invalid,
                                   "Expected the name of a schedule, or --cron or --every, but got both or neither."};
                    return options.name.empty() ? Status(Done{}) : check_schedule_name(options.name);
                  });
  next.add_option("NAME", options.name, "The schedule's name")->type_name("");
  add_time_options(next, options.fields);
  add_text(next, "--from", "TIME", "At or after this time (default: now)",
           [&options](const std::string& text) -> Status {
             const Result<TimeUs> at = time_argument(text);
             if (!at) return at.error();
             options.from = *at;
             return Done{};
           });
  next.add_option("--count", options.count, "So many")
      ->check(CLI::Range(std::int64_t{1}, next_count_max))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

CLI::Option* add_schedule_name(CLI::App& command, std::string& name) {
  return add_text(command, "NAME", "", "The schedule's name",
                  [&name](const std::string& text) { return assign(name, schedule_name_argument(text)); })
      ->required();
}

namespace {

const std::map<std::string, std::string>& fields_to_clear() {
  static const std::map<std::string, std::string> fields = {
      {"cron", "cron"},   {"every", "every_ms"}, {"phase", "phase_ms"}, {"exclude", "exclude"}, {"jitter", "jitter_ms"},
      {"begins", "from"}, {"ends", "until"},     {"input", "input"},    {"tags", "tags"}};
  return fields;
}

}  // namespace

Status check_cleared(const std::vector<std::string>& cleared, const Json& given) {
  for (const auto& [word, field] : fields_to_clear())
    if (given.contains(field) && std::find(cleared.begin(), cleared.end(), field) != cleared.end())
      return Error{Code::invalid, "Expected a value of " + word + " or --clear " + word + ", but got both."};
  return Done{};
}

Result<std::vector<std::string>> cleared_fields(const std::vector<std::string>& texts) {
  const std::map<std::string, std::string>& fields = fields_to_clear();
  std::vector<std::string> cleared;
  for (const std::string& text : texts) {
    const auto field = fields.find(text);
    if (field == fields.end())
      return Error{
          Code::invalid,
          "Expected cron, every, phase, exclude, jitter, begins, ends, input or tags to take away, but found " +
              excerpt(Json(text), 60) + "."};
    cleared.push_back(field->second);
  }
  return cleared;
}

void add_schedule_views(CommandLine& line, CLI::App& group) {
  auto& options = line.keep<ViewOptions>();
  auto& part = line.keep<ListPart>();
  add_list_part(add_command(line, group, "list", "The schedules, by name", "cairn schedule list --json",
                            paged([&](const Settings& settings) { return schedule_list(settings, part); })),
                part);
  CLI::App& show =
      add_command(line, group, "show", "A schedule, what is open and what comes next", "cairn schedule show weekly",
                  paged([&](const Settings& settings) { return schedule_show(settings, options); }));
  add_schedule_name(show, options.name);
  add_next(line, group, options);
  CLI::App& history = add_command(line, group, "history", "What happened to it and by whom, the newest last",
                                  "cairn schedule history weekly --limit 50",
                                  paged([&](const Settings& settings) { return schedule_history(settings, options); }));
  add_schedule_name(history, options.name);
  history.add_option("--limit", options.limit, "The newest so many")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N")
      ->capture_default_str();
  add_before(history, options.before);
  CLI::App& explain = add_command(line, group, "explain", "Why it ran, or did not, on a day or at a time",
                                  "cairn schedule explain weekly --at 2026-11-23",
                                  paged([&](const Settings& settings) { return schedule_explain(settings, options); }));
  add_schedule_name(explain, options.name);
  explain.add_option("--at", options.at, "A day of the schedule's zone, or a time")->required()->type_name("DAY|TIME");
}

}  // namespace cairn

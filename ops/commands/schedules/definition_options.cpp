#include "ops/commands/schedules/definition_options.hpp"

#include <CLI/CLI.hpp>

#include "engine/schedule.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/requests/schedule_arguments.hpp"

namespace cairn {
namespace {

void add_span(CLI::App& command, const std::string& name, const std::string& field, const std::string& says,
              Json& fields) {
  add_text(command, name, "D", says, [&fields, name, field](const std::string& text) -> Status {
    const Result<std::int64_t> span = span_argument(text, name);
    if (!span) return span.error();
    fields[field] = *span;
    return Done{};
  });
}

void add_moment_of(CLI::App& command, const std::string& name, const std::string& field, const std::string& says,
                   Json& fields) {
  add_text(command, name, "TIME", says, [&fields, field](const std::string& text) -> Status {
    const Result<TimeUs> at = time_argument(text);
    if (!at) return at.error();
    fields[field] = time_text(*at);
    return Done{};
  });
}

// Each text is checked when it is read, so that a fault is one of usage.
template <class Check>
void add_checked_list(CLI::App& command, const std::string& name, const std::string& type, const std::string& says,
                      Json& fields, const std::string& field, Check check) {
  add_list(command, name, type, says, [&fields, field, check](const std::vector<std::string>& texts) -> Status {
    for (const std::string& text : texts)
      if (const auto checked = check(text); !checked) return checked.error();
    fields[field] = texts;
    return Done{};
  });
}

}  // namespace

void add_time_options(CLI::App& command, Json& fields) {
  add_checked_list(command, "--cron", "LINE",
                   "Minute, hour, day of month, month, day of week; with six fields the second stands in front "
                   "(repeatable)",
                   fields, "cron", parse_cron_line);
  add_span(command, "--every", "every_ms", "An interval of whole seconds that pass", fields);
  add_span(command, "--phase", "phase_ms", "The interval's times come so long after its multiples", fields);
  add_text(command, "--zone", "ZONE", "The time zone of cron lines and excluded days, as Europe/Berlin (default UTC)",
           [&fields](const std::string& text) -> Status {
             fields["zone"] = text;
             return Done{};
           });
  add_text(command, "--dst", "TWICE,NEVER",
           "A local time that occurs twice: first, second or both; one that does not occur: next, skip or shift "
           "(default first,next)",
           [&fields](const std::string& text) -> Status {
             const Result<DstRule> rule = parse_dst(text);
             if (!rule) return rule.error();
             fields["dst"] = to_string(*rule);
             return Done{};
           });
  add_checked_list(command, "--exclude", "DAYS",
                   "Days without: 2026-12-25, 2026-12-24..2027-01-02, 12-25, SAT (repeatable)", fields, "exclude",
                   parse_excluded);
  add_span(command, "--jitter", "jitter_ms", "Start later by a part of it that depends on schedule and time", fields);
  add_moment_of(command, "--begins", "from", "Nothing before this time", fields);
  add_moment_of(command, "--ends", "until", "Nothing after this time", fields);
}

void add_run_options(CLI::App& command, Json& fields) {
  add_text(command, "--graph", "GRAPH", "The graph to start, in its version of then",
           [&fields](const std::string& text) -> Status {
             fields["graph"] = text;
             return Done{};
           });
  add_text(command, "--input", "JSON", "The input of each run, @FILE or @-",
           [&fields](const std::string& text) -> Status {
             Result<Json> input = object_argument(text, "--input");
             if (!input) return input.error();
             fields["input"] = *std::move(input);
             return Done{};
           });
  add_list(command, "--tag", "KEY=VALUE", "A tag of each run (repeatable)",
           [&fields](const std::vector<std::string>& texts) -> Status {
             const Result<Tags> tags = tags_argument(texts);
             if (!tags) return tags.error();
             fields["tags"] = *tags;
             return Done{};
           });
  add_text(command, "--overlap", "POLICY",
           "While a run is open: skip (default), buffer_one, buffer_all, cancel_other, terminate_other, allow_all",
           [&fields](const std::string& text) -> Status {
             const Result<Overlap> overlap = parse_overlap(text);
             if (!overlap) return overlap.error();
             fields["overlap"] = text;
             return Done{};
           });
  add_span(command, "--catch-up", "catch_up_ms", "An occurrence that is later than this is missed (default 1h)",
           fields);
}

}  // namespace cairn

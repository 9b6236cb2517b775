#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "ops/answers/sessions.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

std::string seconds_text(TimeUs us) {
  constexpr TimeUs second = 1'000'000;
  return us < 120 * second ? std::to_string(std::max<TimeUs>(us, 0) / second) + " s" : duration_text(us);
}

Exit show_workers(const Settings& settings) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const TimeUs now_us = opened->store->database_time();
  const std::string zone = is_terminal() ? "" : " (" + zone_name(now_us) + ")";
  Table table({"SESSION", "HOST", "PID", "HELD", "LAST BEAT", "STARTED" + zone, "QUEUES"});
  std::map<SessionId, std::int64_t> held = opened->store->sessions().held_counts();
  for (const SessionRow& row : opened->store->sessions().all()) {
    if (settings.json) print_json(session_json(row, held[row.id], now_us));
    const std::string last_beat = row.beat_at == 0 ? "unknown" : seconds_text(now_us - row.beat_at) + " ago";
    table.add({std::to_string(row.id), row.host, std::to_string(row.pid), std::to_string(held[row.id]),
               is_silent(row, now_us) ? painted(last_beat + ", gone", Paint::red) : last_beat,
               is_terminal() ? local_short(row.started_at, now_us) : local_time(row.started_at),
               list_text(row.queues, "all")});
  }
  if (!settings.json) table.print();
  return exit_ok;
}

}  // namespace

void add_workers(CommandLine& line) {
  add_command(line, "workers", "The worker sessions and what they hold", "cairn workers", show_workers);
}

}  // namespace cairn

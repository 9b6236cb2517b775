#include <CLI/CLI.hpp>
#include <map>

#include "ops/answers/sessions.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

Exit show_workers(const Settings& settings) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const TimeUs now_us = opened->store->database_time();
  Table table({"SESSION", "HOST", "PID", "HELD", "LAST BEAT", "STARTED", "QUEUES"});
  std::map<SessionId, std::int64_t> held = opened->store->held_counts();
  for (const SessionRow& row : opened->store->sessions()) {
    if (settings.json) print_json(session_json(row, held[row.id], now_us));
    const std::string last_beat = row.beat_at == 0 ? "unknown" : duration_text(now_us - row.beat_at) + " ago";
    table.add({std::to_string(row.id), row.host, std::to_string(row.pid), std::to_string(held[row.id]),
               is_silent(row, now_us) ? painted(last_beat + ", gone", Paint::red) : last_beat,
               time_text(row.started_at).substr(0, 19), list_text(row.queues, "all")});
  }
  if (!settings.json) table.print();
  return exit_ok;
}

}  // namespace

void add_workers(CommandLine& line) {
  add_command(line, "workers", "The worker sessions and what they hold", show_workers);
}

}  // namespace cairn

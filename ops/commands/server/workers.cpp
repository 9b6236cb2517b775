#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "ops/answers/sessions.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/list_part.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

std::string seconds_text(TimeUs us) {
  constexpr TimeUs second = 1'000'000;
  return us < 120 * second ? std::to_string(std::max<TimeUs>(us, 0) / second) + " s" : duration_text(us);
}

Exit show_workers(const Settings& settings, const ListPart& part) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const TimeUs now_us = opened->store->database_time();
  const std::string zone = is_terminal() ? "" : " (" + zone_name(now_us) + ")";
  Table table({"SESSION", "HOST", "PID", "HELD", "LAST BEAT", "STARTED" + zone, "QUEUES"});
  std::map<SessionId, std::int64_t> held = opened->store->sessions().held_counts();
  std::vector<ListRow> rows;
  for (const SessionRow& row : opened->store->sessions().all()) {
    const std::string last_beat = row.beat_at == 0 ? "unknown" : seconds_text(now_us - row.beat_at) + " ago";
    rows.push_back({std::to_string(row.started_at) + "." + std::to_string(row.id),
                    session_json(row, held[row.id], now_us),
                    {std::to_string(row.id), row.host, std::to_string(row.pid), std::to_string(held[row.id]),
                     is_silent(row, now_us) ? painted(last_beat + ", gone", Paint::red) : last_beat,
                     listed_time(row.started_at, now_us), list_text(row.queues, "all")}});
  }
  print_list(settings, std::move(table), std::move(rows), part);
  return exit_ok;
}

}  // namespace

void add_workers(CommandLine& line) {
  auto& part = line.keep<ListPart>();
  add_list_part(add_command(line, "workers", "The worker sessions and what they hold", "cairn workers",
                            paged([&](const Settings& settings) { return show_workers(settings, part); })),
                part);
}

}  // namespace cairn

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "engine/nearest.hpp"
#include "ops/answers/queues.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/service/queue_change.hpp"
#include "ops/terminal/print.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

struct QueueSetOptions {  // a setting that is not given stays as it is
  std::string queue;
  std::string concurrency;  // a number or "none"
  bool pause = false;
  bool resume = false;
};

std::string concurrency_text(const QueueSettings& settings) {
  return settings.concurrency ? std::to_string(*settings.concurrency) : "none";
}

Exit show_queues(const Settings& settings) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  const TimeUs now_us = opened->store->database_time();
  Table table({"QUEUE", "READY", "LATER", "HELD", "LIMIT", "PAUSED", "OLDEST READY"});
  for (const auto& [name, line] : queue_lines(*opened->store)) {
    const QueueRow& row = line.row;
    if (settings.json) print_json(queue_json(name, line));
    table.add({name, std::to_string(row.ready), std::to_string(row.later), std::to_string(row.held),
               line.settings.concurrency ? concurrency_text(line.settings) : "", line.settings.paused ? "paused" : "",
               row.oldest_us ? duration_text(now_us - *row.oldest_us) : ""});
  }
  if (!settings.json) table.print();
  return exit_ok;
}

// A setting stays for a queue that is used later; a name that is probably misspelt is reported now.
void hint_at_queue(Store& store, const std::string& name) {
  std::vector<std::string> known{"default"};
  for (const auto& [queue, line] : queue_lines(store))
    if (queue != name || line.row.ready + line.row.later + line.row.held > 0) known.push_back(queue);
  for (const SessionRow& session : store.sessions())
    known.insert(known.end(), session.queues.begin(), session.queues.end());
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  constexpr std::size_t bytes_max = 2'000;
  std::cerr << "cairn: "
            << readable_line(
                   "No worker serves a queue " + name + did_you_mean(name, known) + ", and nothing waits in it.",
                   bytes_max)
            << '\n';
}

Exit set_queue(const Settings& settings, const QueueSetOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  QueueChange change{.queue = options.queue, .is_limit_given = !options.concurrency.empty()};
  if (change.is_limit_given && options.concurrency != "none") change.concurrency = std::stoi(options.concurrency);
  if (options.pause || options.resume) change.paused = options.pause;
  const Result<QueueSettings> queue = change_queue(*opened->store, change);
  if (!queue) return queue.error();
  hint_at_queue(*opened->store, queue->name);
  if (settings.json)
    print_json(queue_settings_json(*queue));
  else
    print_line("Queue " + queue->name + ": limit " + concurrency_text(*queue) + (queue->paused ? ", paused." : "."));
  return exit_ok;
}

}  // namespace

void add_queue(CommandLine& line) {
  auto& options = line.keep<QueueSetOptions>();
  auto& settable = line.keep<std::vector<CLI::Option*>>();
  CLI::App& queue = add_command(
      line, "queue", "What each queue holds (ready, later, held, its oldest ready job) and what is set for it",
      show_queues);
  CLI::App& set = add_command(
      line, queue, "set", "Limit or pause a queue, across all workers",
      [&](const Settings& settings) { return set_queue(settings, options); },
      [&]() -> Status {
        for (const CLI::Option* option : settable)
          if (!option->empty()) return Done{};
        return Error{Code::invalid, "Expected --concurrency, --pause or --resume, but got none of them."};
      });
  set.add_option("NAME", options.queue, "The queue's name")->required()->type_name("");
  CLI::Option* concurrency =
      add_text(set, "--concurrency", "N|none", "At most so many of its jobs are held at once",
               [&](const std::string& text) { return assign(options.concurrency, concurrency_argument(text)); });
  CLI::Option* pause = set.add_flag("--pause", options.pause, "Nothing more of it is begun");
  CLI::Option* resume = set.add_flag("--resume", options.resume, "It goes on");
  pause->excludes(resume);
  settable = {concurrency, pause, resume};
}

}  // namespace cairn

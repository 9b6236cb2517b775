#include "ops/answers/queues.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

std::string concurrency_text(const QueueSettings& settings) {
  return settings.concurrency ? std::to_string(*settings.concurrency) : "none";
}

QueueSettings settings_of(Store& store, const std::string& queue) {
  for (QueueSettings& settings : store.queue_settings())
    if (settings.name == queue) return std::move(settings);
  return {queue, {}, false};
}

}  // namespace

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
  return 0;
}

Exit set_queue(const Settings& settings, const QueueSetOptions& options) {
  const Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  QueueSettings queue = settings_of(*opened->store, options.queue);
  if (options.concurrency == "none")
    queue.concurrency.reset();
  else if (!options.concurrency.empty())
    queue.concurrency = std::stoi(options.concurrency);
  queue.paused = options.pause || (queue.paused && !options.resume);
  if (const Status set = opened->store->set_queue(queue); !set) return set.error();
  opened->store->notify();
  if (settings.json)
    print_json({{"queue", queue.name},
                {"concurrency", queue.concurrency ? Json(*queue.concurrency) : Json(nullptr)},
                {"paused", queue.paused}});
  else
    print_line("Queue " + queue.name + ": limit " + concurrency_text(queue) + (queue.paused ? ", paused." : "."));
  return 0;
}

}  // namespace cairn

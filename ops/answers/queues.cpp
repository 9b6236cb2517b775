#include "ops/answers/queues.hpp"

namespace cairn {
namespace {

// No job is in it, and what was once set is as if it never had been.
bool is_unused(const QueueLine& line) {
  return line.row.ready + line.row.later + line.row.held == 0 && !line.settings.concurrency && !line.settings.paused;
}

}  // namespace

std::map<std::string, QueueLine> queue_lines(Store& store) {
  std::map<std::string, QueueLine> lines;
  for (QueueRow& row : store.queues()) lines[row.name].row = std::move(row);
  for (QueueSettings& settings : store.queue_settings()) lines[settings.name].settings = std::move(settings);
  std::erase_if(lines, [](const auto& entry) { return is_unused(entry.second); });
  return lines;
}

Json queue_json(const std::string& name, const QueueLine& line) {
  const QueueRow& row = line.row;
  const QueueSettings& set = line.settings;
  return {{"queue", name},
          {"ready", row.ready},
          {"later", row.later},
          {"held", row.held},
          {"concurrency", set.concurrency ? Json(*set.concurrency) : Json(nullptr)},
          {"paused", set.paused},
          {"oldest", row.oldest_us ? Json(time_text(*row.oldest_us)) : Json(nullptr)}};
}

}  // namespace cairn

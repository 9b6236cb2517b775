#include "workers/starts/kept_start.hpp"

namespace cairn {

std::string start_request_text(const StartRun& command) {
  Json request = {{"input", command.input}, {"tags", command.tags}};
  if (command.options.autonomous) request["autonomous"] = true;
  if (command.options.priority != 0) request["priority"] = command.options.priority;
  if (!command.options.budgets.empty()) request["budgets"] = command.options.budgets;
  if (command.continues) request["continues"] = to_string(*command.continues);
  if (!command.key.empty()) request["key"] = command.key;
  return canonical(request);
}

StartRun read_start(const StartKey& of, const WaitingStart& start) {
  const Json request = parse_stored(start.request);
  StartRun command;
  command.run = start.run;
  command.graph = of.graph;
  command.input = request.at("input");
  command.tags = request.at("tags").get<Tags>();
  command.options.autonomous = request.value("autonomous", false);
  command.options.priority = request.value("priority", 0);
  if (request.contains("budgets"))
    command.options.budgets = request["budgets"].get<std::map<std::string, std::int64_t>>();
  if (request.contains("continues")) command.continues = parse_run_id(request["continues"].get<std::string>());
  command.key = request.value("key", "");
  return command;
}

}  // namespace cairn

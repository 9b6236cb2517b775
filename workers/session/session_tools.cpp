#include "workers/session/session_tools.hpp"

#include "engine/json.hpp"

namespace cairn {

ToolTable tools_of(const SessionRow& session) {
  ToolTable tools;
  for (const std::string& name : session.tools.value_or(std::vector<std::string>())) tools.try_emplace(name);
  if (!session.declares) return tools;
  const Json declares = parse_stored(*session.declares);
  for (const Json& one : declares.at("tools")) {
    ToolFacts& facts = tools[one.at("name").get<std::string>()];
    facts.queue = one.at("queue").get<std::string>();
    facts.about = one.at("about").get<std::string>();
  }
  return tools;
}

}  // namespace cairn

#include "workers/session/declared_work.hpp"

#include "engine/json.hpp"

namespace cairn {
namespace {

// [{"name", ...}] of tools or handlers.
Json declared(const SessionRow& session, const char* kind) {
  return session.declares ? parse_stored(*session.declares).value(kind, Json::array()) : Json::array();
}

}  // namespace

ToolTable tools_of(const SessionRow& session) {
  ToolTable tools;
  for (const std::string& name : session.tools.value_or(std::vector<std::string>())) tools.try_emplace(name);
  for (const Json& one : declared(session, "tools")) {
    ToolFacts& facts = tools[one.at("name").get<std::string>()];
    facts.queue = one.at("queue").get<std::string>();
    facts.about = one.at("about").get<std::string>();
  }
  return tools;
}

Handlers handlers_of(const SessionRow& session) {
  Handlers handlers;
  for (const Json& one : declared(session, "handlers")) {
    HandlerLabels& facts = handlers[one.at("name").get<std::string>()];
    facts.labels = one.at("labels").get<std::set<std::string>>();
    facts.declared_by_node = true;  // another version of it may leave by others
    facts.is_pure = false;
    facts.schema = one.value("schema", Json());
  }
  return handlers;
}

}  // namespace cairn

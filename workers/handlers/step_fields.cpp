#include "workers/handlers/step_fields.hpp"

#include <utility>

namespace cairn {

std::string text_of(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

Json channel(const StepInput& input, const char* name, Json otherwise) {
  const auto at = input.data.find(name);
  return at == input.data.end() || at->is_null() ? std::move(otherwise) : *at;
}

Record record(RecordKind kind, const Json& fields) { return {kind, canonical(fields)}; }

}  // namespace cairn

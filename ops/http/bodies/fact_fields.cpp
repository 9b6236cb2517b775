#include "ops/http/bodies/fact_fields.hpp"

#include <cmath>
#include <vector>

#include "engine/json.hpp"

namespace cairn {
namespace {

enum class FieldType : std::uint8_t { text, flag, whole, count, amount };

struct RecordField {
  std::string_view name;
  FieldType type;
};

bool is_whole(const Json& value) {
  return value.is_number_integer() || (value.is_number() && std::trunc(value.get<double>()) == value.get<double>());
}

bool is_bounded(const Json& value) { return value.is_number() && value >= 0 && value <= recorded_amount_max; }

bool fits(FieldType type, const Json& value) {
  switch (type) {
    case FieldType::text:
      return value.is_string();
    case FieldType::flag:
      return value.is_boolean();
    case FieldType::whole:
      return is_whole(value);
    case FieldType::count:
      return is_whole(value) && is_bounded(value);
    case FieldType::amount:
      return is_bounded(value);
  }
  CHECK(false);
}

std::string expected(FieldType type) {
  const std::string bounds = " from 0 to " + std::to_string(recorded_amount_max);
  switch (type) {
    case FieldType::text:
      return "a text";
    case FieldType::flag:
      return "true or false";
    case FieldType::whole:
      return "a whole number";
    case FieldType::count:
      return "a whole number" + bounds;
    case FieldType::amount:
      return "a number" + bounds;
  }
  CHECK(false);
}

std::vector<RecordField> fields_of(RecordKind kind) {
  using enum FieldType;
  switch (kind) {
    case RecordKind::decision_proposed:
      return {{"action", text}, {"reason", text}, {"source", text}};
    case RecordKind::decision_rewritten:
      return {{"rule", text}, {"order", whole}};
    case RecordKind::decision_enforced:
      return {{"action", text}};
    case RecordKind::decomposition_failed:
    case RecordKind::guardrail_blocked:
      return {{"reason", text}};
    case RecordKind::verification_recorded:
      return {{"ok", flag}, {"says", text}};
    case RecordKind::replan_decided:
      return {{"action", text}, {"reason", text}};
    case RecordKind::contingency_matched:
      return {{"condition", text}, {"action", text}};
    case RecordKind::loop_detected:
      return {{"says", text}};
    case RecordKind::model_called:
      return {{"node", text},    {"model", text},        {"tokens_in", count}, {"tokens_out", count},
              {"cost", amount},  {"latency_ms", amount}, {"ok", flag},         {"error", text},
              {"message", text}, {"response_id", text},  {"tools_hash", text}};
    case RecordKind::tool_called:
      return {{"tool", text}, {"ok", flag}, {"latency_ms", amount}, {"inputs_hash", text}};
  }
  CHECK(false);
}

}  // namespace

Status check_record(RecordKind kind, const Json& fields) {
  for (const RecordField& field : fields_of(kind)) {
    const auto found = fields.find(field.name);
    if (found == fields.end() || found->is_null() || fits(field.type, *found)) continue;
    return Error{Code::invalid, "Expected " + expected(field.type) + " as " + std::string(field.name) + ", but found " +
                                    excerpt(*found, 60) + "."};
  }
  return Done{};
}

}  // namespace cairn

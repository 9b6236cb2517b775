#include "workers/ports.hpp"

namespace cairn {
namespace {

Json asked(const ModelRequest& request) {
  Json asked = {{"messages", request.messages}};
  if (!request.schema.is_null()) asked["schema"] = request.schema;
  if (!request.tools.is_null()) asked["tools"] = request.tools;
  return asked;
}

void add_reply(Json& fields, const ModelReply& reply) {
  fields["model"] = reply.model;
  fields["reply"] = reply.message;
  fields["tokens_in"] = reply.tokens_in;
  fields["tokens_out"] = reply.tokens_out;
  fields["cost"] = reply.cost;
  fields["latency_ms"] = reply.latency_ms;
  fields["ok"] = true;
}

// What such a call used is not known.
void add_failure(Json& fields, const ModelRequest& request, const Failure& failure) {
  if (!request.model.empty()) fields["model"] = request.model;
  fields["ok"] = false;
  fields["error"] = failure.error;
  fields["message"] = failure.message;
}

}  // namespace

Record model_called(const ModelRequest& request, const std::variant<ModelReply, Failure>& answer) {
  Json fields = {{"node", request.node}, {"request", asked(request)}};
  if (const auto* reply = std::get_if<ModelReply>(&answer)) {
    add_reply(fields, *reply);
  } else {
    add_failure(fields, request, std::get<Failure>(answer));
  }
  return {RecordKind::model_called, canonical(fields)};
}

Record tool_called(const ToolCall& call, bool ok, std::int64_t latency_ms) {
  const Json fields = {{"tool", call.tool}, {"ok", ok}, {"latency_ms", latency_ms}};
  return {RecordKind::tool_called, canonical(fields)};
}

}  // namespace cairn

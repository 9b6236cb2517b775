#include "workers/handlers/model_call.hpp"

#include <algorithm>
#include <utility>

#include "storage/digest.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/models/models.hpp"
#include "workers/models/partial_reply.hpp"

namespace cairn {
namespace {

Json asked(const ModelRequest& request) {
  Json asked = {{"messages", request.messages}};
  if (!request.model.empty()) asked["model"] = request.model;
  if (!request.schema.is_null()) asked["schema"] = request.schema;
  if (!request.tools.is_null()) asked["tools"] = request.tools;
  if (!request.options.is_null()) asked["options"] = request.options;
  return asked;
}

void add_reply(Json& fields, const ModelReply& reply) {
  fields["model"] = reply.model;
  fields["reply"] = reply.message;
  fields["tokens_in"] = reply.tokens_in;
  fields["tokens_out"] = reply.tokens_out;
  fields["cost"] = reply.cost;
  if (reply.tokens_cached > 0) fields["tokens_cached"] = reply.tokens_cached;
  if (reply.tokens_reasoning > 0) fields["tokens_reasoning"] = reply.tokens_reasoning;
  if (!reply.finish_reason.empty()) fields["finish_reason"] = reply.finish_reason;
  if (!reply.response_id.empty()) fields["response_id"] = reply.response_id;
}

// A little less than the step's, so that the call is on record before the step is given up.
std::int64_t time_within(std::int64_t step_ms) { return step_ms - std::min<std::int64_t>(step_ms / 10, 1'000); }

}  // namespace

Json object_schema(Json properties) {
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

ModelRequest request_for(const StepInput& input) {
  ModelRequest request;
  if (input.with.is_object()) {
    request.model = text_of(input.with, "model");
    request.options = input.with.value("options", Json());
  }
  request.node = input.node;
  request.timeout_ms = time_within(input.timeout_ms);
  request.key = input.key;
  // From the third attempt on, one of those before may have had a bad reply, which the first key would bring again.
  if (input.fault_error == "bad_reply" || input.attempt > 2) request.key += "/" + std::to_string(input.attempt);
  return request;
}

void show_progress(ModelRequest& request, Ports& ports, const std::string& member) {
  if (!ports.takes_progress()) return;
  request.watch = [&ports, member]() -> TakeWritten {
    return [&ports, reply = PartialReply(member)](std::string_view more) mutable { ports.progress(reply.add(more)); };
  };
}

Record model_called(const ModelRequest& request, const ModelAnswer& answer) {
  Json fields = {{"node", request.node}, {"request", asked(request)}, {"latency_ms", answer.reply.latency_ms}};
  if (!request.tools.is_null()) fields["tools_hash"] = hex(sha256(canonical(request.tools)));
  if (!answer.failure || !answer.reply.message.is_null()) add_reply(fields, answer.reply);
  fields["ok"] = !answer.failure;
  if (answer.failure) {
    fields["error"] = answer.failure->error;
    fields["message"] = answer.failure->message;
  }
  return {RecordKind::model_called, canonical(fields)};
}

boost::asio::awaitable<StepResult> ask_model(ModelRequest request, Ports& ports, ReadReply read) {
  ModelAnswer answer = co_await ports.model().ask(request);
  const Record call = model_called(request, answer);
  StepResult result = answer.failure ? StepResult(*std::move(answer.failure)) : read(answer.reply);
  std::vector<Fact>& facts = result ? result->facts : result.error().facts;
  facts.insert(facts.begin(), call);
  co_return result;
}

boost::asio::awaitable<StepResult> ask_model_counted(ModelRequest request, Ports& ports, ReadReply read) {
  const ReadReply read_and_count = [&read](const ModelReply& reply) {
    StepResult result = read(reply);
    if (result) {
      result->patch["model_calls"] = 1;
      result->patch["tokens_in"] = reply.tokens_in;
      result->patch["tokens_out"] = reply.tokens_out;
      result->patch["cost"] = reply.cost;
    }
    return result;
  };
  co_return co_await ask_model(std::move(request), ports, read_and_count);
}

Json prompt_data(const ModelRequest& request) {
  const bool has_messages = request.messages.is_array() && !request.messages.empty();
  const std::string last = has_messages ? text_of(request.messages.back(), "content") : std::string();
  Result<Json> data = parse_json(last, "the last message of the prompt");
  return data && data->is_object() ? *std::move(data) : Json::object();
}

const char* source_of(const ModelReply& reply) { return reply.model == rule_book_name ? "rule" : "model"; }

}  // namespace cairn

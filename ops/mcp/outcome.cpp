#include "ops/mcp/outcome.hpp"

#include <algorithm>

#include "ops/mcp/forms.hpp"
#include "ops/service/build_facts.hpp"
#include "storage/ground/base64.hpp"

namespace cairn {
namespace {

constexpr int poll_interval_ms = 1'000;

bool is_block(const Json& block) {
  if (!block.is_object() || !block.contains("type")) return false;
  const Json& type = block["type"];
  if (type == "text") return block.contains("text") && block["text"].is_string();
  if (type == "image" || type == "audio") return block.contains("data") && block.contains("mimeType");
  if (type == "resource") return block.contains("resource") && block["resource"].is_object();
  return type == "resource_link" && block.contains("uri") && block.contains("name");
}

// Blocks of the protocol that a graph gives itself.
bool is_blocks(const Json& output) {
  if (!output.is_object() || output.size() != 1 || !output.contains("content")) return false;
  const Json& content = output["content"];
  return content.is_array() && !content.empty() && std::all_of(content.begin(), content.end(), is_block);
}

std::string failure_text(const Json& state) {
  std::string text = "Run " + state.value("run", "") + " has " +
                     (state.value("status", "") == "aborted" ? "been cancelled" : "failed");
  const Json reason = state.value("reason", Json());
  if (reason.is_string() && !reason.get_ref<const std::string&>().empty()) text += ": " + reason.get<std::string>();
  const Json cause = state.value("cause", Json());
  const bool adds = cause.is_object() && text.find(cause.value("message", "")) == std::string::npos;
  if (adds)
    text += " (at node " + cause.value("node", "") + ": " + cause.value("error", "") + ", " +
            cause.value("message", "") + ")";
  return text + (text.ends_with('.') ? "" : ".");
}

// An object of this one text alone.
bool is_text_alone(const Json& output, const char* key) {
  return output.is_object() && output.size() == 1 && output.contains(key) && output[key].is_string();
}

std::string task_status(const Json& state, const Json& requests) {
  const std::string status = state.value("status", "");
  if (status == "done" || status == "failed") return "completed";
  if (status == "aborted") return "cancelled";
  return requests.empty() ? "working" : "input_required";
}

}  // namespace

bool has_ended(const Json& state) {
  const std::string status = state.value("status", "");
  return status == "done" || status == "failed" || status == "aborted";
}

Json result_schema(const Graph& graph, bool is_modern) {
  if (graph.output.is_null()) return nullptr;
  const bool is_object = graph.output.value("type", Json()) == "object";
  return is_object || is_modern ? graph.output : Json(nullptr);
}

Json text_result(const std::string& text, bool is_error) {
  return {{"content", {{{"type", "text"}, {"text", text}}}}, {"isError", is_error}};
}

Json value_result(const Json& value, bool is_modern) {
  Json result = text_result(value.is_string() ? value.get<std::string>() : canonical(value));
  if (value.is_object() || is_modern) result["structuredContent"] = value;
  return result;
}

Json ended_result(const Json& state, const Graph* graph, bool is_modern) {
  if (state.value("status", "") != "done") return text_result(failure_text(state), true);
  const Json output = state.value("output", Json());
  const bool has_schema = graph != nullptr && !result_schema(*graph, is_modern).is_null();
  if (!has_schema && is_blocks(output)) return {{"content", output["content"]}, {"isError", false}};
  return value_result(output, is_modern);
}

Json unfinished_result(const std::string& text, bool has_schema) { return text_result(text, has_schema); }

Result<Json, RpcError> ended_read(const Json& state, const ResourceRead& read, bool is_modern) {
  if (state.value("status", "") != "done") return RpcError{rpc::internal_error, failure_text(state)};
  const Json output = state.value("output", Json());
  const auto contents = [&](const char* key, const std::string& value, const char* type) {
    return read_result({{"uri", read.uri}, {"mimeType", read.mime_type.empty() ? type : read.mime_type}, {key, value}},
                       is_modern);
  };
  if (is_text_alone(output, "text")) return contents("text", output["text"].get<std::string>(), "text/plain");
  if (!is_text_alone(output, "blob")) return contents("text", canonical(output), "application/json");
  const auto blob = output["blob"].get<std::string>();
  if (!parse_base64(blob))
    return RpcError{rpc::internal_error, "Expected the blob that run " + state.value("run", "") +
                                             " gives to be base64, but it is " + excerpt(output["blob"], 60) + "."};
  return contents("blob", blob, "application/octet-stream");
}

Json read_result(Json contents, bool is_modern) {
  Json result = {{"contents", Json::array({std::move(contents)})}};
  if (!is_modern) return result;
  result["ttlMs"] = 0;
  result["cacheScope"] = "private";
  return result;
}

Json input_requests(const Json& questions, const Asking& asking) {
  Json requests = Json::object();
  for (const Json& question : questions)
    if (std::optional<Json> params = elicitation(question, asking))
      requests[question.value("key", "")] = {{"method", "elicitation/create"}, {"params", *std::move(params)}};
  return requests;
}

Json task_json(const TaskFacts& facts, const Graph* graph) {
  const Json& state = facts.state;
  Json requests = has_ended(state) ? Json::object() : input_requests(facts.questions, facts.asking);
  Json task = {{"taskId", state.value("run", "")},
               {"status", task_status(state, requests)},
               {"createdAt", state.value("started_at", "")},
               {"lastUpdatedAt", state.value("updated_at", "")},
               {"ttlMs", nullptr},
               {"pollIntervalMs", poll_interval_ms}};
  if (task["status"] == "input_required") task["inputRequests"] = std::move(requests);
  if (task["status"] == "completed") task["result"] = ended_result(state, graph, true);
  std::string says = facts.says;
  if (task["status"] == "working" && !facts.questions.empty())
    says = question_text(facts.questions.front().value("run", ""), facts.questions.front());
  if (task["status"] == "cancelled") says = failure_text(state);
  if (!says.empty()) task["statusMessage"] = says;
  return task;
}

Json server_info() { return {{"name", "cairn"}, {"title", "Cairn"}, {"version", build_facts().version}}; }

Json dressed(Json result, bool is_modern) {
  if (!is_modern) return result;
  if (!result.contains("resultType")) result["resultType"] = "complete";
  result["_meta"]["io.modelcontextprotocol/serverInfo"] = server_info();
  return result;
}

}  // namespace cairn

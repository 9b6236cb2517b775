#include "workers/tools/mcp/server.hpp"

#include <algorithm>
#include <boost/asio.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "workers/ports/failures.hpp"
#include "workers/ports/log.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/tools/mcp/connection.hpp"
#include "workers/tools/mcp/elicitation.hpp"
#include "workers/tools/mcp/results.hpp"

namespace cairn::mcp {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr int rounds_max = 10;                  // of questions in one call
constexpr std::int64_t deadline_slack_ms = 20;  // by which a timer may fire early
constexpr std::int64_t poll_ms_min = 50;
constexpr std::int64_t poll_ms_otherwise = 1'000;
constexpr std::int64_t poll_ms_max = 3'600'000;
constexpr std::int64_t relist_ms_max = 10'000;
constexpr std::chrono::seconds relist_pause{60};  // after a listing that failed
constexpr std::int64_t cancel_ms_max = 5'000;
constexpr std::size_t task_bytes_max = 1'024;

std::int64_t until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return std::max<std::int64_t>(left, 0);
}

std::int64_t poll_ms_of(const Json& task) {
  const Json ms = task.value("pollIntervalMs", Json());
  if (!ms.is_number_integer()) return poll_ms_otherwise;
  return std::clamp(ms.get<std::int64_t>(), poll_ms_min, poll_ms_max);
}

std::string type_of(const Json& result) {
  const Json type = result.value("resultType", Json());
  return type.is_string() ? type.get<std::string>() : "complete";
}

// The id of a task; "": it has none that can be used.
std::string task_of(const Json& result) {
  const Json id = result.value("taskId", Json());
  const bool fits = id.is_string() && id.get_ref<const std::string&>().size() <= task_bytes_max;
  return fits ? id.get<std::string>() : "";
}

// One call on its way: what stays the same from round to round.
struct Calling {
  std::string name;  // the server's
  ToolCall call;
  Json arguments;
  Clock::time_point deadline;
};

}  // namespace

struct Server::Parts : std::enable_shared_from_this<Server::Parts> {
  Parts(McpEntry of, Secrets known)
      : entry(std::move(of)), secrets(std::move(known)), connection(entry, secrets, [this] { is_stale = true; }) {}

  // --- the listing --------------------------------------------------------------------------------------------------

  asio::awaitable<Result<Listing, Failure>> list(std::int64_t timeout_ms) {
    const std::shared_ptr<Parts> self = shared_from_this();
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
    Listing read;
    Json params = Json::object();
    is_stale = false;  // what changes from here on may be missing
    for (int page = 0; page < pages_max; ++page) {
      Request how;
      how.timeout_ms = std::max<std::int64_t>(until(deadline), 1);
      const Answer answer = co_await connection.ask("tools/list", params, std::move(how));
      if (!answer) co_return answer.error();
      if (!answer->error.is_null())
        co_return failure(
            "refused",
            "Expected " + server_named(entry.like.name) + " to list its tools, but it says: " + said_by(*answer),
            false);
      const Result<std::optional<std::string>> cursor = add_page(secrets.redacted_json(answer->result), read);
      if (!cursor)
        co_return failure(
            "bad_output",
            "Expected a listing of tools from " + server_named(entry.like.name) + ", but: " + cursor.error().message,
            false);
      if (!*cursor) {
        keep(read);
        co_return read;
      }
      params = {{"cursor", **cursor}};
    }
    co_return failure("bad_output",
                      "Expected at most " + std::to_string(pages_max) + " pages of tools from " +
                          server_named(entry.like.name) + ", but there are more.",
                      false);
  }

  void keep(const Listing& read) {
    fresh_until.reset();
    if (read.ttl_ms > 0)
      fresh_until = Clock::now() + std::chrono::milliseconds(std::min<std::int64_t>(read.ttl_ms, 86'400'000));
    tools.clear();
    for (const ListedTool& tool : read.tools) tools.emplace(tool.name, tool);
    for (const std::string& fault : read.faults)
      log_about(LogLevel::warning, server_named(entry.like.name) + " lists a tool that is left out. " + fault,
                Json::object());
  }

  // A listing that is old is read again, where that can be done in a part of the call's time; what is there counts
  // otherwise.
  asio::awaitable<void> refresh(Clock::time_point deadline) {
    const bool is_old = is_stale || (fresh_until && Clock::now() > *fresh_until);
    if (!is_old || is_listing) co_return;
    is_listing = true;
    const std::shared_ptr<bool> at_end(&is_listing, [](bool* listing) { *listing = false; });
    const std::int64_t time_ms = std::clamp<std::int64_t>(until(deadline) / 4, 1, relist_ms_max);
    const Result<Listing, Failure> listed = co_await list(time_ms);
    if (!listed) fresh_until = Clock::now() + relist_pause;
  }

  // --- requests of a call -------------------------------------------------------------------------------------------

  asio::awaitable<Answer> ask(const Calling& calling, std::string method, Json params) {
    Request how;
    how.timeout_ms = until(calling.deadline);
    if (how.timeout_ms == 0) co_return too_late(calling);
    if (method == "tools/call") {
      params["_meta"]["cairn/key"] = calling.call.key;
      if (const auto found = tools.find(calling.name); found != tools.end())
        how.headers = headers_of(found->second.headers, calling.arguments);
      if (calling.call.progress)
        how.on_progress = [say = calling.call.progress, &known = secrets](const Json& said) {
          say(progress_text(known.redacted_json(said)));
        };
    }
    Answer answer = co_await connection.ask(std::move(method), std::move(params), std::move(how));
    const bool is_late = !answer && answer.error().error == "timeout";
    if (is_late && until(calling.deadline) < deadline_slack_ms) co_return too_late(calling);
    co_return without_secrets(calling, std::move(answer));
  }

  // All that is read of an answer may become an event. A state or a task's id that holds a secret could not be sent
  // back as it was.
  Answer without_secrets(const Calling& calling, Answer answer) const {
    if (!answer) return answer;
    Json shown = secrets.redacted_json(answer->result);
    if (shown.is_object() && (state_of(shown) != state_of(answer->result) || task_of(shown) != task_of(answer->result)))
      return failure("bad_output",
                     "Expected no secret of this worker in the state that " + tool_named(calling.call.tool) +
                         " wants back, but found one.",
                     false);
    answer->result = std::move(shown);
    answer->error = secrets.redacted_json(answer->error);
    return answer;
  }

  static Json state_of(const Json& result) {
    return result.is_object() ? result.value("requestState", Json()) : Json();
  }

  static Failure too_late(const Calling& calling) {
    return failure("timeout",
                   "Expected " + tool_named(calling.call.tool) + " to end within " +
                       std::to_string(calling.call.timeout_ms) + " ms, but it did not.",
                   true);
  }

  // `more`: inputResponses and requestState.
  asio::awaitable<Answer> ask_tool(const Calling& calling, Json more) {
    more["name"] = calling.name;
    more["arguments"] = calling.arguments;
    return ask(calling, "tools/call", std::move(more));
  }

  ToolAnswer completed(const Calling& calling, const Json& result) const {
    const auto found = tools.find(calling.name);
    return outputs_of(calling.call.tool, result, found == tools.end() ? Json() : found->second.output);
  }

  std::string said_by(const Reply& reply) const {
    const Reply clean{{}, secrets.redacted_json(reply.error)};
    return clean.message();
  }

  ToolAnswer redacted(ToolAnswer answer) const {
    if (answer) return secrets.redacted_json(*answer);
    answer.error().message = secrets.redacted(answer.error().message);
    return answer;
  }

  ToolAnswer failed(const Calling& calling, const Answer& answer) const {
    return redacted(answer ? failure_of_error(calling.call.tool, *answer) : answer.error());
  }

  static bool is_fault(const Answer& answer) { return !answer || !answer->error.is_null(); }

  Calling calling_of(std::string name, ToolCall call, Json arguments) const {
    const auto deadline = Clock::now() + std::chrono::milliseconds(call.timeout_ms);
    return {std::move(name), std::move(call), std::move(arguments), deadline};
  }

  // --- a whole call -------------------------------------------------------------------------------------------------

  asio::awaitable<ToolAnswer> call(std::string name, ToolCall asked) {
    const std::shared_ptr<Parts> self = shared_from_this();
    Json arguments = asked.inputs;
    const Calling calling = calling_of(std::move(name), std::move(asked), std::move(arguments));
    co_await refresh(calling.deadline);
    Json more = Json::object();
    for (int round = 0; round < rounds_max; ++round) {
      const Answer answer = co_await ask_tool(calling, more);
      if (is_fault(answer)) co_return failed(calling, answer);
      const std::string type = type_of(answer->result);
      if (type == "task") {
        ToolAnswer ended = co_await await_task(calling, answer->result);
        co_return ended;
      }
      if (type != "input_required") co_return completed(calling, answer->result);
      const Json requests = answer->result.value("inputRequests", Json::object());
      if (!requests.is_object() || (entry.elicitation == Elicitation::ask && !requests.empty()))
        co_return asks_a_person(calling, requests);
      more = Json::object();
      if (!requests.empty()) more["inputResponses"] = responses_by_policy(entry.elicitation, requests);
      if (answer->result.contains("requestState")) more["requestState"] = answer->result["requestState"];
    }
    co_return failure("bad_output",
                      "Expected " + tool_named(calling.call.tool) + " to ask at most " + std::to_string(rounds_max) +
                          " times in one call, but it asks again.",
                      false);
  }

  ToolAnswer asks_a_person(const Calling& calling, const Json& requests) const {
    const Result<Json> question = question_of(requests);
    const std::string says = question ? (*question)["prompt"].get<std::string>() +
                                            " Schema of the answer: " + excerpt((*question)["schema"], 1'000)
                                      : question.error().message;
    return redacted(failure("input_required",
                            "Expected an answer of " + tool_named(calling.call.tool) +
                                ", but it asks a person (the graph mcp_call makes that a question): " + says,
                            false));
  }

  // A task that is no longer waited for is cancelled at the server.
  class TaskWanted {
   public:
    TaskWanted(std::shared_ptr<Parts> parts, asio::any_io_executor executor, std::string id)
        : parts_(std::move(parts)), executor_(std::move(executor)), id_(std::move(id)) {}
    TaskWanted(const TaskWanted&) = delete;
    TaskWanted& operator=(const TaskWanted&) = delete;
    ~TaskWanted() {
      if (!is_ended) asio::co_spawn(executor_, cancel_task(parts_, id_), asio::detached);
    }
    bool is_ended = false;

   private:
    const std::shared_ptr<Parts> parts_;
    const asio::any_io_executor executor_;
    const std::string id_;
  };

  // While all else goes on; a task that cannot be cancelled ends by its server's own bounds.
  static asio::awaitable<void> cancel_task(std::shared_ptr<Parts> self, std::string id) {
    Request how;
    how.timeout_ms = cancel_ms_max;
    Json which = {{"taskId", id}};
    static_cast<void>(co_await self->connection.ask("tasks/cancel", std::move(which), std::move(how)));
  }

  asio::awaitable<ToolAnswer> await_task(const Calling& calling, Json task) {
    const std::string id = task_of(task);
    if (id.empty())
      co_return failure("bad_output",
                        "Expected a task with a taskId from " + tool_named(calling.call.tool) + ", but found " +
                            excerpt(task, 100) + ".",
                        false);
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const Json with_id = {{"taskId", id}};
    TaskWanted wanted(shared_from_this(), executor, id);
    for (std::optional<Failure> missed;;) {
      const std::int64_t poll_ms = std::max(poll_ms_of(task), missed ? missed->pause_ms : 0);
      asio::steady_timer pause(executor, std::chrono::milliseconds(std::min(poll_ms, until(calling.deadline))));
      co_await pause.async_wait(asio::use_awaitable);
      const Answer answer = co_await ask(calling, "tasks/get", with_id);
      if (is_fault(answer)) {
        const Failure fault = failed(calling, answer).error();
        wanted.is_ended = answer && !fault.retryable;  // the server knows no such task
        if (!is_passing(calling, fault)) co_return missed&& fault.retryable ? *missed : fault;
        missed = fault;
        continue;
      }
      missed.reset();
      task = answer->result;
      if (std::optional<ToolAnswer> ended = ended_task(calling, task)) {
        wanted.is_ended = true;
        co_return *std::move(ended);
      }
      say_status(calling, task);
      if (task.value("status", Json()) != "input_required") continue;
      const Json requests = task.value("inputRequests", Json::object());
      if (entry.elicitation == Elicitation::ask || !requests.is_object()) co_return asks_a_person(calling, requests);
      Json responses = with_id;
      responses["inputResponses"] = responses_by_policy(entry.elicitation, requests);
      const Answer updated = co_await ask(calling, "tasks/update", std::move(responses));
      if (!is_fault(updated)) continue;
      missed = failed(calling, updated).error();
      if (!is_passing(calling, *missed)) co_return *missed;
    }
  }

  // The task goes on without the request that failed so, and there is time for another one.
  static bool is_passing(const Calling& calling, const Failure& fault) {
    return fault.retryable && until(calling.deadline) > 0;
  }

  static void say_status(const Calling& calling, const Json& task) {
    const Json says = task.value("statusMessage", Json());
    if (calling.call.progress && says.is_string())
      calling.call.progress(readable_line(says.get_ref<const std::string&>(), 500));
  }

  // Nothing: it goes on.
  std::optional<ToolAnswer> ended_task(const Calling& calling, const Json& task) const {
    const Json status = task.value("status", Json());
    if (status == "completed") return completed(calling, task.value("result", Json()));
    if (status == "failed") {
      const Json error = task.value("error", Json::object());
      return failed(calling, Reply{nullptr, error.is_object() ? error : Json::object()});
    }
    if (status == "cancelled")
      return failure("error", "Expected " + tool_named(calling.call.tool) + " to end, but its task was cancelled.",
                     false);
    if (status == "working" || status == "input_required") return std::nullopt;
    return failure("bad_output", "Expected the status of a task, but found " + excerpt(status, 60) + ".", false);
  }

  // --- a call in parts ----------------------------------------------------------------------------------------------

  asio::awaitable<ToolAnswer> advance(std::string name, ToolCall asked) {
    const std::shared_ptr<Parts> self = shared_from_this();
    const Json previous = asked.inputs.value("previous", Json());
    const Json entered = asked.inputs.value("entered", Json());
    Json arguments = asked.inputs.value("arguments", Json::object());
    const Calling calling = calling_of(std::move(name), std::move(asked), std::move(arguments));
    if (previous.is_object() && previous.contains("task")) {
      ToolAnswer answer = co_await read_task(calling, previous, entered);
      co_return answer;
    }
    co_await refresh(calling.deadline);
    Json more = Json::object();
    if (previous.is_object()) {
      const Json requests = previous.value("requests", Json::object());
      if (!requests.empty()) more["inputResponses"] = responses_of(requests, entered);
      if (previous.contains("request_state")) more["requestState"] = previous["request_state"];
    }
    const Answer answer = co_await ask_tool(calling, std::move(more));
    if (is_fault(answer)) co_return failed(calling, answer);
    co_return part_of(calling, answer->result);
  }

  ToolAnswer part_of(const Calling& calling, const Json& result) const {
    const std::string type = type_of(result);
    if (type == "task") {
      const std::string id = task_of(result);
      if (id.empty()) return failure("bad_output", "Expected a task with a taskId, but found none.", false);
      return working(id, result, Json::array());
    }
    if (type != "input_required") return complete(completed(calling, result));
    Json previous = Json::object();
    if (result.contains("requestState")) previous["request_state"] = result["requestState"];
    const Json requests = result.value("inputRequests", Json::object());
    if (requests.is_object() && requests.empty())
      return Json{{"state", "working"}, {"poll_ms", poll_ms_min}, {"previous", previous}};
    return asks(requests, std::move(previous));
  }

  static ToolAnswer working(const std::string& id, const Json& task, const Json& answered) {
    return Json{{"state", "working"}, {"poll_ms", poll_ms_of(task)}, {"previous", place_in(id, answered)}};
  }

  // `answered`: the names of the questions that the task still shows although they were answered.
  static Json place_in(const std::string& id, const Json& answered) {
    Json place = {{"task", id}};
    if (!answered.empty()) place["answered"] = answered;
    return place;
  }

  static bool was_answered(const Json& previous, const std::string& name) {
    const Json names = previous.value("answered", Json::array());
    return previous.value("requests", Json::object()).contains(name) ||
           std::find(names.begin(), names.end(), name) != names.end();
  }

  static ToolAnswer complete(ToolAnswer outputs) {
    if (!outputs) return outputs;
    return Json{{"state", "complete"}, {"outputs", *std::move(outputs)}};
  }

  ToolAnswer asks(const Json& requests, Json previous) const {
    const Result<Json> question = question_of(requests);
    if (!question) return redacted(failure("input_required", question.error().message, false));
    previous["requests"] = requests;
    return Json{{"state", "asks"},
                {"prompt", (*question)["prompt"]},
                {"schema", (*question)["schema"]},
                {"previous", std::move(previous)}};
  }

  asio::awaitable<ToolAnswer> read_task(const Calling& calling, Json previous, Json entered) {
    const std::string id = previous["task"].get<std::string>();
    const Json with_id = {{"taskId", id}};
    if (previous.contains("requests")) {
      Json responses = with_id;
      responses["inputResponses"] = responses_of(previous["requests"], entered);
      const Answer updated = co_await ask(calling, "tasks/update", std::move(responses));
      if (is_fault(updated)) co_return failed(calling, updated);
    }
    const Answer answer = co_await ask(calling, "tasks/get", with_id);
    if (is_fault(answer)) co_return failed(calling, answer);
    const Json& task = answer->result;
    if (std::optional<ToolAnswer> ended = ended_task(calling, task)) co_return complete(*std::move(ended));
    const Json outstanding = task.value("inputRequests", Json::object());
    if (task.value("status", Json()) != "input_required" || !outstanding.is_object())
      co_return working(id, task, Json::array());
    Json requests = Json::object();
    Json answered = Json::array();  // may still be there for a moment
    for (const auto& [name, request] : outstanding.items())
      if (was_answered(previous, name))
        answered.push_back(name);
      else
        requests[name] = request;
    if (requests.empty()) co_return working(id, task, answered);
    co_return asks(requests, place_in(id, answered));
  }

  const McpEntry entry;
  Secrets secrets;
  Connection connection;
  std::map<std::string, ListedTool, std::less<>> tools;
  std::optional<Clock::time_point> fresh_until;  // none: until the server says that they have changed
  bool is_stale = false;
  bool is_listing = false;
};

Server::Server(McpEntry entry, Secrets secrets)
    : parts_(std::make_shared<Parts>(std::move(entry), std::move(secrets))) {}

Server::~Server() = default;

asio::awaitable<Result<Listing, Failure>> Server::list(std::int64_t timeout_ms) { return parts_->list(timeout_ms); }

asio::awaitable<ToolAnswer> Server::call(std::string name, ToolCall call) {
  return parts_->call(std::move(name), std::move(call));
}

asio::awaitable<ToolAnswer> Server::advance(std::string name, ToolCall call) {
  return parts_->advance(std::move(name), std::move(call));
}

asio::awaitable<void> Server::finish() { return parts_->connection.finish(); }

bool Server::runs() const { return parts_->connection.runs(); }

void Server::close() { parts_->connection.close(); }

}  // namespace cairn::mcp

#include "ops/mcp/open_questions.hpp"

#include <deque>
#include <utility>

#include "ops/mcp/outcome.hpp"

namespace cairn {
namespace {

// Null: it is gone, or not the caller's to read.
Json state_of_run(const McpHost& host, const std::string& run) {
  const ApiResponse shown = host.ask(api_get({"runs", run}));
  return refusal_of(shown).empty() ? parse_stored(shown.body) : Json();
}

void add_questions(const Json& state, bool is_called, Json& questions) {
  const std::string run = state.value("run", "");
  for (Json question : state.value("questions", Json::array())) {
    const std::string id = question.value("id", "");
    question["run"] = run;
    question["key"] = is_called ? form_id(run, id) : id;
    questions.push_back(std::move(question));
  }
}

}  // namespace

Json open_questions(const McpHost& host, const Json& state) {
  Json questions = Json::array();
  add_questions(state, false, questions);
  std::deque<std::string> open;
  std::size_t checked = 0;
  const auto add_called = [&](const Json& by) {
    for (const Json& child : by.value("children", Json::array()))
      if (!has_ended(child) && ++checked < asking_runs_max) open.push_back(child.value("run", ""));
  };
  for (add_called(state); !open.empty(); open.pop_front()) {
    const Json called = state_of_run(host, open.front());
    if (called.is_null()) continue;
    add_questions(called, true, questions);
    add_called(called);
  }
  return questions;
}

Asking asking_of(const McpHost& host, const McpPeer& peer) {
  return {peer.elicits, peer.opens_pages ? host.console_url : ""};
}

RunId first_caller(const McpHost& host, const Json& state) {
  Json first = state;
  for (std::size_t steps = 0; steps < asking_runs_max; ++steps) {
    const Json parent = first.value("parent", Json());
    Json next = parent.is_string() ? state_of_run(host, parent.get<std::string>()) : Json();
    if (next.is_null()) break;
    first = std::move(next);
  }
  return *parse_run_id(first.value("run", ""));
}

std::string form_id(const std::string& run, const std::string& question) { return run + "/" + question; }

std::optional<FormPlace> form_place(const Json& id) {
  if (!id.is_string()) return std::nullopt;
  const auto& text = id.get_ref<const std::string&>();
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const std::optional<RunId> run = parse_run_id(std::string_view(text).substr(0, slash));
  if (!run) return std::nullopt;
  return FormPlace{*run, text.substr(slash + 1)};
}

}  // namespace cairn

#include "ops/http/console_routes.hpp"

#include <algorithm>
#include <chrono>

#include "ops/answers/bounded_state.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/bodies/fields.hpp"
#include "ops/http/console/answer_link.hpp"
#include "ops/http/list_page.hpp"
#include "ops/service/run_commands.hpp"

namespace cairn {
namespace {

// --- saved views -----------------------------------------------------------------------------------------------------

constexpr std::size_t view_name_bytes_max = 100;
constexpr std::size_t view_address_bytes_max = 4'096;

Result<SavedView> view_body(const ApiRequest& request) {
  Fields body(request, {"name", "address"});
  SavedView view;
  view.name = body.needed_name("name");
  view.address = body.needed_text("address");
  if (const auto read = body.result(true); !read) return read.error();
  if (view.name.empty() || view.name.size() > view_name_bytes_max)
    return bad_request("Expected a name of at most " + std::to_string(view_name_bytes_max) + " bytes, but found " +
                       std::to_string(view.name.size()) + ".");
  if (view.address.empty() || view.address.size() > view_address_bytes_max)
    return bad_request("Expected an address of at most " + std::to_string(view_address_bytes_max) +
                       " bytes, as it follows \"#/\", but found " + std::to_string(view.address.size()) + ".");
  return view;
}

constexpr const char* views_are_for_all = "for saved views, which name what is in all runs";

// --- links -----------------------------------------------------------------------------------------------------------

constexpr std::int64_t day_ms = 86'400'000;
constexpr std::int64_t link_ms_max = 30 * day_ms;

TimeUs link_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// The run's question as the run shows it. Refuses as the answer to it would be: `closed` says by whom it was answered.
Result<Json> open_question(RouteCall& call, const RunId& run, const std::string& question) {
  const Result<RunState> state = call.client.state(run);
  if (!state) return state.error();
  const Result<Json> shown = bounded_state(call.client, *state, call.shard(run), false);
  if (!shown) return shown.error();
  for (const Json& one : shown->at("questions"))
    if (one.at("id") == question) return Json{{"graph", shown->at("graph")}, {"question", one}};
  const Result<RunState> refused = call.client.state_if(run, Answer{question, nullptr, "", {}});
  if (!refused) return refused.error();
  return Error{Code::closed, "Expected question " + question + " to be open, but it is not."};
}

Result<AnswerLink> link_in(RouteCall& call, Fields& body) {
  const std::string token = body.needed_text("token");
  if (const auto read = body.result(true); !read) return read.error();
  const Result<std::string> key = call.parts.link_key.read();
  if (!key) return key.error();
  return link_of(token, *key, link_clock());
}

}  // namespace

RouteReply list_views(RouteCall& call) {
  if (ApiStatus passed = check_scope(call, views_are_for_all); !passed) return std::move(passed).error();
  const Result<std::vector<SavedView>> views = call.parts.views.list();
  if (!views) return views.error();
  std::vector<KeyedLine> lines;
  for (const SavedView& view : *views)
    lines.push_back({view.name,
                     {{"name", view.name},
                      {"address", view.address},
                      {"created_at", time_text(view.created_at)},
                      {"created_by", view.created_by}}});
  return page_response(call.request, std::move(lines));
}

RouteReply save_view(RouteCall& call) {
  if (ApiStatus passed = check_scope(call, views_are_for_all); !passed) return std::move(passed).error();
  Result<SavedView> view = view_body(call.request);
  if (!view) return view.error();
  view->created_by = call.caller->actor;
  if (const Status kept = call.parts.views.put(*view); !kept) return kept.error();
  return created_response({{"name", view->name}}, "views", view->name);
}

RouteReply remove_view(RouteCall& call) {
  if (ApiStatus passed = check_scope(call, views_are_for_all); !passed) return std::move(passed).error();
  if (const Status none = no_body(call.request); !none) return none.error();
  if (const Status removed = call.parts.views.remove(call.name); !removed) return removed.error();
  return json_response({{"name", call.name}, {"removed", true}});
}

RouteReply make_link(RouteCall& call) {
  Fields body(call.request, {"question", "for", "expires_ms"});
  const std::string asked = body.text("question");
  const std::string whom = body.text("for");
  const std::int64_t expires_ms = body.number_between("expires_ms", 1'000, link_ms_max, 7 * day_ms);
  if (const auto read = body.result(true); !read) return read.error();
  if (!whom.empty())
    if (const auto name = token_name_argument(whom); !name) return name.error();
  const Result<RunId> run = run_of(call);
  if (!run) return run.error();
  const Result<std::string> question = question_meant(call.client, *run, asked);
  if (!question) return question.error();
  if (const Result<Json> open = open_question(call, *run, *question); !open) return open.error();
  const Result<std::string> key = call.parts.link_key.read();
  if (!key) return key.error();
  const std::string by = "link:" + (whom.empty() ? call.caller->actor : whom);
  const AnswerLink link{*run, *question, by, link_clock() + expires_ms * 1'000};
  const std::string token = link_token(link, *key);
  return json_response({{"run", call.name},
                        {"question", *question},
                        {"token", token},
                        {"address", "#/answer?token=" + token},
                        {"by", by},
                        {"expires_at", time_text(link.expires_at)}});
}

RouteReply show_linked_question(RouteCall& call) {
  Fields body(call.request, {"token"});
  const Result<AnswerLink> link = link_in(call, body);
  if (!link) return link.error();
  Result<Json> found = open_question(call, link->run, link->question);
  if (!found) return found.error();
  (*found)["run"] = to_string(link->run);
  (*found)["by"] = link->by;
  (*found)["expires_at"] = time_text(link->expires_at);
  return json_response(*found);
}

RouteReply answer_by_link(RouteCall& call) {
  Fields body(call.request, {"token", "value"});
  const Json value = body.needed("value");
  const Result<AnswerLink> link = link_in(call, body);
  if (!link) return link.error();
  call.client.act_as(link->by);
  const Answer command{link->question, value, link->by, {}};
  if (const Result<Done> done = call.client.command(link->run, command); !done) return done.error();
  return json_response({{"run", to_string(link->run)}, {"question", link->question}});
}

}  // namespace cairn

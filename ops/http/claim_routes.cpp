#include "ops/http/claim_routes.hpp"

#include <chrono>
#include <future>

#include "ops/answers/claim_json.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/bodies/claim_bodies.hpp"
#include "ops/http/bodies/fields.hpp"
#include "ops/http/bodies/large_values.hpp"
#include "workers/ports/progress_board.hpp"

namespace cairn {
namespace {

constexpr std::int64_t heartbeat_ms = 5'000;
constexpr std::chrono::seconds session_patience{5};

ApiStatus check_claimed_queues(const RouteCall& call, const std::vector<std::string>& queues) {
  for (const std::string& queue : queues)
    if (!call.scope().covers_queue(queue))
      return forbidden_response("Expected queues in the scope of token " + call.caller->token + ", but found " +
                                excerpt(Json(queue), 60) + ".");
  return Done{};
}

// Sub-goals of its tools go to those queues, and those of a tool without one to the first that it serves.
std::vector<std::string> tool_queues(const RemoteWorkerSays& says) {
  std::vector<std::string> queues;
  for (const RemoteTool& tool : says.tools)
    if (!tool.queue.empty()) queues.push_back(tool.queue);
  return queues;
}

Error unknown_session() { return {Code::not_found, "Expected a session of this caller, but there is no such one."}; }

ApiResponse claims_response(const std::vector<ClaimId>& reported, const AskAnswer& answer) {
  if (answer.is_unknown) return error_response(unknown_session());
  Json said = {{"session", std::to_string(answer.session)},
               {"heartbeat_ms", heartbeat_ms},
               {"results", Json::array()},
               {"claims", Json::array()}};
  for (std::size_t at = 0; at < reported.size(); ++at)
    said["results"].push_back(report_json(reported[at], answer.results[at]));
  for (const RemoteClaim& claim : answer.claims) said["claims"].push_back(claim_json(claim));
  if (answer.drains) said["drain"] = true;
  return json_response(said);
}

// 200 if it counts now or did before; otherwise 409, or 400 for one that the run does not take.
ApiResponse single_response(const ClaimId& claim, const AskAnswer& answer) {
  if (answer.is_unknown) return error_response(unknown_session());
  const ReportReply& reply = answer.results.front();
  const bool counts = reply.status == ReportStatus::committed || reply.status == ReportStatus::already;
  if (counts) return json_response(report_json(claim, reply));
  const bool is_invalid = reply.status == ReportStatus::invalid;
  return error_response(is_invalid ? 400 : 409, to_string(reply.status), reply.says);
}

// As a session counts those of its own steps.
void count_refused(Count& refused, const AskAnswer& answer) {
  for (const ReportReply& reply : answer.results)
    if (reply.status == ReportStatus::stale || reply.status == ReportStatus::closed) refused.add();
}

// The ask under way, which its answer and the end of its client both concern.
struct UnderWay {
  AskId id = 0;
};

template <class Respond>
ApiLater later_of(const RouteCall& call, Ask ask, Respond respond) {
  GatewayDriver& gateway = call.parts.gateway;
  ask.bytes = call.request.body.size();
  const auto under_way = std::make_shared<UnderWay>();
  const auto asked = std::make_shared<Ask>(std::move(ask));
  ApiLater later;
  later.begin = [&gateway, &refused = call.parts.reports_refused, under_way, asked,
                 respond](ApiLater::OnAnswer answer) {
    under_way->id =
        gateway.ask(std::move(*asked), [&refused, respond, answer = std::move(answer)](const AskAnswer& given) {
          count_refused(refused, given);
          answer(respond(given));
        });
  };
  later.hurry = [&gateway, under_way] { gateway.hurry(under_way->id); };
  later.gone = [&gateway, under_way] { gateway.gone(under_way->id); };
  return later;
}

// Too much of a report is so much at once: no state of a run would make room for it.
RouteReply report_refused(const Error& error) {
  if (error.code == Code::limit) return error_response(413, "limit", error.message);
  return error;
}

RouteReply report_one(const RouteCall& call, Result<Ask::Report> report) {
  if (!report) return report_refused(report.error());
  Ask ask;
  ask.caller = call.caller->actor;
  ask.session = report->claim.fence.session;
  const ClaimId claim = report->claim;
  ask.finished.push_back(*std::move(report));
  return later_of(call, std::move(ask), [claim](const AskAnswer& answer) { return single_response(claim, answer); });
}

template <class Body>
RouteReply report_by(RouteCall& call, const Body& body) {
  if (ApiStatus passed = check_scope(call, "of graphs or tags for claims"); !passed) return std::move(passed).error();
  const Result<ClaimId> claim = parse_claim_id(call.name);
  if (!claim) return claim.error();
  return report_one(call, body(call.request, *claim));
}

Result<Hash> hash_asked(const RouteCall& call) {
  const std::optional<Hash> hash = parse_hash(call.name);
  if (!hash) return bad_request("Expected a SHA-256 of 64 digits, but found " + excerpt(Json(call.name), 80) + ".");
  return *hash;
}

// A session that another process of the API has opened; this one knows it from then on.
bool finds_session(GatewayDriver& gateway, SessionId session, const std::string& caller) {
  Ask ask;
  ask.caller = caller;
  ask.session = session;
  const auto found = std::make_shared<std::promise<bool>>();
  const AskId id = gateway.ask(std::move(ask), [found](const AskAnswer& answer) {
    found->set_value(!answer.is_unknown && answer.session != 0);
  });
  std::future<bool> answer = found->get_future();
  if (answer.wait_for(session_patience) == std::future_status::ready) return answer.get();
  gateway.gone(id);
  throw StoreUnavailable("the session cannot be read");
}

// The shard of the run whose step the request's ?claim= is about. Refuses `invalid`; `not_found`: a claim of another
// caller; `conflict`: it is held no more.
Result<Shard> shard_of_claim(const RouteCall& call) {
  if (const Status known = only_query(call.request, {"claim"}); !known) return known.error();
  const Result<ClaimId> claim = parse_claim_id(query_text(call.request, "claim"));
  if (!claim) return claim.error();
  if (!finds_session(call.parts.gateway, claim->fence.session, call.caller->actor)) return unknown_session();
  const std::vector<std::pair<RunId, Fence>> hold = {{claim->run, claim->fence}};
  if (call.store().jobs().standing(hold).front() != HoldStanding::held)
    return Error{Code::conflict, "Expected a claim that is held, but this one is not, or no more."};
  return call.shard(claim->run);
}

ProgressRow progress_row(const ClaimId& claim, const std::string& node, const std::string& text) {
  ProgressBoard board;
  board.say(1, text);
  ProgressBoard::Said said = std::move(board.take(progress_bytes_max).front());
  return {.place = {claim.run, claim.fence.step, claim.attempt},
          .branch = claim.fence.branch,
          .session = claim.fence.session,
          .node = node,
          .text = std::move(said.text),
          .written = said.written};
}

}  // namespace

RouteReply ask_for_claims(RouteCall& call) {
  if (ApiStatus passed = check_scope(call, "of graphs or tags for claims"); !passed) return std::move(passed).error();
  Result<Ask> ask = claims_body(call.request, call.caller->actor);
  if (!ask) return ask.error();
  const RemoteWorkerSays& says = ask->worker->declared();
  if (ApiStatus passed = check_claimed_queues(call, says.queues); !passed) return std::move(passed).error();
  if (ApiStatus passed = check_claimed_queues(call, tool_queues(says)); !passed) return std::move(passed).error();
  std::vector<ClaimId> reported;
  ReportValues values(call.store());
  for (Ask::Report& report : ask->finished) {
    reported.push_back(report.claim);
    if (!ask->by_reference) continue;
    if (const Status put = values.put_into(report); !put) return report_refused(put.error());
  }
  return later_of(call, *std::move(ask), [reported = std::move(reported)](const AskAnswer& answer) {
    return claims_response(reported, answer);
  });
}

RouteReply hear_claims(RouteCall& call) {
  if (ApiStatus passed = check_scope(call, "of graphs or tags for claims"); !passed) return std::move(passed).error();
  const Result<ClaimsHeard> heard = heartbeat_body(call.request);
  if (!heard) return heard.error();
  GatewayDriver& gateway = call.parts.gateway;
  const std::string& caller = call.caller->actor;
  std::optional<std::vector<std::string>> nodes = gateway.hears(heard->session, caller, heard->claims);
  if (!nodes) {
    if (!finds_session(gateway, heard->session, caller)) return error_response(unknown_session());
    nodes = gateway.hears(heard->session, caller, heard->claims);
  }
  std::vector<std::pair<RunId, Fence>> holds;
  for (const ClaimId& claim : heard->claims) holds.emplace_back(claim.run, claim.fence);
  const std::vector<HoldStanding> found = call.store().jobs().standing(holds);
  Json cancel = Json::array(), stale = Json::array();
  std::vector<ProgressRow> progress;
  for (std::size_t at = 0; at < found.size(); ++at) {
    const ClaimId& claim = heard->claims[at];
    const std::string text = to_text(claim);
    const bool is_own = claim.fence.session == heard->session;
    if (is_own && found[at] == HoldStanding::gone) cancel.push_back(text);
    if (!is_own || found[at] == HoldStanding::lost) stale.push_back(text);
    const auto said = heard->progress.find(text);
    const bool is_shown = is_own && found[at] == HoldStanding::held;
    if (is_shown && said != heard->progress.end())
      progress.push_back(progress_row(claim, nodes ? nodes->at(at) : "", said->second));
  }
  if (!progress.empty()) call.store().progress().put(heard->session, progress, {});
  return json_response({{"cancel", std::move(cancel)}, {"stale", std::move(stale)}});
}

RouteReply complete_claim(RouteCall& call) {
  return report_by(call, [&call](const ApiRequest& request, const ClaimId& claim) -> Result<Ask::Report> {
    Result<Completed> completed = complete_body(request, claim);
    if (!completed) return completed.error();
    if (completed->by_reference)
      if (const Status put = ReportValues(call.store()).put_into(completed->report); !put) return put.error();
    return std::move(completed->report);
  });
}

RouteReply fail_claim(RouteCall& call) { return report_by(call, fail_body); }
RouteReply release_claim(RouteCall& call) { return report_by(call, release_body); }

RouteReply show_blob(RouteCall& call) {
  if (ApiStatus passed = check_scope(call, "of graphs or tags for claims"); !passed) return std::move(passed).error();
  const Result<Hash> hash = hash_asked(call);
  if (!hash) return hash.error();
  const Result<Shard> shard = shard_of_claim(call);
  if (!shard) return shard.error();
  std::optional<std::string> text = call.store().values().get(*shard, *hash);
  if (!text) return Error{Code::not_found, "Expected a large value, but none has the hash " + hex(*hash) + "."};
  return ApiResponse{200, *std::move(text)};
}

RouteReply keep_blob(RouteCall& call) {
  if (ApiStatus passed = check_scope(call, "of graphs or tags for claims"); !passed) return std::move(passed).error();
  const Result<Hash> hash = hash_asked(call);
  if (!hash) return hash.error();
  const Result<std::string> text = large_value(call.request, *hash);
  if (!text) return text.error();
  const Result<Shard> shard = shard_of_claim(call);
  if (!shard) return shard.error();
  const Hash kept = sha256(*text);
  call.store().values().put(*shard, kept, *text);
  return json_response(reference_to(kept, text->size()));
}

}  // namespace cairn

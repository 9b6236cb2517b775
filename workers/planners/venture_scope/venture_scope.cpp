// The nodes of venture_scope: each does one thing, and where it leads is an edge of the graph. Their knowledge and
// rules are in the files next to this one: fields and recipes, the policy, the prompt, answers and documents.
#include <boost/asio/awaitable.hpp>
#include <tuple>
#include <utility>

#include "workers/handlers/model_call.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/handlers/tool_call.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/planners.hpp"
#include "workers/planners/venture_scope/answers.hpp"
#include "workers/planners/venture_scope/fields.hpp"
#include "workers/planners/venture_scope/parts.hpp"
#include "workers/planners/venture_scope/policy.hpp"
#include "workers/planners/venture_scope/profile.hpp"
#include "workers/planners/venture_scope/prompts.hpp"
#include "workers/planners/venture_scope/question.hpp"
#include "workers/planners/venture_scope/reading.hpp"
#include "workers/planners/venture_scope/report.hpp"
#include "workers/ports/failures.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr std::size_t region_bytes_max = 200;
constexpr std::int64_t asked_again_max = 3;  // after a refused answer, without spending an ask
constexpr const char* region_field = "core.region";
constexpr const char* currency_field = "core.currency";

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

Record proposed(const VentureDecision& decision) {
  return record(RecordKind::decision_proposed, {{"action", decision.action},
                                                {"target", decision.target},
                                                {"reason", decision.reason},
                                                {"source", decision.source}});
}

Outcome leave_by(std::string label) { return {std::move(label), Json::object(), {}}; }

// Whether the step was reached because the model failed for good.
bool model_failed(const StepInput& input) { return input.given.is_object() && input.given.contains("error"); }

// Whether the settings of the node in its graph allow it; older versions have none, nor the edges that it needs.
bool is_allowed(const StepInput& input, const char* setting) {
  return input.with.is_object() && input.with.value(setting, Json()) == true;
}

Json tries_after(const Venture& venture, const std::string& path, const char* how) {
  Json tries = venture.tries.value(path, Json::object());
  tries[how] = tries.value(how, std::int64_t{0}) + 1;
  return {{path, std::move(tries)}};
}

// A model is to propose parts of the field; the answer comes back to this node.
Outcome want_parts(const Venture& venture, const std::string& path, const char* back) {
  Outcome outcome = leave_by("needs_parts");
  outcome.patch["parts_wanted"] = {{"path", path}, {"back", back}};
  outcome.patch["tries"] = tries_after(venture, path, "parts");
  return outcome;
}

// --- tick ------------------------------------------------------------------------------------------------------------
// Adds to a question about the field why its last answer was refused, if it was.
Json with_fault(const StepInput& input, Json question) {
  const std::string fault = text_of(channel(input, "refusals", Json::object()), text_of(question, "field").c_str());
  if (!fault.empty()) question["fault"] = fault;
  return question;
}

Outcome bootstrap(const StepInput& input, const char* label, const char* field, const char* text) {
  Outcome outcome = leave_by(label);
  outcome.patch["pending_question"] = with_fault(input, {{"field", field}, {"text", text}});
  return outcome;
}

// The iteration was counted when the step opened; at the cap the engine closes it before it gets here.
StepResult tick(const StepInput& input) {
  if (text_of(input.data, "status") == "aborted") return leave_by("aborted");
  Json read = Json::object();
  if (is_allowed(input, "reads_question") && is_question_unread(input)) {
    if (!model_failed(input)) return leave_by("unread");
    take_question(input, read_question_by_rules(text_of(input.data, "question")), rule_book_name, read);
  }
  const auto now = [&](const char* name) {
    return read.contains(name) ? text_of(read, name) : text_of(input.data, name);
  };
  Outcome outcome = leave_by("ready");
  if (is_blank(now("region")))
    outcome = bootstrap(input, "needs_region", region_field, "Which region is the question about?");
  else if (currency_code(now("currency")).empty())
    outcome = bootstrap(input, "needs_currency", currency_field, "In which currency? (three letters, like EUR)");
  outcome.patch.update(read);
  return outcome;
}

// --- prepare ---------------------------------------------------------------------------------------------------------
// The input's fields, as values.
Status take_given_fields(Venture& venture, const Json& given) {
  venture.fields = Json::object();
  for (const auto& [path, value] : given.items()) {
    Result<Json> read = read_answer(venture, path, value);
    if (!read) return std::move(read).error();
    set_field(venture, path, *std::move(read), {{"source", "input"}});
  }
  return Done{};
}

void set_from_question(Venture& venture, const std::string& path, const std::string& text) {
  if (is_known(venture, path)) return;
  if (const Result<Json> value = read_answer(venture, path, text))
    set_field(venture, path, *value, {{"source", "question"}});
}

// The profile is laid out into the run's channels once, so that the run has it whatever becomes of the program.
Status begin(Venture& venture, const StepInput& input, Outcome& outcome) {
  Result<Json> profile = read_profile(channel(input, "profile"));
  if (!profile) return profile.error();
  if (const std::string corpus = text_of(input.data, "corpus"); !corpus.empty())
    (*profile)["search"]["corpus"] = corpus;
  venture.schema = (*profile)["fields"];
  venture.schema_changed = true;
  profile->erase("fields");
  venture.profile = *std::move(profile);
  build_recipes(venture);
  const Json read = channel(input, "question_read", Json::object());
  if (venture.period.empty())
    venture.period = text_of(read_question_by_rules(text_of(input.data, "question")), "period");
  const Json given = channel(input, "fields", Json::object());
  if (!given.is_object())
    return Error{Code::invalid,
                 "Expected the input's fields to be an object, but they are " + excerpt(given, 60) + "."};
  if (const Status taken = take_given_fields(venture, given); !taken) return taken;
  const std::string product = product_field(venture.schema);
  if (!product.empty() && read.contains("product")) set_from_question(venture, product, text_of(read, "product"));
  if (!venture.period.empty()) outcome.patch["period"] = venture.period;
  outcome.patch["profile"] = venture.profile;
  outcome.patch["auto_finish_ok"] = venture.profile.at("auto_finish");
  return Done{};
}

Json paths_since(const std::vector<std::string>& paths, std::size_t first) {
  return Json(std::vector<std::string>(paths.begin() + static_cast<std::ptrdiff_t>(first), paths.end()));
}

// Must not read budgets: its outcome is cached and used again while the channels stay the same.
StepResult prepare(const StepInput& input) {
  Venture venture = venture_of(input);
  venture.used.clear();
  Outcome outcome = leave_by("prepared");
  if (venture.schema.empty()) {
    if (const Status begun = begin(venture, input, outcome); !begun) return failure_of(begun.error());
  }
  const std::size_t recipes_before = venture.recipes.size();
  decompose_ahead(venture);
  const Json decomposed = venture.decomposed;
  build_recipes(venture);
  const std::size_t recipes_built = venture.recipes.size() - recipes_before;
  const std::size_t set_before = venture.set.size();
  const Json faults = compose_ready_fields(venture);
  outcome.patch["prepared"] =
      Json::array({{{"pass", "decompositions"}, {"added", decomposed}},
                   {{"pass", "recipes"}, {"built", recipes_built}},
                   {{"pass", "composition"}, {"composed", paths_since(venture.set, set_before)}, {"faults", faults}}});
  outcome.patch["schema_changed"] = venture.schema_changed;
  outcome.patch["open_tasks"] = open_tasks(venture);
  if (input.plan_version == 0) create_plan(venture, text_of(input.data, "question"), outcome);
  add_changes(venture, input, outcome);
  return outcome;
}

// --- the gates -------------------------------------------------------------------------------------------------------
StepResult calc_gate(const StepInput& input) {
  const Venture venture = venture_of(input);
  const std::string last = text_of(venture.calculation, "status");
  const bool has_stopped = last == "BLOCKED" || last == "ERROR";
  Outcome outcome = leave_by("continue");
  if (!is_calculator_backed(venture)) return outcome;
  if (is_used_up(venture, "calc") && has_stopped) {
    outcome = leave_by("finish_abort");
    outcome.patch = {{"status", "aborted"}, {"reason", "calc_cap"}};
    outcome.facts.emplace_back(BudgetExhausted{"calc", 0, 0});
  } else if (has_current_success(venture)) {
    outcome = leave_by("finish_success");
    outcome.patch = {{"status", "done"}, {"reason", "calculated"}};
  }
  return outcome;
}

// Rules 1 and 2: what a blocked calculation lacks, if need be in parts.
std::optional<Json> unblocking_task(Venture& venture, std::string& stuck) {
  if (text_of(venture.calculation, "status") != "BLOCKED") return std::nullopt;
  const std::string blocked = text_of(venture.calculation, "blocked_path");
  std::optional<Json> task = next_acquisition_task(venture, blocked, stuck);
  while (!task && !venture.recipes.contains(stuck) && decompose(venture, stuck))
    task = next_acquisition_task(venture, blocked, stuck);
  return task;
}

StepResult acquire(const StepInput& input) {
  Venture venture = venture_of(input);
  std::string stuck;
  if (const std::optional<Json> task = unblocking_task(venture, stuck)) {
    Outcome outcome = leave_by("blocked_task");
    outcome.patch["task"] = *task;
    add_changes(venture, input, outcome);
    return outcome;
  }
  if (is_allowed(input, "may_propose") && may_propose_parts(venture, stuck)) {
    Outcome outcome = want_parts(venture, stuck, "acquire");
    add_changes(venture, input, outcome);
    return outcome;
  }
  const bool is_complete = channel(input, "auto_finish_ok", false) == true && actionable_missing(venture).empty() &&
                           channel(input, "open_tasks", Json::array()).empty();
  Outcome outcome = leave_by(is_complete ? "auto_finish" : "decide");
  add_changes(venture, input, outcome);
  return outcome;
}

// --- proposals -------------------------------------------------------------------------------------------------------
Outcome propose(const std::string& label, const VentureDecision& decision) {
  Outcome outcome = leave_by(label);
  outcome.patch["decision"] = decision_json(decision);
  outcome.facts.emplace_back(proposed(decision));
  return outcome;
}

StepResult calc_adjust(const StepInput& input) {
  const VentureDecision finish{"finish", "", "", "", "auto_finish", "rule"};
  return propose("adjusted", adjusted(venture_of(input), finish));
}

StepResult route_direct(const StepInput& input) {
  const Venture venture = venture_of(input);
  const Json task = channel(input, "task", Json::object());
  const std::string kind = text_of(task, "kind");
  VentureDecision decision{kind == "derive" ? "calculate" : kind,
                           text_of(task, "path"),
                           text_of(task, "query"),
                           text_of(task, "question"),
                           "blocked_task",
                           "rule"};
  return propose("routed", adjusted(venture, std::move(decision)));
}

// --- decide ----------------------------------------------------------------------------------------------------------
StepResult read_decision(const ModelReply& reply) {
  VentureDecision decision = decision_of(reply.value);
  decision.source = source_of(reply);
  const bool needs_target = decision.action == "search" || decision.action == "ask_user";
  if (needs_target && decision.target.empty())
    return bad_reply("Expected a target_path for the action " + decision.action + ", but it is empty.");
  Outcome outcome = propose("decided", decision);
  outcome.patch["decided_by"] = reply.model;
  return outcome;
}

asio::awaitable<StepResult> decide_next(StepInput input, Ports& ports) {
  const Venture venture = venture_of(input);
  ModelRequest request = venture_request(input);
  request.messages = planner_prompt(venture, input);
  request.schema = planner_decision(venture);
  request.schema_name = planner_decision_schema;
  co_return co_await ask_model(std::move(request), ports, read_decision);
}

// --- enforce_policy --------------------------------------------------------------------------------------------------
void add_trail(const EnforcedDecision& enforced, const std::string& first_action, Outcome& outcome) {
  Json trail = {first_action};
  for (const DecisionRewrite& rewrite : enforced.rewrites) {
    outcome.facts.emplace_back(record(RecordKind::decision_rewritten, {{"rule", rewrite.rule},
                                                                       {"order", rewrite.order},
                                                                       {"from", rewrite.from.action},
                                                                       {"to", rewrite.to.action},
                                                                       {"from_target", rewrite.from.target},
                                                                       {"to_target", rewrite.to.target}}));
    trail.push_back(rewrite.to.action);
  }
  outcome.facts.emplace_back(record(
      RecordKind::decision_enforced,
      {{"action", enforced.decision.action}, {"target", enforced.decision.target}, {"trail", std::move(trail)}}));
}

Json question_of(const Venture& venture, const VentureDecision& decision) {
  const Json field = venture.schema.value(decision.target, Json::object());
  const bool is_asked = !is_blank(decision.question);
  return {{"field", decision.target},
          {"text", is_asked ? decision.question : text_of_field(venture, decision.target, "question")},
          {"type", field.value("type", "text")},
          {"unit", field.value("type", "") == "money" ? venture.currency : field.value("unit", "")}};
}

StepResult enforce_policy(const StepInput& input) {
  Venture venture = venture_of(input);
  Outcome outcome;
  VentureDecision proposal = decision_of(channel(input, "decision"));
  if (model_failed(input)) {
    proposal = {"finish", "", "", "", "llm_error", "fallback"};
    outcome.facts.emplace_back(proposed(proposal));
  }
  if (!is_venture_action(proposal.action))
    return failure("invalid_action",
                   "Expected the action search, ask_user, reflect, calculate or finish, but the decision has \"" +
                       proposal.action + "\".",
                   false);
  const bool is_direct = proposal.action == "search" || proposal.action == "ask_user";
  const bool wants_parts = is_allowed(input, "may_propose") && is_direct &&
                           field_of(venture, proposal.target).value("requires_components", false);
  if (wants_parts && may_propose_parts(venture, proposal.target)) return want_parts(venture, proposal.target, "policy");
  const EnforcedDecision result = enforced(venture, proposal);
  for (const std::string& budget : result.exhausted) outcome.facts.emplace_back(BudgetExhausted{budget, 0, 0});
  add_trail(result, proposal.action, outcome);
  outcome.label = result.decision.action;
  outcome.patch["decision"] = decision_json(result.decision);
  if (outcome.label == "ask_user")
    outcome.patch["pending_question"] = with_fault(input, question_of(venture, result.decision));
  add_changes(venture, input, outcome);
  return outcome;
}

// --- search ----------------------------------------------------------------------------------------------
ToolCall search_call(const Venture& venture, const std::string& query) {
  const Json search = venture.profile.value("search", Json::object());
  ToolCall call;
  call.tool = text_of(search, "tool");
  call.inputs = {{"corpus", search.value("corpus", "")}, {"query", query}, {"limit", search.value("limit", 5)}};
  const bool ranks_regions = call.tool == "corpus_search" && !is_blank(venture.region);
  if (ranks_regions) call.inputs["region"] = venture.region;
  return call;
}

Outcome found(const Venture& venture, const VentureDecision& decision, const std::string& query, const Json& answer) {
  const Json hits = answer.value("hits", Json::array());
  Outcome outcome = leave_by(hits.empty() ? "no_hits" : "has_observation");
  outcome.patch["tries"] = tries_after(venture, decision.target, "searched");
  if (hits.empty())
    outcome.patch["observations"] =
        Json::array({{{"path", decision.target}, {"query", query}, {"hits", 0}, {"taken", nullptr}}});
  else
    outcome.patch["observation"] = {{"path", decision.target}, {"query", query}, {"hits", hits}};
  if (answer.contains("meaning")) outcome.patch["ranking"] = answer["meaning"];
  if (answer.contains("unreadable")) outcome.patch["unreadable"] = answer["unreadable"];
  return outcome;
}

asio::awaitable<StepResult> search(StepInput input, Ports& ports) {
  const Venture venture = venture_of(input);
  const VentureDecision decision = decision_of(channel(input, "decision"));
  const std::string query =
      is_blank(decision.query) ? text_of_field(venture, decision.target, "query") : decision.query;
  ToolCall call = search_call(venture, query);
  const ReadOutputs read = [&](const Json& answer) { return found(venture, decision, query, answer); };
  co_return co_await call_tool(input, ports, std::move(call), read);
}

// --- observe_user ----------------------------------------------------------------------------------------------------
// Notes an answer, and why it was refused ("": it was not): the last refusal of each field is kept until it has a good
// answer.
void note_heard(const std::string& path, const StepInput& input, const std::string& fault, Outcome& outcome) {
  Json row = {{"path", path}, {"answer", input.given}};
  if (!fault.empty()) row["refused"] = fault;
  outcome.patch["observations"] = Json::array({std::move(row)});
  const Json before = channel(input, "refusals", Json::object());
  Json refusals = before;
  refusals.erase(path);
  if (!fault.empty()) refusals[path] = fault;
  if (refusals != before) outcome.patch["refusals"] = std::move(refusals);
}

void hear_region(const StepInput& input, Outcome& outcome) {
  const std::string region = input.given.is_string() ? input.given.get<std::string>() : "";
  const bool fits = !is_blank(region) && region.size() <= region_bytes_max;
  if (fits) outcome.patch["region"] = region;
  note_heard(region_field, input, fits ? "" : "Expected the name of a region, but it is none.", outcome);
}

void hear_currency(const StepInput& input, Outcome& outcome) {
  const std::string code = input.given.is_string() ? currency_code(input.given.get<std::string>()) : "";
  if (!code.empty()) outcome.patch["currency"] = code;
  note_heard(currency_field, input, code.empty() ? "Expected a currency of three letters, but it is none." : "",
             outcome);
}

// The same question with the fault: it spends no ask, a few times in a row.
void ask_again(const StepInput& input, const std::string& fault, Outcome& outcome) {
  Json question = channel(input, "pending_question", Json::object());
  const std::int64_t times = question.value("asked_again", std::int64_t{0}) + 1;
  if (times > asked_again_max) return;
  question["fault"] = fault;
  question["asked_again"] = times;
  outcome.label = "refused";
  outcome.patch["pending_question"] = std::move(question);
}

void hear_field(const std::string& path, const StepInput& input, bool asks_again, Outcome& outcome) {
  Venture venture = venture_of(input);
  std::string fault;
  const bool has_answer = !is_no_answer(input.given);
  if (has_answer) {
    Result<Json> read = read_answer(venture, path, input.given);
    if (!read)
      fault = std::move(read).error().message;
    else
      set_field(venture, path, *std::move(read), {{"source", "user"}});
  }
  if (fault.empty()) outcome.patch["tries"] = tries_after(venture, path, "asked");
  if (!fault.empty() && asks_again) ask_again(input, fault, outcome);
  note_heard(path, input, fault, outcome);
  add_changes(venture, input, outcome);
}

StepResult hear(const StepInput& input, bool asks_again) {
  Outcome outcome = leave_by("observed");
  outcome.patch["pending_question"] = nullptr;
  const std::string path = text_of(channel(input, "pending_question", Json::object()), "field");
  if (input.given.is_object() && input.given.value("abort", Json()) == true) {
    outcome.patch.update({{"status", "aborted"}, {"reason", "aborted by a person"}});
  } else if (path == region_field) {
    hear_region(input, outcome);
  } else if (path == currency_field) {
    hear_currency(input, outcome);
  } else {
    hear_field(path, input, asks_again, outcome);
  }
  return outcome;
}

// An answer that does not fit is not stored: it is asked for again at the next tick that lacks it.
StepResult observe_user(const StepInput& input) { return hear(input, false); }

// The same, but a field is asked for again at once, with the reason, up to a few times in a row. A graph that has no
// edge for that goes on with observe_user.
StepResult observe_answer(const StepInput& input) { return hear(input, true); }

// --- calculate, reflect and finish -----------------------------------------------------------------------------------
StepResult calculate_target(const StepInput& input) {
  Venture venture = venture_of(input);
  Outcome outcome = leave_by("calculated");
  Json calculation = calculated(venture);
  if (calculation.contains("result"))
    set_field(venture, target_of(venture), calculation.at("result"),
              {{"source", "derived"}, {"formula", calculation.at("formula")}});
  else
    withdraw_field(venture, target_of(venture), text_of(calculation, "message"));
  outcome.patch["last_calculation"] = std::move(calculation);
  add_changes(venture, input, outcome);
  return outcome;
}

StepResult reflect(const StepInput& input) {
  const VentureDecision decision = decision_of(channel(input, "decision"));
  Outcome outcome = leave_by("reflected");
  outcome.patch["reflections"] = Json::array(
      {{{"path", decision.target}, {"reason", decision.reason}, {"iteration", input.budgets.at("iterations")}}});
  return outcome;
}

// The reason for the end: an abort or the calculator's gate has left it in `status`; otherwise the last decision was to
// finish; otherwise the cap on iterations closed tick.
std::pair<std::string, std::string> status_and_reason(const StepInput& input, const Venture& venture) {
  const std::string status = text_of(input.data, "status");
  if (status == "aborted" || status == "done") return {status, text_of(input.data, "reason")};
  const VentureDecision decision = decision_of(channel(input, "decision"));
  if (decision.action != "finish") return {"aborted", "max_iters"};
  if (has_current_success(venture)) return {"done", "calculated"};
  const bool is_short = is_calculator_backed(venture) || decision.reason == "llm_error" || decision.reason == "ask_cap";
  return {is_short ? "aborted" : "done", decision.reason};
}

StepResult finish(const StepInput& input) {
  const Venture venture = venture_of(input);
  VentureEnding ending;
  std::tie(ending.status, ending.reason) = status_and_reason(input, venture);
  ending.question = text_of(input.data, "question");
  ending.decided_by = text_of(input.data, "decided_by");
  ending.read_by = text_of(input.data, "read_by");
  ending.unreadable = channel(input, "unreadable", Json::array());
  Outcome outcome = leave_by(ending.status == "done" ? "done" : "aborted");
  outcome.patch = {{"status", ending.status}, {"reason", ending.reason}, {"report", report_of(venture, ending)}};
  return outcome;
}

std::vector<std::string> and_venture(std::vector<std::string> channels) {
  for (std::string& name : venture_channels()) channels.push_back(std::move(name));
  return channels;
}

}  // namespace

void add_venture_scope(HandlerTable& table) {
  table.add("venture_scope",
            {{"tick",
              {"aborted", "needs_region", "needs_currency", "ready", "unread"},
              {"status", "region", "currency", "period", "question", "question_read", "profile", "schema", "fields",
               "refusals"},
              PureHandler(tick)},
             {"read_question", {"read"}, {"question", "region", "currency", "period"}, EffectHandler(read_question)},
             {"prepare", {"prepared"}, and_venture({"question", "question_read", "corpus"}), PureHandler(prepare)},
             {"calc_gate", {"finish_success", "finish_abort", "continue"}, venture_channels(), PureHandler(calc_gate)},
             {"acquire",
              {"blocked_task", "needs_parts", "auto_finish", "decide"},
              and_venture({"auto_finish_ok", "open_tasks"}),
              PureHandler(acquire)},
             {"propose_parts",
              {"acquire", "policy"},
              and_venture({"question", "parts_wanted"}),
              EffectHandler(propose_parts)},
             {"calc_adjust", {"adjusted"}, venture_channels(), PureHandler(calc_adjust)},
             {"route_direct", {"routed"}, and_venture({"task"}), PureHandler(route_direct)},
             {"decide",
              {"decided"},
              and_venture({"question", "open_tasks", "observations", "reflections"}),
              EffectHandler(decide_next)},
             {"enforce_policy",
              {"search", "ask_user", "reflect", "calculate", "finish", "needs_parts"},
              and_venture({"decision", "refusals"}),
              PureHandler(enforce_policy)},
             {"search", {"has_observation", "no_hits"}, and_venture({"decision"}), EffectHandler(search)},
             {"extract", {"extracted"}, and_venture({"observation"}), EffectHandler(extract_readings)},
             {"observe", {"observed"}, and_venture({"observation", "extraction"}), PureHandler(observe_documents)},
             {"observe_user", {"observed"}, and_venture({"pending_question", "refusals"}), PureHandler(observe_user)},
             {"observe_answer",
              {"observed", "refused"},
              and_venture({"pending_question", "refusals"}),
              PureHandler(observe_answer)},
             {"calculate", {"calculated"}, venture_channels(), PureHandler(calculate_target)},
             {"reflect", {"reflected"}, {"decision"}, PureHandler(reflect)},
             {"finish",
              {"done", "aborted"},
              and_venture({"question", "status", "reason", "decision", "decided_by", "read_by", "unreadable"}),
              PureHandler(finish)}});
}

}  // namespace cairn

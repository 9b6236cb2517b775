#include "workers/handlers/builtin_handlers.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "engine/references.hpp"
#include "engine/value_space.hpp"
#include "workers/handlers/chat_calls.hpp"
#include "workers/handlers/data_logic.hpp"
#include "workers/handlers/http_call.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/handlers/model_extract.hpp"
#include "workers/handlers/tool_call.hpp"
#include "workers/models/chat_message.hpp"
#include "workers/ports/failures.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn {
namespace {

using boost::asio::awaitable;

// --- settings -------------------------------------------------------------------------------------------------------

Failure bad_setting(const StepInput& input, const std::string& wanted, const Json& found) {
  return invalid_input("Expected " + wanted + " in the \"with\" of node \"" + input.node + "\", but got " +
                       excerpt(found, 200) + ".");
}

Json setting(const StepInput& input, const char* name) {
  return input.with.is_object() ? input.with.value(name, Json()) : Json();
}

// The text of an optional setting, `otherwise` if there is none.
Result<std::string, Failure> text_setting(const StepInput& input, const char* name, const char* otherwise) {
  const Json value = setting(input, name);
  if (value.is_null()) return std::string(otherwise);
  if (!value.is_string()) return bad_setting(input, std::string("a text as \"") + name + "\"", value);
  return value.get<std::string>();
}

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : canonical(value); }

// --- model ----------------------------------------------------------------------------------------------------------

std::string prompt_text(const Json& prompt) {
  if (!prompt.is_array()) return value_text(prompt);
  std::string text;
  for (const Json& part : prompt) text += value_text(part);
  return text;
}

Json message_of(const char* role, std::string text) { return {{"role", role}, {"content", std::move(text)}}; }

Result<Json, Failure> messages_of(const StepInput& input) {
  const Json prompt = setting(input, "prompt");
  const Json given = setting(input, "messages");
  if (prompt.is_null() == given.is_null()) return bad_setting(input, "either \"prompt\" or \"messages\"", input.with);
  if (!given.is_null() && !given.is_array()) return bad_setting(input, "a list of messages as \"messages\"", given);
  Json messages = Json::array();
  if (const Json system = setting(input, "system"); !system.is_null()) {
    messages.push_back(message_of("system", prompt_text(system)));
  }
  for (const Json& message : given) messages.push_back(message);
  if (!prompt.is_null()) messages.push_back(message_of("user", prompt_text(prompt)));
  return messages;
}

Result<ModelRequest, Failure> request_of(const StepInput& input) {
  auto messages = messages_of(input);
  if (!messages) return std::move(messages).error();
  auto model = text_setting(input, "model", "");
  if (!model) return std::move(model).error();
  const Json options = setting(input, "options");
  if (!options.is_null() && !options.is_object())
    return bad_setting(input, "an object of the endpoint's options as \"options\"", options);
  ModelRequest request = request_for(input);
  request.model = *std::move(model);
  request.messages = *std::move(messages);
  return request;
}

// After a bad reply the model is given the reason. Never fails; in the form of offer_tools.
Result<Done, Failure> say_what_was_wrong(ModelRequest& request, const StepInput& input) {
  if (input.fault_error != "bad_reply") return Done{};
  add_for_model(request.messages, "Your last reply could not be used. " + input.fault + " Reply again.");
  return Done{};
}

bool is_message(const Json& message) { return message.is_object() && message.contains("role"); }

bool is_conversation(const Json& messages) {
  return messages.is_array() && !messages.empty() && std::all_of(messages.begin(), messages.end(), is_message);
}

// A message kept for the next turn must be fit to be sent in it.
Failure no_message(const Json& reply) {
  return bad_reply("Expected a message with a role, but the reply is " + excerpt(reply, 200) + ".");
}

// An empty one says nothing to a person, and endpoints refuse a conversation that has it.
bool says_nothing(const Json& reply) {
  return calls_of(reply).empty() && content_of(reply).find_first_not_of(" \t\r\n") == std::string::npos;
}

Offer offer_of(const StepInput& input) {
  Json functions = setting(input, "functions");
  return {setting(input, "tools"), functions.is_object() ? std::move(functions) : Json::object()};
}

// Takes the functions that the model may call. Fails if they or the messages have another form.
Result<Done, Failure> offer_tools(ModelRequest& request, const StepInput& input) {
  const Json messages = setting(input, "messages");
  if (!is_conversation(messages)) return bad_setting(input, "a list of chat messages as \"messages\"", messages);
  Result<Json> schemas = schemas_of(offer_of(input));
  if (!schemas) return bad_setting(input, "a list of function schemas, or null, as \"tools\"", setting(input, "tools"));
  request.tools = *std::move(schemas);
  return Done{};
}

// The result of a reply that may call tools.
StepResult called(const ModelReply& reply, const StepInput& input, const std::string& into) {
  auto calls = opened_calls(reply.message, setting(input, "messages").size(), offer_of(input));
  if (!calls) return std::move(calls).error();
  Outcome outcome{calls_of(reply.message).empty() ? "message" : "tools", Json::object(), {}};
  const Json content = reply.message.value("content", Json());
  outcome.patch[into] = content.is_null() ? Json("") : content;
  outcome.facts = std::move(calls->facts);
  if (calls->own.empty()) return outcome;
  const auto own_into = text_setting(input, "calls_into", "calls");
  if (!own_into) return own_into.error();
  outcome.label = "functions";
  outcome.patch[*own_into] = std::move(calls->own);
  return outcome;
}

awaitable<StepResult> chat(StepInput input, Ports& ports) {
  auto into = text_setting(input, "into", "reply");
  if (!into) co_return std::move(into).error();
  auto append_to = text_setting(input, "append_to", "");
  if (!append_to) co_return std::move(append_to).error();
  auto request = request_of(input);
  if (!request) co_return std::move(request).error();
  const bool may_call = input.with.contains("tools");
  auto prepared = may_call ? offer_tools(*request, input) : say_what_was_wrong(*request, input);
  if (!prepared) co_return std::move(prepared).error();
  show_progress(*request, ports);
  const auto read = [&](const ModelReply& reply) -> StepResult {
    if (!append_to->empty() && !is_message(reply.message)) return no_message(reply.message);
    if ((may_call || !append_to->empty()) && says_nothing(reply.message))
      return bad_reply("Expected a text or a call of a tool, but the reply is empty.");
    StepResult result = may_call ? called(reply, input, *into) : Outcome{"ok", {{*into, reply.value}}, {}};
    if (result && !append_to->empty()) result->patch[*append_to] = Json::array({reply.message});
    return result;
  };
  co_return co_await ask_model(*std::move(request), ports, read);
}

Result<std::string, Failure> label_of(const Json& value, const std::string& field) {
  if (field.empty()) return std::string("ok");
  const Json label = value.is_object() ? value.value(field, Json()) : Json();
  if (label.is_string()) return label.get<std::string>();
  return bad_reply("Expected a text at /" + field + " of the reply, but found " + excerpt(label, 100) + ".");
}

awaitable<StepResult> decide_by_model(StepInput input, Ports& ports) {
  auto into = text_setting(input, "into", "decision");
  if (!into) co_return std::move(into).error();
  auto field = text_setting(input, "label_field", "");
  if (!field) co_return std::move(field).error();
  const Json schema = setting(input, "schema");
  if (schema.is_null() || !check_schema(schema)) co_return bad_setting(input, "a JSON Schema as \"schema\"", schema);
  auto request = request_of(input);
  if (!request) co_return std::move(request).error();
  if (auto prepared = say_what_was_wrong(*request, input); !prepared) co_return std::move(prepared).error();
  request->schema = schema;
  request->schema_name = "decision";
  show_progress(*request, ports);

  const auto read = [&into, &field](const ModelReply& reply) -> StepResult {
    auto label = label_of(reply.value, *field);
    if (!label) return std::move(label).error();
    return Outcome{*std::move(label), {{*into, reply.value}}, {}};
  };
  co_return co_await ask_model(*std::move(request), ports, read);
}

// --- tools ----------------------------------------------------------------------------------------------------------

Result<ToolCall, Failure> call_of(const StepInput& input) {
  const Json tool = setting(input, "tool");
  if (!tool.is_string()) return bad_setting(input, "a tool's name as \"tool\"", tool);
  Json inputs = setting(input, "inputs");
  if (inputs.is_null()) inputs = Json::object();
  if (!inputs.is_object()) return bad_setting(input, "an object as \"inputs\"", inputs);
  ToolCall call;
  call.tool = tool.get<std::string>();
  call.inputs = std::move(inputs);
  return call;
}

awaitable<StepResult> call_named_tool(StepInput input, Ports& ports) {
  auto into = text_setting(input, "into", "result");
  if (!into) co_return std::move(into).error();
  auto call = call_of(input);
  if (!call) co_return std::move(call).error();
  const ReadOutputs read = [&into](Json outputs) {
    Outcome outcome{"ok", Json::object(), {}};
    outcome.patch[*into] = std::move(outputs);
    return outcome;
  };
  co_return co_await call_tool(input, ports, *std::move(call), read);
}

// Takes what a map over calls left. The name of the setting that is no list; null if they fit.
const char* take_lists(const Json& given, MappedAnswers& mapped) {
  for (const auto& [name, list] : {std::pair{"calls", &mapped.calls}, std::pair{"results", &mapped.results},
                                   std::pair{"failures", &mapped.failures}}) {
    Json value = given.is_object() ? given.value(name, Json()) : Json();
    if (!value.is_null() && !value.is_array()) return name;
    if (value.is_array()) *list = std::move(value);
  }
  return nullptr;
}

Result<CallAnswers, Failure> answers_of(const StepInput& input) {
  CallAnswers answers;
  if (const char* bad = take_lists(input.with, answers.own))
    return bad_setting(input, std::string("a list as \"") + bad + "\"", setting(input, bad));
  const Json asked = setting(input, "asked");
  if (!asked.is_null() && !asked.is_object()) return bad_setting(input, "an object as \"asked\"", asked);
  if (const char* bad = take_lists(asked, answers.asked))
    return bad_setting(input, std::string("a list as \"") + bad + "\" of \"asked\"", asked[bad]);
  return answers;
}

StepResult results_as_messages(const StepInput& input) {
  auto into = text_setting(input, "into", "messages");
  if (!into) return std::move(into).error();
  auto asked_into = text_setting(input, "asked_into", "");
  if (!asked_into) return std::move(asked_into).error();
  const Json messages = setting(input, "messages");
  const bool is_known = is_conversation(messages) && opened_calls(messages.back(), 0, {}).ok();
  if (!is_known) return bad_setting(input, "a list of chat messages as \"messages\"", messages);
  const Result<CallAnswers, Failure> answers = answers_of(input);
  if (!answers) return answers.error();
  if (!asked_into->empty())
    if (Json asking = calls_that_ask(messages, input, *answers); !asking.empty())
      return Outcome{"asks", {{*asked_into, std::move(asking)}}, {}};
  return Outcome{"ok", {{*into, results_of_calls(messages, input, *answers)}}, {}};
}

// --- data -----------------------------------------------------------------------------------------------------------

StepResult set_data(const StepInput& input) {
  Json patch = setting(input, "set");
  if (!patch.is_object()) return bad_setting(input, "an object of channels as \"set\"", patch);
  return Outcome{"ok", std::move(patch), {}};
}

StepResult pick(const StepInput& input) {
  const Json value = setting(input, "value");
  const Json labels = setting(input, "labels");
  const Json otherwise = setting(input, "default");
  if (!labels.is_null() && !labels.is_object()) return bad_setting(input, "an object as \"labels\"", labels);
  Json label = labels.is_object() ? labels.value(value_text(value), Json()) : (value.is_string() ? value : Json());
  if (label.is_null()) label = otherwise;
  if (label.is_string()) return Outcome{label.get<std::string>(), Json::object(), {}};
  return bad_setting(input, "a label for every \"value\" or a \"default\"", value);
}

Failure bad_value(const StepInput& input, const Error& error) {
  if (error.code == Code::limit) return {"limit", error.message, false, {}};
  return invalid_input(error.message.substr(0, error.message.size() - 1) + ", in the \"with\" of node \"" + input.node +
                       "\".");
}

StepResult test_one(const StepInput& input) {
  LogicBounds bounds;
  const Result<bool> is_so = holds(setting(input, "if"), bounds);
  if (!is_so) return bad_value(input, is_so.error());
  return Outcome{*is_so ? "true" : "false", Json::object(), {}};
}

// The label of the first case that holds.
StepResult test(const StepInput& input) {
  const Json cases = setting(input, "cases");
  if (cases.is_null()) return test_one(input);
  if (!cases.is_array()) return bad_setting(input, "a list as \"cases\"", cases);
  LogicBounds bounds;
  for (const Json& one : cases) {
    if (!one.is_object() || one.size() != 2 || !one.contains("if") || !one.value("label", Json()).is_string())
      return bad_setting(input, "an \"if\" and a \"label\" in each case", one);
    const Result<bool> is_so = holds(one["if"], bounds);
    if (!is_so) return bad_value(input, is_so.error());
    if (*is_so) return Outcome{one["label"].get<std::string>(), Json::object(), {}};
  }
  const Json otherwise = setting(input, "default");
  if (!otherwise.is_string()) return bad_setting(input, "a case that holds or a \"default\"", otherwise);
  return Outcome{otherwise.get<std::string>(), Json::object(), {}};
}

StepResult compute_data(const StepInput& input) {
  const Json set = setting(input, "set");
  if (!set.is_object()) return bad_setting(input, "an object of channels as \"set\"", set);
  Outcome outcome{"ok", Json::object(), {}};
  LogicBounds bounds;
  for (const auto& [channel, operation] : set.items()) {
    Result<Json> value = compute(operation, bounds);
    if (!value) return bad_value(input, value.error());
    outcome.patch[channel] = *std::move(value);
  }
  return outcome;
}

StepResult map_data(const StepInput& input) {
  auto into = text_setting(input, "into", "result");
  if (!into) return std::move(into).error();
  MapSettings how{setting(input, "take"), setting(input, "default"), setting(input, "where")};
  if (how.take.is_null()) how.take = "";
  LogicBounds bounds;
  Result<Json> list = map_list(setting(input, "over"), how, bounds);
  if (!list) return bad_value(input, list.error());
  return Outcome{"ok", {{*into, *std::move(list)}}, {}};
}

// --- settings that no step could use ---------------------------------------------------------------------------------

Status check_kind(const Json& with, const char* name, std::uint8_t kinds) {
  const auto found = with.find(name);
  if (found == with.end() || found->is_null() || (space_of_setting(*found).kinds & kinds) != 0) return Done{};
  return Error{Code::invalid,
               "Expected " + kinds_in_words(kinds) + " as \"" + name + "\", but found " + excerpt(*found, 100) + "."};
}

Status check_texts(const Json& with, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (Status fits = check_kind(with, name, JsonKinds::text); !fits) return fits;
  return Done{};
}

bool is_missing(const Json& with, const char* name) { return !with.contains(name) || with[name].is_null(); }

// A template or a channel may also be null, and then the other one counts.
Status check_request(const Json& with) {
  const bool lacks_both = is_missing(with, "prompt") && is_missing(with, "messages");
  const auto is_certain = [&](const char* name) {
    return !is_missing(with, name) && (space_of_setting(with[name]).kinds & JsonKinds::null) == 0;
  };
  if (lacks_both || (is_certain("prompt") && is_certain("messages")))
    return Error{Code::invalid, std::string("Expected either \"prompt\" or \"messages\", but found ") +
                                    (lacks_both ? "none of them." : "both.")};
  if (Status fits = check_kind(with, "messages", JsonKinds::list); !fits) return fits;
  if (Status fits = check_kind(with, "options", JsonKinds::object); !fits) return fits;
  return check_texts(with, {"model", "into"});
}

Status check_chat(const Json& with) {
  if (with.contains("tools") && is_missing(with, "messages"))
    return Error{Code::invalid, "Expected \"messages\" with \"tools\", but it is missing."};
  if (Status fits = check_texts(with, {"append_to", "calls_into"}); !fits) return fits;
  return check_request(with);
}

Status check_decision(const Json& with) {
  if (Status fits = check_texts(with, {"label_field"}); !fits) return fits;
  return check_request(with);
}

Status check_tool_call(const Json& with) {
  if (Status fits = check_kind(with, "inputs", JsonKinds::object); !fits) return fits;
  return check_texts(with, {"tool", "into"});
}

// A node that did not see the answers would have the same calls made again without end.
Status check_results(const Json& with) {
  if (with.contains("asked_into") && is_missing(with, "asked"))
    return Error{Code::invalid, "Expected \"asked\" with \"asked_into\", but it is missing."};
  return check_texts(with, {"into", "asked_into"});
}

Status check_set(const Json& with) { return check_kind(with, "set", JsonKinds::object); }

Status check_pick(const Json& with) {
  if (Status fits = check_kind(with, "labels", JsonKinds::object); !fits) return fits;
  return check_texts(with, {"default"});
}

Status check_case(const Json& one) {
  if (has_reference(one) && (one.is_string() || one.contains("$"))) return Done{};
  const bool is_whole = one.is_object() && one.size() == 2 && one.contains("if") && one.contains("label");
  if (!is_whole)
    return Error{Code::invalid,
                 "Expected an \"if\" and a \"label\" in each case, but found " + excerpt(one, 100) + "."};
  if (Status fits = check_kind(one, "label", JsonKinds::text); !fits) return fits;
  return check_condition(one["if"]);
}

Status check_test(const Json& with) {
  const bool has_cases = !is_missing(with, "cases");
  if (with.contains("if") == has_cases)
    return Error{Code::invalid, std::string("Expected either \"if\" or \"cases\", but found ") +
                                    (has_cases ? "both." : "none of them.")};
  if (!has_cases) return check_condition(with["if"]);
  if (Status fits = check_kind(with, "cases", JsonKinds::list); !fits) return fits;
  if (with["cases"].is_array())
    for (const Json& one : with["cases"])
      if (Status fits = check_case(one); !fits) return fits;
  return check_texts(with, {"default"});
}

Status check_compute(const Json& with) {
  if (Status fits = check_set(with); !fits) return fits;
  const Json set = with.value("set", Json());
  if (!set.is_object() || set.contains("$")) return Done{};
  for (const auto& [channel, operation] : set.items())
    if (Status fits = check_operation(operation); !fits) return fits;
  return Done{};
}

Status check_mapping(const Json& with) {
  if (Status fits = check_kind(with, "over", JsonKinds::list); !fits) return fits;
  if (Status fits = check_texts(with, {"into"}); !fits) return fits;
  return check_map(with.value("take", Json()), with.value("where", Json()));
}

// --- what the text of the logic shows ---

LogicForms forms_of_test(const Json& with) {
  if (with.contains("if")) return forms_of_condition(with["if"]);
  LogicForms forms;
  const Json cases = with.value("cases", Json());
  if (!cases.is_array()) return forms;
  for (const Json& one : cases)
    if (one.is_object() && one.contains("if")) forms.add(forms_of_condition(one["if"]));
  return forms;
}

LogicForms forms_of_compute(const Json& with) {
  LogicForms forms;
  const Json set = with.value("set", Json());
  if (set.is_object() && !set.contains("$"))
    for (const auto& [channel, operation] : set.items()) forms.add(forms_of_operation(operation));
  return forms;
}

LogicForms forms_of_mapping(const Json& with) {
  LogicForms forms = forms_of_where(with.value("where", Json()));
  if (with.contains("over")) forms.parts.push_back({"over", with["over"], JsonKinds::list});
  return forms;
}

using FormsOf = LogicForms (*)(const Json& with);

template <FormsOf forms_of>
void show_forms(Handler& handler) {
  handler.parts = [](const Json& with) { return forms_of(with).parts; };
  handler.doubts = [](const Json& with) { return forms_of(with).doubts; };
}

enum class Leaves { by_ok, by_its_nodes_labels, by_ok_or_its_nodes_labels };

using Means = HandlerSetting::Means;
using Settings = std::vector<HandlerSetting>;
constexpr bool is_required = true;

Handler handler(std::string name, std::variant<PureHandler, EffectHandler> run, Leaves leaves, Settings settings) {
  Handler handler;
  handler.name = std::move(name);
  if (leaves != Leaves::by_its_nodes_labels) handler.labels = {"ok"};
  handler.labels_from_node = leaves != Leaves::by_ok;
  handler.settings = std::move(settings);
  handler.run = std::move(run);
  return handler;
}

using Gives = ValueSpace (*)(const Json& with, const Json& value);

template <std::uint8_t kinds>
ValueSpace always(const Json&, const Json&) {
  return {kinds, {}};
}

// With tools the reply may be in parts.
ValueSpace gives_reply(const Json& with, const Json&) {
  return with.contains("tools") ? ValueSpace{} : ValueSpace{JsonKinds::text, {}};
}

// Where it may leave for the calls that ask, it leaves no messages then.
ValueSpace gives_messages(const Json& with, const Json&) {
  return with.contains("asked_into") ? ValueSpace{} : ValueSpace{JsonKinds::list, {}};
}

ValueSpace gives_decision(const Json& with, const Json&) {
  const Json schema = with.value("schema", Json());
  return has_reference(schema) ? ValueSpace{} : space_of_schema(schema);
}

ValueSpace gives_setting(const Json&, const Json& value) { return space_of_setting(value); }

ValueSpace gives_computed(const Json&, const Json& operation) { return {kinds_of_operation(operation), {}}; }

// A channel that is written: by another name than `otherwise` if the node says so.
HandlerSetting into(std::string otherwise, Gives given) {
  HandlerSetting setting{"into", Means::channel, false, std::move(otherwise)};
  setting.gives = given;
  return setting;
}

HandlerSetting channels_set(Gives given) {
  HandlerSetting setting{"set", Means::channels, is_required};
  setting.gives = given;
  setting.is_copied = given == gives_setting;
  return setting;
}

Settings of_a_request(Settings others) {
  for (const char* name : {"prompt", "messages", "system", "model", "options"}) others.push_back({name});
  return others;
}

void add_checked(HandlerTable& table, Handler handler, Status (*check)(const Json& with)) {
  handler.check = check;
  table.add(std::move(handler));
}

// 2: integers beyond 63 bits are compared as what they are, and numbers rounded by their digits.
constexpr std::int32_t logic_version = 2;

void add_logic(HandlerTable& table) {
  add_checked(table, handler("data.set", PureHandler(set_data), Leaves::by_ok, {channels_set(gives_setting)}),
              check_set);
  add_checked(table,
              handler("data.pick", PureHandler(pick), Leaves::by_its_nodes_labels,
                      {{"value", Means::picked, is_required}, {"labels", Means::labels}, {"default", Means::label}}),
              check_pick);
  Handler testing = handler("data.test", PureHandler(test), Leaves::by_its_nodes_labels,
                            {{"if"}, {"cases", Means::cases}, {"default", Means::label}});
  testing.labels = {"true", "false"};
  testing.version = logic_version;
  show_forms<forms_of_test>(testing);
  add_checked(table, std::move(testing), check_test);
  Handler computing = handler("data.compute", PureHandler(compute_data), Leaves::by_ok, {channels_set(gives_computed)});
  computing.version = logic_version;
  show_forms<forms_of_compute>(computing);
  add_checked(table, std::move(computing), check_compute);
  Handler mapping = handler(
      "data.map", PureHandler(map_data), Leaves::by_ok,
      {{"over", Means::value, is_required}, {"take"}, {"default"}, {"where"}, into("result", always<JsonKinds::list>)});
  mapping.version = logic_version;
  show_forms<forms_of_mapping>(mapping);
  add_checked(table, std::move(mapping), check_mapping);
}

}  // namespace

void add_builtin_handlers(HandlerTable& table, bool calls_urls) {
  table.add(http_call_handler(calls_urls));
  table.add(model_extract_handler());
  HandlerSetting append_to{"append_to", Means::channel};
  append_to.gives = always<JsonKinds::list>;
  add_checked(table,
              handler("model.chat", EffectHandler(chat), Leaves::by_ok_or_its_nodes_labels,
                      of_a_request({into("reply", gives_reply),
                                    std::move(append_to),
                                    {"tools"},
                                    {"functions"},
                                    {"calls_into", Means::channel, false, "calls"}})),
              check_chat);
  add_checked(table,
              handler("model.decide", EffectHandler(decide_by_model), Leaves::by_its_nodes_labels,
                      of_a_request({into("decision", gives_decision),
                                    {"schema", Means::schema, is_required},
                                    {"label_field", Means::label_field}})),
              check_decision);
  add_checked(
      table,
      handler(
          "tool.call", EffectHandler(call_named_tool), Leaves::by_ok,
          {{"tool", Means::tool, is_required}, {"inputs", Means::inputs}, into("result", always<JsonKinds::object>)}),
      check_tool_call);
  Handler results = handler("tool.results", PureHandler(results_as_messages), Leaves::by_ok_or_its_nodes_labels,
                            {{"messages", Means::value, is_required},
                             into("messages", gives_messages),
                             {"calls"},
                             {"results"},
                             {"failures"},
                             {"asked"},
                             {"asked_into", Means::channel}});
  results.reads_plan = true;
  add_checked(table, std::move(results), check_results);
  add_logic(table);
}

bool is_builtin_logic(std::string_view handler) { return handler.starts_with("data."); }

}  // namespace cairn

#include "tests/fuzz/targets.hpp"

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "engine/codec.hpp"
#include "engine/decide.hpp"
#include "engine/follow.hpp"
#include "engine/graph_drawing.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/run_json.hpp"
#include "engine/schedule_rules.hpp"
#include "workers/handlers/handler.hpp"
#include "workers/models/models.hpp"
#include "workers/planners/planners.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn::fuzz {
namespace {

bool is_utf8(std::string_view text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

}  // namespace

std::span<const Target> targets() {
  static constexpr std::array all = {Target{"graph", graph},       Target{"codec", codec},
                                     Target{"history", history},   Target{"state", state},
                                     Target{"run", run},           Target{"plan", plan},
                                     Target{"foreign", foreign},   Target{"model_reply", model_reply},
                                     Target{"schedule", schedule}, Target{"time_zone", time_zone}};
  return all;
}

void graph(std::string_view bytes) {
  const Result<Json> text = parse_json(bytes, "the graph");
  if (!text) return;
  const std::vector<std::string> faults = graph_faults(*text, {});
  for (const std::string& fault : faults) CHECK(!fault.empty() && is_utf8(fault));
  const Result<GraphRef> parsed = parse_graph(*text, "v", {});
  CHECK(parsed.ok() == faults.empty());
  if (!parsed) return;
  CHECK(!mermaid(**parsed).empty() && !dot(**parsed).empty());
  CHECK(stored_graph(*text, "v")->nodes.size() == (*parsed)->nodes.size());
}

void codec(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const auto type = static_cast<std::int16_t>(static_cast<unsigned char>(bytes[0]) % 128);
  const auto version = static_cast<std::int16_t>(static_cast<unsigned char>(bytes[1]) % 3);
  const Result<EventBody> body = decode_payload(type, version, bytes.substr(2));
  if (!body) return;
  std::string once;
  try {
    once = encode_payload(*body);
  } catch (const Json::exception&) {
    return;  // a string inside a JsonText that is not UTF-8 is found when it is read
  }
  const Result<EventBody> again = decode_payload(event_type(*body).number, event_type(*body).version, once);
  CHECK(again.ok());
  CHECK(encode_payload(*again) == once);
}

// The handler makes sub-goals of any input or refuses it; the engine admits or rejects each of them.
void plan(std::string_view bytes) {
  const Result<Json> input = parse_json(bytes, "the input");
  if (!input || !input->is_object()) return;
  static const HandlerTable table = [] {
    HandlerTable made;
    add_plan_runner(made);
    return made;
  }();
  static const Json text = Json::parse(R"({"name": "p", "start": "plan", "limits": {"steps": 100000}, "nodes": {
      "plan": {"do": "plan_runner.open", "on": {"opened": "work"}},
      "work": {"map": "sub_goals", "on": {"joined": "over"}}, "over": {"end": "done"}}})");
  static const Graphs graphs = [] {
    Graphs made;
    made.add(*parse_graph(text, "p1", table.labels()), true);
    return made;
  }();
  const ToolTable tools = {{"echo", {}}, {"sleep", {}}, {"fed", {"default", {"$goal"}}}};
  Context context;
  context.tools = &tools;
  context.now_us = 1'000'000;
  RunState state;
  StartRun start;
  start.graph = "p";
  start.input = *input;
  if (!decide(state, start, context, graphs) || state.steps.empty()) return;
  const Step& step = state.steps.begin()->second;
  const Handler* handler = table.find(state.node(step).handler());
  StepResult result = std::get<PureHandler>(handler->run)(*step_input(state, step, handler));
  Command report;
  if (result)
    report = CompleteStep{step.id, 1, *std::move(result), 1, 0, 0};
  else
    report = FailStep{step.id, 1, std::move(result).error(), 1, 0};
  CHECK(decide(state, report, context, graphs).ok());
  for (const auto& [id, branch] : state.branches) CHECK(!follow(state, id));
  CHECK(state_json(state).is_object());
}

void foreign(std::string_view bytes) {
  for (const std::size_t bytes_max : {std::size_t{0}, std::size_t{5}, std::size_t{300}}) {
    const std::string line = readable_line(bytes, bytes_max);
    CHECK(is_utf8(line) && line.find('\n') == std::string::npos);
    CHECK(line.size() <= bytes_max + 3);
  }
  CHECK(last_line(bytes).size() <= bytes.size());
  const Result<Json> value = parse_json(bytes, "the output");
  if (!value) return CHECK(is_utf8(value.error().message));
  CHECK(parse_json(canonical(*value), "the same").ok());
  CHECK(excerpt(*value, 50).size() <= 53);
}

void model_reply(std::string_view bytes) {
  const Result<Json> value = parse_json(bytes, "the reply");
  if (!value || !value->is_object() || !value->contains("reply")) return;
  const Json schema = value->value("schema", Json(nullptr));
  if (!check_schema(schema)) return;
  const Json script = {{"replies", {{{"reply", (*value)["reply"]}}}}};
  const auto model = make_scripted_model(script);
  ModelRequest request;
  request.schema = schema;
  request.messages = Json::array();
  boost::asio::io_context io;
  bool has_arrived = false;
  boost::asio::co_spawn(io, model->ask(request), [&](const std::exception_ptr& thrown, const ModelAnswer& answer) {
    if (thrown) std::rethrow_exception(thrown);
    has_arrived = true;
    CHECK(answer.failure || request.schema.is_null() || check_value(schema, answer.reply.value) ||
          answer.reply.value.is_null());
  });
  io.run();
  CHECK(has_arrived);
}

void schedule(std::string_view bytes) {
  const Result<Json> text = parse_json(bytes, "the schedule");
  if (!text) return;
  const Result<ScheduleDefinition> definition = parse_schedule(*text);
  if (!definition) return CHECK(is_utf8(definition.error().message));
  CHECK(*parse_schedule(schedule_json(*definition)) == *definition);
  CHECK(!in_words(*definition).empty());
  UtcSeconds from = 1'800'000'000;
  for (int n = 0; n < 3; ++n) {
    const auto planned = planned_occurrence("s", *definition, TimeZone::utc(), from);
    if (!planned) return;
    CHECK(planned->at >= from * 1'000'000 && planned->fires_at >= planned->at);
    from = planned->at / 1'000'000 + 1;
  }
}

void time_zone(std::string_view bytes) {
  const Result<TimeZone> zone = TimeZone::parse(bytes);
  if (!zone) return CHECK(is_utf8(zone.error().message));
  for (UtcSeconds at = -4'000'000'000; at < 6'000'000'000; at += 499'999'993) {
    const ZonePiece piece = zone->piece_at(at);
    CHECK(piece.begins <= at && at < piece.ends);
    CHECK(piece.offset >= -zone_offset_max && piece.offset <= zone_offset_max);
  }
  ScheduleTimes times;
  times.cron.push_back(*parse_cron_line("30 2 * * *"));
  if (const auto next = next_time(times, *zone, 1'800'000'000)) CHECK(*next >= 1'800'000'000);
}

}  // namespace cairn::fuzz

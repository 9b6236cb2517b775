#include "engine/codec.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "engine/run_json.hpp"
#include "tests/paths.hpp"

namespace cairn {
namespace {

const RunId some_run = *parse_run_id("0190f3a2-7c41-7b3e-9d55-0123456789ab");
const RunId other_run = *parse_run_id("0190f3a2-7c41-7b3e-9d55-0123456789ac");
constexpr TimeUs some_time = 1'795'299'827'123'456;
constexpr SessionId some_worker = 72'057'594'037'927'937;

RunStarted a_fork() {
  RunStarted started{.graph = "seven_node",
                     .version = "ab12",
                     .input = R"({"question":"Who owns é?"})",
                     .options = {},
                     .tags = {},
                     .parent = Parent{other_run, 7, 2},
                     .continues = other_run,
                     .history = R"({"turns":[]})",
                     .forked_from = {}};
  started.options = {true, 3, {{"iterations", 5}, {"tokens", 9'000'000'000}}};
  started.tags = {{"batch", "b1"}, {"odd \"key\"", "\n"}};
  started.forked_from = Origin{other_run, 12, "00ff", {{"seq", 12}}};
  return started;
}

StepSucceeded a_success() {
  StepSucceeded succeeded;
  succeeded.node = "plan";
  succeeded.label = "tools";
  succeeded.patch = R"({"b": 1.50, "a":[1,{"x":"}\"]"}],"big":18446744073709551615})";  // as the handler wrote it
  succeeded.next = {"left", "right"};
  succeeded.attempt = 2;
  succeeded.worker = some_worker;
  succeeded.started_at = some_time;
  return succeeded;
}

std::vector<EventBody> run_samples() {
  RunStarted plain;
  plain.graph = "plain";
  plain.version = "v";
  RunFinished failed{RunStatus::failed, "It \\ failed: \x01.", "null", {{3, 4}, {"q3"}, {other_run}}, {}};
  RunFinished caused = failed;
  caused.cause = CauseOfFailure{"no_water", "Out of water.", "make", 1, 2};
  return {plain,
          a_fork(),
          RunPaused{},
          RunResumed{},
          RunReopened{},
          RunMoved{"cd34"},
          ChannelsEdited{R"({"a":1})"},
          RunFinished{},
          failed,
          caused,
          RunEnding{RunStatus::aborted, "Cancelled.", "{}", {{3}, {"q3"}, {other_run}}, caused.cause, "undo"},
          ChildStarted{other_run, "sub", "v1"},
          ChildFinished{other_run, RunStatus::aborted, "Cancelled.", nullptr}};
}

std::vector<EventBody> step_samples() {
  StepSucceeded by_engine;
  by_engine.node = "wait";
  by_engine.label = "fired";
  by_engine.took = "signal 1";
  by_engine.cached_from = 4;
  StepSucceeded cacheable;
  cacheable.node = "rank";
  cacheable.label = "ok";
  cacheable.attempt = 1;
  cacheable.cache_key = "9f86d081884c7d659a2feaa0c55ad015";
  StepFailed again;
  again.node = "plan";
  again.attempt = 1;
  again.error = "timeout";
  again.message = "Expected an answer within 10 ms, but it took longer.";
  again.worker = some_worker;
  again.started_at = some_time;
  again.retry_at = some_time + 1;
  StepFailed routed = again;
  routed.retry_at.reset();
  routed.label = "error";
  routed.next = {"apologise"};
  return {a_success(),
          by_engine,
          cacheable,
          again,
          routed,
          SignalReceived{"go", {{"by", "ann"}}, "s-1"},
          TimerFired{},
          QuestionAsked{"q3", "question", "Which region?", {{"type", "string"}}, Json(nullptr), some_time},
          QuestionAsked{"q4", "message", nullptr, nullptr, {}, {}},
          QuestionAnswered{"q3", "north", "user:ann"},
          QuestionExpired{"q3"},
          BudgetExhausted{"iterations", 5, 5}};
}

std::vector<EventBody> plan_samples() {
  SubGoalOpened opened;
  opened.sub_goal = "g1";
  opened.tool = "owners";
  opened.title = "Owners of engine";
  opened.parent = "root";
  opened.inputs = {{"path", {{"from_sub_goal", "g0"}, {"slot", "path"}}}};
  opened.after = {"g0"};
  opened.queue = "tools";
  SubGoalOpened structure;
  structure.sub_goal = "root";
  SubGoalClosed closed{"g1", GoalStatus::succeeded, R"({"owners":["ann"]})", "", "", 1, some_worker, some_time, "g0",
                       ""};
  SubGoalClosed skipped{"g2", GoalStatus::skipped, "{}", "skipped", "g1 failed.", 0, 0, 0, "", ""};
  const PlanChild child{"a", "First", {}, nullptr};
  const PlanChild next{"b", "Then", {"a"}, {{"why", "order"}}};
  return {opened,
          structure,
          SubGoalRejected{"g3", "nothing", "Expected a known tool, but nothing is none.", {"$food"}},
          closed,
          skipped,
          PlanCreated{1, "Know the owners", {child, next}},
          PlanRevised{2, "replan", Json::parse(R"([{"op":"remove","id":"a"}])")},
          TaskDecomposed{"root", "tree", 1, {child}, {"z"}, 2}};
}

std::vector<EventBody> record_samples() {
  std::vector<EventBody> records;
  for (
      const char* fields :
      {R"({"action":"search","target":"engine","reason":"It was asked.","source":"model"})",
       R"({"rule":"cap","order":1,"from":"search","to":"answer"})", R"({"action":"answer","trail":["cap"]})",
       R"({"target":"root","reason":"The reply was empty."})", R"({"target":"g1","ok":true,"says":"It holds."})",
       R"({"action":"repair","reason":"g1 failed."})", R"({"condition":"no owner","action":"ask"})",
       R"({"says":"The same call three times."})", R"({"reason":"off topic"})",
       R"({"model":"m","request":"sha","reply":"sha","tokens_in":12,"tokens_out":3,"cost":0.01,"latency_ms":250,"ok":true})",
       R"({"tool":"owners","ok":false,"latency_ms":12})"}) {
    records.push_back(Record{static_cast<RecordKind>(records.size()), fields});
  }
  return records;
}

std::vector<EventBody> samples() {
  std::vector<EventBody> all;
  for (const auto& some : {run_samples(), step_samples(), plan_samples(), record_samples()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

EventBody decoded(const EventType& type, std::string_view payload) {
  auto body = decode_payload(type.number, type.version, payload);
  EXPECT_TRUE(body.ok()) << payload << ": " << body.error().message;
  return body.ok() ? *body : EventBody(RunPaused{});
}

std::string fault_of(const EventBody& like, std::string_view payload) {
  const EventType type = event_type(like);
  const auto body = decode_payload(type.number, type.version, payload);
  EXPECT_FALSE(body.ok()) << payload;
  if (body.ok()) return "";
  EXPECT_EQ(body.error().code, Code::corrupt);
  return body.error().message;
}

std::filesystem::path golden_file(const EventType& type) {
  return std::filesystem::path(testing::source_dir()) / "tests/golden/events" /
         (std::string(type.name) + "." + std::to_string(type.version) + ".json");
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Samples by type, one payload a line; a file that exists is never written again.
void write_missing_goldens() {
  std::map<std::filesystem::path, std::string> missing;
  for (const EventBody& sample : samples()) {
    const auto file = golden_file(event_type(sample));
    if (!std::filesystem::exists(file)) missing[file] += encode_payload(sample) + "\n";
  }
  for (const auto& [file, text] : missing) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
}

TEST(Codec, every_sample_comes_back_as_the_same_bytes) {
  for (const EventBody& sample : samples()) {
    const std::string payload = encode_payload(sample);
    const EventBody back = decoded(event_type(sample), payload);
    EXPECT_EQ(back.index(), sample.index()) << payload;
    EXPECT_EQ(encode_payload(back), payload);
    EXPECT_TRUE(Json::accept(payload)) << payload;
  }
}

TEST(Codec, every_type_has_a_golden_file_that_still_holds) {
  if (std::getenv("CAIRN_UPDATE_GOLDEN") != nullptr) write_missing_goldens();
  std::map<std::string, std::vector<std::string>> encoded;
  for (const EventBody& sample : samples()) {
    const EventType type = event_type(sample);
    encoded[golden_file(type).string()].push_back(encode_payload(sample));
    for (const std::string& line : lines_of(golden_file(type))) EXPECT_EQ(encode_payload(decoded(type, line)), line);
  }
  for (const auto& [file, payloads] : encoded) EXPECT_EQ(lines_of(file), payloads) << file;
}

TEST(Codec, every_number_has_a_sample) {
  std::set<std::int16_t> numbers;
  for (const EventBody& sample : samples()) {
    const EventType type = event_type(sample);
    numbers.insert(type.number);
    EXPECT_EQ(event_type_name(type.number), type.name);
    EXPECT_EQ(type_of(sample), type.name);
  }
  for (std::int16_t number = -1; number < 1000; ++number) {
    EXPECT_EQ(event_type_name(number).has_value(), numbers.contains(number)) << number;
  }
}

TEST(Codec, a_step_that_succeeded_in_its_bytes) {
  EXPECT_EQ(encode_payload(a_success()),
            R"({"node":"plan","label":"tools","patch":{"b": 1.50, "a":[1,{"x":"}\"]"}],"big":18446744073709551615},)"
            R"("next":["left","right"],"attempt":2,"worker":72057594037927937,"started_at":1795299827123456})");
}

TEST(Codec, fields_come_back) {
  const auto started = std::get<RunStarted>(decoded(event_type(a_fork()), encode_payload(a_fork())));
  EXPECT_EQ(started.graph, "seven_node");
  EXPECT_EQ(started.input, a_fork().input);
  EXPECT_EQ(started.options, a_fork().options);
  EXPECT_EQ(started.tags, a_fork().tags);
  EXPECT_EQ(started.parent, a_fork().parent);
  EXPECT_EQ(started.continues, other_run);
  EXPECT_EQ(started.history, a_fork().history);
  EXPECT_EQ(started.forked_from, a_fork().forked_from);

  const auto succeeded = std::get<StepSucceeded>(decoded(event_type(a_success()), encode_payload(a_success())));
  EXPECT_EQ(succeeded.patch, a_success().patch);
  EXPECT_EQ(succeeded.next, a_success().next);
  EXPECT_EQ(succeeded.worker, some_worker);
}

TEST(Codec, a_reason_is_written_only_where_one_was_given_and_comes_back) {
  EXPECT_EQ(encode_payload(RunPaused{}), "{}");
  EXPECT_EQ(encode_payload(RunResumed{}), "{}");
  EXPECT_EQ(encode_payload(RunReopened{}), "{}");
  EXPECT_EQ(encode_payload(RunReopened{"", true}), R"({"opens":"again"})");
  EXPECT_EQ(encode_payload(RunMoved{"v"}), R"({"to_version":"v"})");
  EXPECT_EQ(encode_payload(a_fork()).find("reason"), std::string::npos);
  EXPECT_EQ(encode_payload(RunPaused{"night"}), R"({"reason":"night"})");
  EXPECT_EQ(encode_payload(RunMoved{"v", "mended"}), R"({"to_version":"v","reason":"mended"})");
  RunStarted started = a_fork();
  started.reason = "again";
  for (const EventBody& body :
       {EventBody(RunPaused{"night"}), EventBody(RunResumed{"day"}), EventBody(RunReopened{"mended"}),
        EventBody(RunReopened{"", true}), EventBody(RunMoved{"v", "mended"}), EventBody(started)})
    EXPECT_EQ(encode_payload(decoded(event_type(body), encode_payload(body))), encode_payload(body));
  EXPECT_EQ(std::get<RunPaused>(decoded(event_type(RunPaused{}), "{}")).reason, "");
}

TEST(Codec, a_default_of_null_is_another_thing_than_no_default) {
  QuestionAsked asked{"q1", "question", "?", nullptr, Json(nullptr), {}};
  EXPECT_TRUE(std::get<QuestionAsked>(decoded(event_type(asked), encode_payload(asked))).fallback.has_value());
  asked.fallback.reset();
  EXPECT_FALSE(std::get<QuestionAsked>(decoded(event_type(asked), encode_payload(asked))).fallback.has_value());
}

TEST(Codec, a_text_that_is_not_utf8_does_not_spoil_the_payload) {
  StepFailed failed;
  failed.message = "tool said \xff";
  const std::string payload = encode_payload(failed);
  EXPECT_TRUE(Json::accept(payload));
  EXPECT_EQ(std::get<StepFailed>(decoded(event_type(failed), payload)).message, "tool said \xef\xbf\xbd");
}

TEST(Codec, spaces_around_a_kept_text_are_not_part_of_it) {
  const ChannelsEdited none;
  const auto read = [&](std::string_view payload) {
    return std::get<ChannelsEdited>(decoded(event_type(none), payload)).patch;
  };
  EXPECT_EQ(read("{ \"patch\" : {\"a\" : 1} }"), "{\"a\" : 1}");
  EXPECT_EQ(read("{\"patch\": 12 }"), "12");
  EXPECT_EQ(read("{\"patch\":-1.5e3}"), "-1.5e3");
  EXPECT_EQ(read("{\"patch\":\n\"a:{\\\"\"\n}"), "\"a:{\\\"\"");
  EXPECT_EQ(read("{\"patch\":null}"), "null");
  EXPECT_EQ(read("{\"patch\":[]}"), "[]");
}

TEST(Codec, a_payload_that_is_none_of_its_type_is_corrupt) {
  const RunMoved moved{"v"};
  EXPECT_EQ(fault_of(moved, "{}"), "Expected the payload of a run_moved, but it has no \"to_version\".");
  EXPECT_EQ(fault_of(moved, R"({"to_version":5})"),
            "Expected the payload of a run_moved, but its \"to_version\" is of another kind.");
  EXPECT_EQ(fault_of(moved, R"({"to_version":"a","by":"b"})"),
            "Expected the payload of a run_moved, but it has 1 other fields.");
  EXPECT_EQ(fault_of(moved, R"({"to_version":"a","to_version":"b"})"),
            "Expected the payload of a run_moved, but it has 1 other fields.");
  for (const char* text : {"", "[]", "[1]", "[{\"to_version\":\"a\"}]", "1", "\"x\"", "null", "{",
                           "{\"to_version\":\"a\"", "{\"to_version\":\"a\"} x"}) {
    EXPECT_NE(fault_of(moved, text), "") << text;
  }
  EXPECT_NE(fault_of(moved, std::string_view("{\"to_version\":\"a\"}\0x", 20)), "");
}

TEST(Codec, a_bracket_that_never_closes_is_corrupt) {
  for (const char* text : {R"({"patch":{"a":1)", R"({"patch":{"a":"}"})", R"({"patch":{"a":1]})", R"({"patch":["\"]"})",
                           R"({"patch":{)"}) {
    EXPECT_EQ(fault_of(ChannelsEdited{}, text), "Expected the payload of a channels_edited, but it is not JSON.")
        << text;
  }
  EXPECT_EQ(fault_of(PlanRevised{}, R"({"version":1,"cause":"c","changes":[{]]})"),
            "Expected the payload of a plan_revised, but its \"changes\" is not JSON.");
  EXPECT_EQ(fault_of(PlanRevised{}, R"({"version":1,"cause":"c","changes":[1,,2]})"),
            "Expected the payload of a plan_revised, but its \"changes\" is not JSON.");
}

TEST(Codec, a_field_of_another_kind_is_corrupt) {
  const EventBody closed = SubGoalClosed{};
  const Json sound = Json::parse(encode_payload(closed));
  const std::map<std::string, std::vector<Json>> wrong{{"sub_goal", {1, nullptr}},
                                                       {"status", {"gone", 1}},
                                                       {"attempt", {"1", 1.5, 2147483648, nullptr}},
                                                       {"worker", {18446744073709551615u, "1"}},
                                                       {"started_at", {true}}};
  for (const auto& [field, values] : wrong) {
    for (const Json& value : values) {
      Json payload = sound;
      payload[field] = value;
      EXPECT_EQ(fault_of(closed, payload.dump()),
                "Expected the payload of a sub_goal_closed, but its \"" + field + "\" is of another kind.");
    }
  }
  EXPECT_NE(fault_of(StepSucceeded{},
                     R"({"node":"a","label":"b","patch":{},"next":"c","attempt":1,"worker":1,"started_at":1})"),
            "");
  EXPECT_NE(fault_of(StepSucceeded{},
                     R"({"node":"a","label":"b","patch":{},"next":[1],"attempt":1,"worker":1,"started_at":1})"),
            "");
  EXPECT_NE(fault_of(ChildStarted{}, R"({"child":"not-a-run","graph":"g","version":"v"})"), "");
  EXPECT_NE(fault_of(RunStarted{}, R"({"graph":"g","version":"v","input":{},"options":{"autonomy":"half"},"tags":{}})"),
            "");
  EXPECT_NE(fault_of(Record{}, "[]"), "");
  EXPECT_NE(fault_of(Record{}, "{"), "");
}

TEST(Codec, an_unknown_type_or_version_is_unsupported) {
  for (const auto& [type, version] :
       std::vector<std::pair<int, int>>{{0, 1}, {25, 1}, {100, 1}, {112, 1}, {-1, 1}, {8, 2}, {8, 0}, {101, 2}}) {
    const auto body = decode_payload(static_cast<std::int16_t>(type), static_cast<std::int16_t>(version), "{}");
    ASSERT_FALSE(body.ok());
    EXPECT_EQ(body.error().code, Code::unsupported);
    EXPECT_EQ(body.error().message, "Expected an event of a known type, but found type " + std::to_string(type) +
                                        " version " + std::to_string(version) + ", written by a newer program.");
  }
}

TEST(Codec, a_line_for_people_and_scripts) {
  const Event event{7, some_time, 3, "user:ann", QuestionAnswered{"q3", "north", "user:ann"}};
  EXPECT_EQ(
      canonical(event_json(some_run, event)),
      R"({"actor":"user:ann","at":"2026-11-21T22:23:47.123456Z","by":"user:ann","question":"q3",)"
      R"("run":"0190f3a2-7c41-7b3e-9d55-0123456789ab","seq":7,"step":3,"type":"question_answered","value":"north"})");
}

TEST(Codec, a_line_of_a_stored_event_is_that_of_the_decoded_one) {
  for (const EventBody& sample : samples()) {
    const EventType type = event_type(sample);
    const std::string payload = encode_payload(sample);
    const Result<Json> line = event_json(some_run, {3, 5, 1, "user:ann", type.number, type.version, payload});
    ASSERT_TRUE(line) << type.name;
    EXPECT_EQ(canonical(*line), canonical(event_json(some_run, Event{3, 5, 1, "user:ann", sample}))) << type.name;
  }
  EXPECT_EQ(event_json(some_run, {3, 5, 1, "", 1, 99, "{}"}).error().code, Code::unsupported);
}

TEST(Codec, status_words_are_those_of_the_wire) {
  for (const RunStatus status :
       {RunStatus::running, RunStatus::paused, RunStatus::done, RunStatus::failed, RunStatus::aborted}) {
    EXPECT_EQ(parse_run_status(to_string(status)), status);
  }
  for (const GoalStatus status :
       {GoalStatus::planned, GoalStatus::open, GoalStatus::succeeded, GoalStatus::failed, GoalStatus::skipped}) {
    EXPECT_EQ(parse_goal_status(to_string(status)), status);
  }
  EXPECT_EQ(to_string(RunStatus::aborted), "aborted");
  EXPECT_EQ(to_string(GoalStatus::planned), "planned");
  EXPECT_EQ(parse_run_status("waiting"), std::nullopt);
  EXPECT_EQ(parse_goal_status(""), std::nullopt);
}

TEST(Codec, a_success_is_counted_by_the_fields_that_it_decodes_to) {
  std::vector<StepSucceeded> steps;
  for (const char* node : {"plan", "a b", "über", "quo\"te", "back\\slash", "new\nline", ""}) {
    StepSucceeded plain;
    plain.node = node;
    plain.label = "ok";
    plain.attempt = 1;
    plain.started_at = some_time;
    plain.next = {"x", ",\"started_at\":7"};
    StepSucceeded odd = plain;
    odd.patch = R"({"started_at":5,"s":",\"started_at\":6","node":"no","cached_from":1})";
    odd.took = R"(,"started_at":9,"cached_from":3)";
    StepSucceeded reused = odd;
    reused.cached_from = 4;
    reused.cache_key = R"(,"started_at":1)";
    StepSucceeded by_engine = plain;
    by_engine.started_at = 0;
    by_engine.attempt = 0;
    for (const StepSucceeded& step : {plain, odd, reused, by_engine}) steps.push_back(step);
  }
  int read_fast = 0;
  for (const StepSucceeded& step : steps) {
    const std::string payload = encode_payload(step);
    const std::optional<SucceededStep> read = read_succeeded(payload);
    if (!read) continue;
    ++read_fast;
    EXPECT_EQ(read->node, step.node) << payload;
    EXPECT_EQ(read->started_at, step.started_at) << payload;
    EXPECT_EQ(read->is_reused, step.cached_from != 0) << payload;
  }
  EXPECT_EQ(read_fast, 3 * 4) << "all but the names that JSON escapes";
  EXPECT_EQ(read_succeeded("{}"), std::nullopt);
  EXPECT_EQ(read_succeeded(R"({"node":"a)"), std::nullopt);
}

}  // namespace
}  // namespace cairn

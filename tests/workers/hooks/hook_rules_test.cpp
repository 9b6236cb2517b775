// The rules of hooks: which event becomes a notice, its id, and what follows from an answer.
#include "workers/hooks/hook_rules.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "engine/event_types.hpp"

namespace cairn::test {
namespace {

HookDefinition hook_of(const Json& fields) {
  Json asked = {{"url", "https://receiver.example/in"}, {"on", Json::array({"ended"})}};
  asked.update(fields);
  Result<HookDefinition> hook = parse_hook(asked);
  EXPECT_TRUE(hook.ok()) << hook.error().message;
  return *std::move(hook);
}

HookDefinition hook_on(const std::vector<std::string>& on) {
  Json fields = {{"on", on}};
  if (std::find(on.begin(), on.end(), "stalled") != on.end()) fields["stalled_after_ms"] = 60'000;
  return hook_of(fields);
}

struct Payload {
  std::int16_t type = 0;
  std::int16_t version = 1;
  std::string text;
};

std::optional<NoticeKind> noticed(const HookDefinition& hook, const Payload& payload, bool waits = true) {
  return notice_of(hook, {7, 1'000, 0, "", payload.type, payload.version, payload.text}, [waits] { return waits; });
}

Payload finished(const std::string& status, const std::string& reason, const Json& cause = nullptr) {
  Json fields = {{"status", status}, {"reason", reason}, {"output", Json::object()}};
  if (!cause.is_null()) fields["cause"] = cause;
  return {event_type_of<RunFinished>.number, 1, canonical(fields)};
}

const Payload asked_question = {event_type_of<QuestionAsked>.number, 1, R"({"question":"q3","kind":"k","prompt":"p"})"};
const Payload broke_budget = {event_type_of<BudgetExhausted>.number, 1, R"({"name":"calls","cap":5,"used":5})"};

TEST(HookRules, an_end_a_failure_a_question_and_a_broken_budget_become_notices_of_the_hooks_that_are_on_them) {
  const Payload done = finished("done", ""), failed = finished("failed", "Step 3 (pay) failed: error: no.");
  const Payload aborted = finished("aborted", "cancelled");
  for (const Payload& end : {done, failed, aborted}) EXPECT_EQ(noticed(hook_on({"ended"}), end), NoticeKind::finished);
  EXPECT_EQ(noticed(hook_on({"failed"}), failed), NoticeKind::finished);
  EXPECT_EQ(noticed(hook_on({"failed"}), done), std::nullopt);
  EXPECT_EQ(noticed(hook_on({"failed"}), aborted), std::nullopt);
  EXPECT_EQ(noticed(hook_on({"waits"}), asked_question), NoticeKind::waits);
  EXPECT_EQ(noticed(hook_on({"waits"}), asked_question, false), std::nullopt) << "it is answered at once";
  EXPECT_EQ(noticed(hook_on({"ended", "failed", "budget"}), asked_question), std::nullopt);
  EXPECT_EQ(noticed(hook_on({"budget"}), broke_budget), NoticeKind::budget);
  EXPECT_EQ(noticed(hook_on({"ended", "waits"}), broke_budget), std::nullopt);
  EXPECT_EQ(noticed(hook_on({"stalled"}), done), std::nullopt);
}

TEST(HookRules, a_run_that_ends_by_a_limit_of_its_graph_has_broken_a_budget) {
  const HookDefinition budget = hook_on({"budget"});
  for (const char* reason : {"limit: Expected at most 100000 events of one decision, but more would follow.",
                             "timeout: Expected the run to end within 500 ms, but it has not.",
                             "Expected at most 9 steps, but another opened."})
    EXPECT_EQ(noticed(budget, finished("failed", reason)), NoticeKind::finished) << reason;
  EXPECT_EQ(noticed(budget, finished("failed", "Step 3 (pay) failed: timeout: Expected 5 ms.")), std::nullopt);
  EXPECT_EQ(noticed(budget, finished("failed", "out of stock")), std::nullopt);
  const Json cause = {{"error", "limit"}, {"message", "m"}, {"node", "n"}, {"step", 3}, {"attempt", 1}};
  EXPECT_EQ(noticed(budget, finished("failed", "limit: Expected at most 5 bytes, but found 9.", cause)), std::nullopt)
      << "a step failed by a limit of values";
}

TEST(HookRules, the_id_of_an_event_is_its_run_and_number_and_is_read_back) {
  const RunId run = *parse_run_id("0193aa00-0000-7000-8000-000000000001");
  EXPECT_EQ(event_id("h", {run, 7, NoticeKind::finished}), "0193aa00-0000-7000-8000-000000000001/7");
  EXPECT_EQ(event_id("h", {run, 7, NoticeKind::stalled}), "0193aa00-0000-7000-8000-000000000001/7/stalled");
  EXPECT_EQ(event_id("h", {RunId{}, 3, NoticeKind::test}), "test/h/3");
  for (const NoticeId& id : {NoticeId{run, 7, NoticeKind::finished}, NoticeId{run, 9, NoticeKind::stalled},
                             NoticeId{RunId{}, 3, NoticeKind::test}})
    EXPECT_EQ(parse_event_id("h", event_id("h", id)), id);
  for (const char* text : {"", "/", "x/7", "0193aa00-0000-7000-8000-000000000001", "test/other/3", "test/h/",
                           "0193aa00-0000-7000-8000-000000000001/-7", "0193aa00-0000-7000-8000-000000000001/7/late"})
    EXPECT_EQ(parse_event_id("h", text), std::nullopt) << text;
}

TEST(HookRules, pauses_grow_threefold_up_to_six_hours) {
  const HookDefinition hook = hook_of({{"backoff_ms", 5'000}});
  EXPECT_EQ(hook_pause_ms(hook, 1), 5'000);
  EXPECT_EQ(hook_pause_ms(hook, 2), 15'000);
  EXPECT_EQ(hook_pause_ms(hook, 3), 45'000);
  EXPECT_EQ(hook_pause_ms(hook, 12), hook_pause_ms_max);
  EXPECT_EQ(hook_pause_ms(hook, 1'000'000), hook_pause_ms_max);
}

HookAnswer answer_of(std::int32_t status) {
  HookAnswer answer;
  answer.status = status;
  answer.is_success = status / 100 == 2;
  answer.is_gone = status == 410;
  answer.says = answer.is_success ? "" : "The receiver answered " + std::to_string(status) + ".";
  return answer;
}

TEST(HookRules, a_success_delivers_a_failure_waits_and_the_last_attempt_parks) {
  const HookDefinition hook = hook_of({{"attempts", 3}, {"backoff_ms", 1'000}});
  HookDelivery delivery{"h", {RunId{}, 1, NoticeKind::finished}};
  const HookSettlement good = settled_by(hook, delivery, answer_of(204), 0.5);
  EXPECT_EQ(good.delivery.status, DeliveryStatus::delivered);
  EXPECT_EQ(good.delivery.failures, 0);
  HookSettlement bad = settled_by(hook, delivery, answer_of(500), 0.5);
  EXPECT_EQ(bad.delivery.status, DeliveryStatus::waiting);
  EXPECT_EQ(bad.pause_us, 1'000'000);
  EXPECT_EQ(settled_by(hook, delivery, answer_of(500), 0).pause_us, 800'000) << "jitter";
  bad = settled_by(hook, bad.delivery, answer_of(404), 0.5);
  EXPECT_EQ(bad.pause_us, 3'000'000);
  EXPECT_EQ(bad.delivery.answer, 404);
  bad = settled_by(hook, bad.delivery, answer_of(0), 0.5);
  EXPECT_EQ(bad.delivery.status, DeliveryStatus::parked);
  EXPECT_EQ(bad.delivery.failures, 3);
}

TEST(HookRules, a_receiver_that_asks_for_a_pause_has_it_and_one_that_is_gone_parks_nothing) {
  const HookDefinition hook = hook_of({{"attempts", 1}, {"backoff_ms", 1'000}});
  const HookDelivery delivery{"h", {RunId{}, 1, NoticeKind::finished}};
  HookAnswer later = answer_of(503);
  later.retry_after_ms = 90'000;
  const HookDefinition patient = hook_of({{"backoff_ms", 1'000}});
  EXPECT_EQ(settled_by(patient, delivery, later, 0.5).pause_us, 90'000'000);
  later.retry_after_ms = 365LL * 86'400'000;
  EXPECT_EQ(settled_by(patient, delivery, later, 0.5).pause_us, hook_retry_after_ms_max * 1'000) << "a day at most";
  EXPECT_EQ(settled_by(hook, delivery, answer_of(410), 0.5).delivery.status, DeliveryStatus::waiting);
}

TEST(HookRules, a_hook_is_read_back_as_it_was_asked_for) {
  const Json full = {{"url", "https://h.example/in"},
                     {"on", Json::array({"ended", "stalled"})},
                     {"graph", "g"},
                     {"tags", {{"team", "a"}}},
                     {"secret", "CHAT"},
                     {"ordered", true},
                     {"private", false},
                     {"stalled_after_ms", 3'600'000},
                     {"attempts", 5},
                     {"backoff_ms", 100},
                     {"timeout_ms", 2'000}};
  EXPECT_EQ(hook_json(*parse_hook(full)), full);
  EXPECT_EQ(in_words(*parse_hook(full)),
            "sends to https://h.example/in when a run has ended or stands still, of graph g, tagged team=a, in order");
}

TEST(HookRules, what_is_no_hook_is_refused_with_one_sentence) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"url", nullptr}}, "Expected a URL or a command of a hook, but found neither."},
      {{{"command", "true"}}, "Expected a URL or a command of a hook, but found both."},
      {{{"url", "ftp://h/x"}}, "its scheme is neither http nor https"},
      {{{"url", "https://ann:pw@h/x"}}, "it carries a name or a password"},
      {{{"url", "https://h/x#y"}}, "Expected a URL without a # of a hook, but it has one."},
      {{{"on", Json::array()}}, "Expected a list of ended, failed, waits, budget and stalled as on of a hook"},
      {{{"on", Json::array({"never"})}}, "Expected ended, failed, waits, budget or stalled as on of a hook, but found"},
      {{{"on", Json::array({"stalled"})}}, "Expected the time after which a run stands still"},
      {{{"stalled_after_ms", 5'000}}, "Expected stalled among what the hook is on"},
      {{{"attempts", 0}}, "Expected a whole number from 1 to 100 as attempts of a hook, but found 0."},
      {{{"secret", "a b"}}, "Expected the name of a secret"},
      {{{"grahp", "g"}}, "did you mean graph?"},
      {{{"tags", {{"a", 1}}}}, "Expected an object of at most 50 short texts as tags of a hook"},
      {{{"tags", {{std::string("a\0b", 3), "x"}}}}, "Expected text without NUL, but the name of a tag has one."}};
  for (const auto& one : cases) {
    Json asked = {{"url", "https://h.example/in"}, {"on", Json::array({"ended"})}};
    asked.update(one.first);
    const Result<HookDefinition> hook = parse_hook(asked);
    ASSERT_FALSE(hook.ok()) << asked;
    EXPECT_EQ(hook.error().code, Code::invalid);
    EXPECT_NE(hook.error().message.find(one.second), std::string::npos) << hook.error().message;
  }
  EXPECT_EQ(
      parse_hook(
          {{"url", "https://h.example/in"}, {"on", Json::array({"ended"})}, {"tags", {{std::string(1'001, 'k'), "x"}}}})
          .error()
          .message,
      "Expected at most 1000 bytes as the name of a tag, but found 1001.");
  for (const std::string name : {"", "-a", "a b", "../x", "hook@a"}) EXPECT_FALSE(check_hook_name(name).ok()) << name;
  EXPECT_FALSE(check_hook_name(std::string(51, 'a')).ok());
  EXPECT_TRUE(check_hook_name("Chat.team_a-1").ok());
}

}  // namespace
}  // namespace cairn::test

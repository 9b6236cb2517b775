// The parts of a measurement that need no run: checks, replies of the stand-in, files of tasks.
#include "ops/trials/checks.hpp"

#include <gtest/gtest.h>

#include "ops/trials/stand_in.hpp"
#include "ops/trials/task_file.hpp"
#include "tests/ops/program.hpp"

namespace cairn {
namespace {

const Json document = {
    {"status", "done"},
    {"output", {{"answer", "Ann Lee has 1,234.50 EUR and -3 points."}, {"rows", {1, 2, 3}}, {"share", 0.61}}},
    {"plan", {{{"id", "1"}, {"title", "Boil water"}}, {{"id", "2"}, {"title", "Pour"}}}}};

bool holds(const char* check) { return hold_checks(Json::array({Json::parse(check)}), document).ok(); }

TEST(TrialChecks, hold_or_name_what_is_there_instead) {
  for (const char* check :
       {R"({"at": "/status", "is": "done"})", R"({"at": "/status", "in": ["failed", "done"]})",
        R"({"at": "/output/answer", "has": "ann lee"})", R"({"at": "/output/answer", "says": [1234.5, -3]})",
        R"({"at": "/output/answer", "lacks": ["Bob", "Eve"]})", R"({"at": "/output/rows", "count": 3})",
        R"({"at": "/output/share", "number": 0.6, "within": 0.02})", R"({"at": "/plan/*/title", "has": "pour"})",
        R"({"at": "/plan/*/title", "count": 2})", R"({"at": "/plan/0/id", "is": "1"})",
        R"({"at": "/none/*", "count": 0})"})
    EXPECT_TRUE(holds(check)) << check;
  for (const char* check : {R"({"at": "/status", "is": "failed"})", R"({"at": "/output/answer", "says": 1234})",
                            R"({"at": "/output/answer", "lacks": ["Bob", "Lee"]})",
                            R"({"at": "/output/share", "number": 0.6})", R"({"at": "/plan/*/title", "has": "Stir"})",
                            R"({"at": "/plan/7/id", "is": "1"})", R"({"at": "/none", "has": ""})"})
    EXPECT_FALSE(holds(check)) << check;
  const Status held = hold_checks(Json::parse(R"([{"at": "/status", "is": "failed"}])"), document);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().message, R"(Expected {"at":"/status","is":"failed"}, but there is ["done"].)");
}

TEST(TrialChecks, numbers_are_read_however_they_are_written) {
  EXPECT_EQ(numbers_in("In 2024 it was 1,200,000 (12'345.6); a, b, 3,4 and 5."),
            Json({2024, 1200000, 12345.6, 3, 4, 5}));
}

TEST(TrialChecks, what_is_no_check_is_refused_by_its_reason) {
  EXPECT_FALSE(verify_checks(Json::array()));
  for (const char* check : {R"({"is": 1})", R"({"at": "/a"})", R"({"at": "/a", "is": 1, "has": "x"})",
                            R"({"at": "/a", "equals": 1})", R"({"at": "/a", "says": "x"})", R"({"at": "/a", "in": 1})"})
    EXPECT_FALSE(verify_checks(Json::array({Json::parse(check)}))) << check;
}

// --- the stand-in ----------------------------------------------------------------------------------------------------
Json request_with(const Json& data, const Json& schema) {
  Json request = {{"model", "m"}, {"messages", {{{"role", "user"}, {"content", canonical(data)}}}}};
  request["response_format"] = {{"type", "json_schema"}, {"json_schema", {{"name", "verdict"}, {"schema", schema}}}};
  return request;
}

const Json yes_or_no = {{"type", "object"},
                        {"required", {"label"}},
                        {"properties", {{"label", {{"enum", {"yes", "no"}}}}, {"n", {{"type", "integer"}}}}}};

std::string content_of(const LocalAnswer& answer) {
  return Json::parse(answer.body)["choices"][0]["message"].value("content", Json("")).get<std::string>();
}

TEST(StandIn, reads_the_prompt_and_gives_each_fault_once_before_the_reply) {
  StandIn model;
  model.begin({{{"to", "verdict"},
                {"if", "Ann"},
                {"says", {{"label", "yes"}, {"n", "{{#after rows > \"n\":}}"}}},
                {"faults", {"bad_json", "wrong_label", "empty", "away"}}}});
  const LocalRequest request{"POST", "/v1/chat/completions",
                             request_with({{"by", "Ann"}, {"rows", {{{"n", 7}}}}}, yes_or_no).dump()};
  EXPECT_EQ(content_of(model.answer(request)), R"({"label":")");
  EXPECT_EQ(content_of(model.answer(request)), R"({"label":"none_of_these","n":7})");
  EXPECT_EQ(content_of(model.answer(request)), "");
  EXPECT_EQ(model.answer(request).status, 503U);
  EXPECT_EQ(model.faults_left(), 0);
  EXPECT_EQ(content_of(model.answer(request)), R"({"label":"yes","n":7})");
  EXPECT_TRUE(model.complaints().empty());
  EXPECT_EQ(model.answer(request).status, 400U) << "the reply is used up";
  EXPECT_EQ(model.complaints().size(), 1U);
}

TEST(StandIn, a_reply_that_the_schema_of_the_prompt_does_not_allow_is_a_complaint) {
  StandIn model;
  model.begin({{{"to", "verdict"}, {"says", {{"label", "perhaps"}}}},
               {{"to", "verdict"}, {"says", {{"label", "{{after x}}"}}}}});
  const LocalRequest request{"POST", "/", request_with({{"by", "Bob"}}, yes_or_no).dump()};
  EXPECT_EQ(model.answer(request).status, 400U);
  ASSERT_EQ(model.complaints().size(), 1U);
  EXPECT_NE(model.complaints()[0].find("perhaps"), std::string::npos) << model.complaints()[0];
}

// --- files -----------------------------------------------------------------------------------------------------------
std::string refusal_of_file(const std::string& text) {
  const auto folder = program::directory() / "bad_trials";
  std::filesystem::create_directories(folder);
  program::write_file("bad_trials/seven_node.json", text);
  const Result<std::vector<TrialFile>> read = read_trials(folder.string(), {});
  return read ? "" : read.error().message;
}

TEST(TrialFiles, bad_ones_are_refused_in_one_sentence_with_the_task) {
  const std::string good =
      R"({"name": "a", "about": "b", "kind": "easy", "input": {}, "replies": [], "checks": [{"at": "/a", "is": 1}]})";
  EXPECT_EQ(refusal_of_file("{\"tasks\": [" + good + "]}"), "");
  const auto refused = [&](const std::string& text, const std::string& says) {
    const std::string refusal = refusal_of_file(text);
    EXPECT_NE(refusal.find(says), std::string::npos) << text << "\n" << refusal;
    EXPECT_EQ(refusal.find('\n'), std::string::npos) << refusal;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = "{\"tasks\": [" + good + "]}";
    return text.replace(text.find(from), from.size(), to);
  };
  refused("{", "Expected");
  refused("[]", "Expected {\"tasks\"");
  refused(R"({"tasks": []})", "Expected {\"tasks\"");
  refused("{\"tasks\": [" + good + ", " + good + "]}", "another one has its name");
  refused(with("\"easy\"", "\"odd\""), "its kind");
  refused(with("\"replies\": []", "\"replies\": [{\"to\": \"x\"}]"), "says nothing");
  refused(with("\"replies\": []", R"("replies": [{"to": "x", "says": 1, "faults": ["odd"]}])"), "no fault odd");
  refused(with("\"replies\": []", "\"replies\": [], \"more\": 1"), "unknown \"more\"");
  refused(with("\"replies\": []", "\"replies\": [], \"repository\": \"x\""), "no repository x");
  refused(with("[{\"at\": \"/a\", \"is\": 1}]", "[]"), "there are no checks");
  refused(std::string(tasks_bytes_max + 1, ' '), "Expected at most");
  EXPECT_FALSE(read_trials((program::directory() / "none").string(), {}));
  EXPECT_FALSE(read_trials(program::directory().string(), {"tool_agent"}));
}

}  // namespace
}  // namespace cairn

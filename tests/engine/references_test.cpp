// References in settings, and the refusal or the default of one that is missing.
#include "engine/references.hpp"

#include <ctime>
#include <gtest/gtest.h>
#include <string>

#include "engine/json.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

std::optional<Json> channels(std::string_view channel) {
  if (channel == "plan") return Json{{"steps", {"a", "b"}}, {"n/m", 7}, {"none", nullptr}};
  if (channel == "name") return Json("Ann");
  return std::nullopt;
}
Result<Json> now(const Json& setting) { return resolve_references(setting, channels, language_now); }

std::string said_of_missing(const Json& setting) {
  const Result<Json> found = now(setting);
  if (found) return "found " + found->dump();
  EXPECT_EQ(found.error().code, Code::invalid);
  return found.error().message;
}

TEST(References, channels_stand_for_their_values) {
  const Json value = {{"whole", "$plan"},
                      {"part", "$plan/steps/1"},
                      {"escaped", "$plan/n~1m"},
                      {"null", "$plan/none"},
                      {"text", "is $plan"},
                      {"dollars", "$$plan"},
                      {"alone", "$"},
                      {"number", 5},
                      {"list", {"$plan/steps", {{"deep", "$plan/steps/0"}}}}};
  const Json expected = {{"whole", *channels("plan")},
                         {"part", "b"},
                         {"escaped", 7},
                         {"null", nullptr},
                         {"text", "is $plan"},
                         {"dollars", "$plan"},
                         {"alone", "$"},
                         {"number", 5},
                         {"list", {{"a", "b"}, {{"deep", "a"}}}}};
  EXPECT_EQ(*now(value), expected);
}

TEST(References, what_is_missing_is_named) {
  EXPECT_EQ(said_of_missing(Json("$sise")), "Expected channel sise to be there, but nothing wrote it.");
  EXPECT_EQ(said_of_missing({{"size", {"$sise"}}}), "Expected channel sise to be there, but nothing wrote it.");
  EXPECT_EQ(said_of_missing(Json("$plan/steps/9")), "Expected channel plan to hold /steps/9, but it does not.");
  EXPECT_EQ(said_of_missing(Json("$name/x")), "Expected channel name to hold /x, but it does not.");
  EXPECT_EQ(said_of_missing(Json("$plan/~2")), "Expected channel plan to hold /~2, but it does not.");
  EXPECT_EQ(said_of_missing({{"$", "sise"}}), "Expected channel sise to be there, but nothing wrote it.");
  EXPECT_EQ(said_of_missing(Json("Size {{sise}}")), "Expected channel sise to be there, but nothing wrote it.");
}

TEST(References, a_default_stands_for_what_is_missing) {
  EXPECT_EQ(*now({{"$", "plan/steps/0"}, {"default", 0}}), "a");
  EXPECT_EQ(*now({{"$", "sise"}, {"default", 0}}), 0);
  EXPECT_EQ(*now({{"$", "sise"}, {"default", "$name"}}), "$name");
  EXPECT_EQ(*now({{"$", "plan/none"}, {"default", 0}}), nullptr) << "a null that was written is there";
  const Json data = {{"$", "name"}, {"other", 1}};
  EXPECT_EQ(*now(data), data);
  EXPECT_EQ(*now(Json{{"$", 5}}), (Json{{"$", 5}}));
}

TEST(References, a_text_holds_values) {
  EXPECT_EQ(*now("Step {{plan/steps/1}} for {{ name }}."), "Step b for Ann.");
  EXPECT_EQ(*now("{{plan/n~1m}} of {{plan/steps}}"), "7 of [\"a\",\"b\"]");
  EXPECT_EQ(*now("{{plan/none}}"), "null");
  EXPECT_EQ(*now("For {{sise|you}}{{sise|}}{{name|you}}"), "For youAnn");
  EXPECT_EQ(*now("$${{name}}"), "${{name}}");
  EXPECT_EQ(*now("{{{{name}} is {{name}}"), "{{name}} is Ann");
}

TEST(References, braces_that_hold_no_reference_stay) {
  for (const char* text :
       {"{{", "}}", "{{}}", "{{ }}", "{{a b}}", "{{|x}}", "f(){{ return; }}", "{name}", "{{ {name} }}"})
    EXPECT_EQ(*now(text), text);
  EXPECT_EQ(*now("{{ {{name}}"), "{{ Ann");
}

// Runs that began before language 2 keep its rules for ever.
TEST(References, braces_that_do_not_close_are_found_where_a_name_follows) {
  EXPECT_EQ(unclosed_reference(Json::parse(R"({"a": ["{{x}}", "Total {{order/total for {{name}"]})")), "{{order/total");
  EXPECT_EQ(unclosed_reference("{{x}} and {{ cup"), "{{ cup");
  EXPECT_EQ(unclosed_reference("{{cup|you"), "{{cup");
  for (const char* text : {"", "{{", "{{x}}", "{{{{x", "f({{1, 2}})", "a {{(b", "$x{{y", "{{a {{b}}"})
    EXPECT_EQ(unclosed_reference(text), "") << text;
}

TEST(References, language_1_gives_null_and_fills_no_text) {
  const Json setting = {"$sise", "$plan/x", "$name", "$$x", "for {{name}}", {{"$", "name"}}};
  const Json expected = {nullptr, nullptr, "Ann", "$x", "for {{name}}", {{"$", "name"}}};
  EXPECT_EQ(*resolve_references(setting, channels, 1), expected);
}

// H3: a graph of 48 KB composed gigabytes from one channel.
TEST(References, a_composed_value_has_a_bound_of_bytes) {
  const auto read = [](std::string_view) { return std::optional<Json>(std::string(900'000, 'x')); };
  EXPECT_TRUE(resolve_references(Json(37, "$a"), read, language_now).ok());
  const Result<Json> refused = resolve_references(Json(8'000, "$a"), read, language_now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::limit);
  const auto read_numbers = [](std::string_view) { return std::optional<Json>(Json(1'000'000, 7)); };
  EXPECT_FALSE(resolve_references(Json(5, "$a"), read_numbers, language_now));
}

// A2: each step wrapped the value of the one before, until a worker's stack was full.
TEST(References, a_composed_value_has_a_bound_of_levels) {
  const auto read = [](std::string_view) { return std::optional<Json>(nested(199)); };
  EXPECT_EQ(depth_of(*resolve_references(Json::array({"$a"}), read, language_now)), 200);
  const Result<Json> refused = resolve_references(Json::array({Json::array({"$a"})}), read, language_now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::limit);
}

TEST(References, a_text_that_is_filled_has_the_same_bound) {
  const auto read = [](std::string_view) { return std::optional<Json>(std::string(900'000, 'x')); };
  std::string setting;
  for (int i = 0; i < 8'000; ++i) setting += "{{a}}";
  const Result<Json> refused = resolve_references(setting, read, language_now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::limit);
}

// The whole channel was copied for each reference to a part of it: most of an hour for a prompt of 700 KB.
TEST(References, H3_a_channel_is_read_once_however_often_it_is_named) {
  int reads = 0;
  const Json list(1'000, 1);
  const auto read = [&](std::string_view) -> std::optional<Json> {
    ++reads;
    return list;
  };
  const Result<Json> found =
      resolve_references(Json{Json(1'000, "$a/0"), Json(1'000, {{"$", "a/5"}}), "{{a/0}} {{a/1}}"}, read, language_now);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)[0], Json(1'000, 1));
  EXPECT_EQ((*found)[2], "1 1");
  EXPECT_EQ(reads, 1);
}

// The end of braces was looked for from each of their beginnings: minutes for a text of 1 MB.
TEST(References, H3_braces_that_do_not_close_are_gone_through_once) {
  std::string open;
  for (int n = 0; n < 200'000; ++n) open += "{{a ";
  for (const char* end : {"", "}}", " b c}}"}) {
    const std::string text = open + end;
    const std::clock_t began = std::clock();
    const Result<Json> filled = now(text);
    EXPECT_LT(std::clock() - began, 5 * CLOCKS_PER_SEC);
    EXPECT_TRUE(filled || filled.error().code == Code::invalid);
  }
}

TEST(References, are_found_without_a_run) {
  std::string seen;
  const Json setting = Json::parse(R"({"a": "$x/y", "b": [{"$": "z", "default": 1}, {"$": "w"}, {"$": 3}],
                                       "c": "{{m}} and {{n|none}} and {{{{o}} {{ p }}", "d": "$$q {{r}}", "e": "{{1 + 2}}"})");
  each_reference(setting, [&](std::string_view reference, bool may_lack) {
    seen += std::string(reference) + (may_lack ? "? " : " ");
  });
  EXPECT_EQ(seen, "x/y z? w m n? p ");
  EXPECT_TRUE(has_reference(setting));
  EXPECT_FALSE(has_reference(Json::parse(R"({"type": "object", "$ref": "#/a", "pattern": "^a$"})")));
}

}  // namespace
}  // namespace cairn

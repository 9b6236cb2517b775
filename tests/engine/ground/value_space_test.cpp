#include "engine/value_space.hpp"

#include <gtest/gtest.h>

#include "engine/json.hpp"

namespace cairn {
namespace {

std::string kinds_of(const char* schema) { return kinds_in_words(space_of_schema(Json::parse(schema)).kinds); }

TEST(ValueSpace, a_schema_shows_kinds_and_listed_values) {
  const std::string any = kinds_in_words(JsonKinds::any);
  EXPECT_EQ(kinds_of(R"({"type": "integer"})"), "a number");
  EXPECT_EQ(kinds_of(R"({"type": ["string", "null"]})"), "a text or null");
  EXPECT_EQ(kinds_of(R"({"enum": ["a", 1]})"), "a number or a text");
  EXPECT_EQ(kinds_of(R"({"type": "string", "enum": ["a", null]})"), "a text");
  EXPECT_EQ(kinds_of(R"({"const": true})"), "true or false");
  EXPECT_EQ(kinds_of(R"({"anyOf": [{"type": "array"}, {"type": "object"}]})"), "a list or an object");
  EXPECT_EQ(kinds_of(R"({"allOf": [{"type": ["array", "object"]}, {"type": ["object", "null"]}]})"), "an object");
  for (const char* open :
       {"{}", "true", "null", R"({"$ref": "#/x", "type": "string"})", R"({"type": "strng"})",
        R"({"anyOf": [{"type": "string"}, {}]})", R"({"allOf": [{"type": "null"}, {"type": "array"}]})"})
    EXPECT_EQ(kinds_of(open), any) << open;
  EXPECT_EQ(space_of_schema(Json::parse(R"({"enum": ["a", "b"]})")).values->size(), 2u);
  EXPECT_FALSE(space_of_schema(Json::parse(R"({"type": "string"})")).values);
}

TEST(ValueSpace, a_setting_is_what_stands_there_but_for_references) {
  const auto words = [](const Json& setting) { return kinds_in_words(space_of_setting(setting).kinds); };
  const std::string any = kinds_in_words(JsonKinds::any);
  EXPECT_EQ(words("$a/b"), any);
  EXPECT_EQ(words(Json::parse(R"({"$": "a", "default": 1})")), any);
  EXPECT_EQ(words("$$a"), "a text");
  EXPECT_EQ(words("{{a}}"), "a text");
  EXPECT_EQ(words(Json::array()), "a list");
  EXPECT_EQ(words(1.5), "a number");
  EXPECT_EQ(space_of_setting("x").values->front(), "x");
  EXPECT_FALSE(space_of_setting("{{a}}").values);
}

}  // namespace
}  // namespace cairn

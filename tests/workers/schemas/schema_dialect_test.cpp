// Schemas of 2020-12, checked as they mean; the cases are of the kinds of json-schema.org's own test suite.
#include "workers/schemas/schema_dialect.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "workers/schemas/schema_check.hpp"

namespace cairn {
namespace {

void expect_fits(const char* schema, const char* value) {
  const Status fits = check_value(Json::parse(schema), Json::parse(value));
  EXPECT_TRUE(fits) << schema << " " << value << ": " << fits.error().message;
}
void expect_misfit(const char* schema, const char* value) {
  EXPECT_TRUE(check_schema(Json::parse(schema))) << schema;
  EXPECT_FALSE(check_value(Json::parse(schema), Json::parse(value))) << schema << " " << value;
}
std::string left_out(const char* schema) {
  const Status usable = check_schema(Json::parse(schema));
  return usable ? "" : usable.error().message;
}

TEST(SchemaDialect, what_draft_7_says_stays_as_it_is) {
  const Json schema = Json::parse(R"({"properties": {"a": {"items": [{"type": "string"}], "additionalItems": false}},
      "definitions": {"b": {"$ref": "#/definitions/b"}}, "default": {"$ref": "#x", "prefixItems": []}})");
  EXPECT_EQ(in_draft_7(schema).schema, schema);
}

TEST(SchemaDialect, prefixItems_says_what_the_first_items_are_and_items_what_the_others_are) {
  const char* schema = R"({"prefixItems": [{"type": "string"}, {"type": "number"}], "items": {"type": "boolean"}})";
  expect_fits(schema, R"(["a", 1, true])");
  expect_fits(schema, R"(["a"])");
  expect_misfit(schema, R"(["a", 1, 2])");
  expect_misfit(schema, R"([1])");
  expect_misfit(R"({"prefixItems": [true], "items": false})", "[1, 2]");
  expect_fits(R"({"prefixItems": [{"type": "string"}], "properties": {"a": {"$ref": "#/prefixItems/0"}}})",
              R"({"a": "x"})");
}

TEST(SchemaDialect, a_reference_counts_with_what_stands_next_to_it) {
  const char* schema = R"({"$defs": {"name": {"type": "string"}}, "$ref": "#/$defs/name", "minLength": 2})";
  expect_fits(schema, R"("ab")");
  expect_misfit(schema, R"("a")");
  expect_misfit(schema, "12");
  expect_misfit(R"({"$defs": {"n": {"type": "string"}}, "allOf": [{"minLength": 2}], "$ref": "#/$defs/n"})", R"("a")");
}

TEST(SchemaDialect, anchors_are_found_wherever_they_stand) {
  const char* schema = R"({"properties": {"a": {"$ref": "#name"}},
      "$defs": {"deep": {"properties": {"b": {"$anchor": "name", "type": "string"}}}}})";
  expect_fits(schema, R"({"a": "x"})");
  expect_misfit(schema, R"({"a": 1})");
  expect_misfit(
      R"({"$dynamicAnchor": "node", "properties": {"next": {"$dynamicRef": "#node"}, "n": {"type": "number"}}})",
      R"({"next": {"next": {"n": "x"}}})");
}

TEST(SchemaDialect, what_one_property_requires_of_others) {
  const char* schema = R"({"dependentRequired": {"card": ["address"]},
      "dependentSchemas": {"card": {"properties": {"address": {"type": "string"}}}}})";
  expect_fits(schema, R"({"address": 1})");
  expect_fits(schema, R"({"card": 1, "address": "x"})");
  expect_misfit(schema, R"({"card": 1})");
  expect_misfit(schema, R"({"card": 1, "address": 2})");
}

TEST(SchemaDialect, unevaluatedProperties_sees_what_allOf_and_references_evaluate) {
  const char* schema = R"({"allOf": [{"properties": {"a": {}}}, {"$ref": "#/$defs/more"}], "properties": {"c": {}},
      "$defs": {"more": {"patternProperties": {"^b": {}}}}, "unevaluatedProperties": false})";
  expect_fits(schema, R"({"a": 1, "b": 2, "b2": 2, "c": 3})");
  expect_misfit(schema, R"({"d": 1})");
  expect_misfit(R"({"properties": {"a": {}}, "unevaluatedProperties": {"type": "number"}})", R"({"b": "x"})");
  expect_fits(R"({"allOf": [{"additionalProperties": true}], "unevaluatedProperties": false})", R"({"x": 1})");
  expect_misfit(R"({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}},
      "unevaluatedProperties": false})",
                R"({"a": 1, "c": 2})");
}

TEST(SchemaDialect, unevaluatedItems_sees_the_longest_prefix) {
  const char* schema = R"({"allOf": [{"prefixItems": [{}, {}]}], "prefixItems": [{}], "unevaluatedItems": false})";
  expect_fits(schema, "[1, 2]");
  expect_misfit(schema, "[1, 2, 3]");
  expect_fits(R"({"items": {}, "unevaluatedItems": false})", "[1]");
}

TEST(SchemaDialect, minContains_of_0_asks_for_nothing) {
  expect_fits(R"({"contains": {"type": "string"}, "minContains": 0})", "[1]");
  expect_misfit(R"({"contains": {"type": "string"}, "minContains": 1})", "[1]");
}

TEST(SchemaDialect, what_cannot_be_checked_is_refused_by_its_name_and_says_nothing_of_values) {
  const char* depends = R"({"anyOf": [{"properties": {"a": {}}}, true], "unevaluatedProperties": false})";
  EXPECT_EQ(left_out(depends),
            "Expected a JSON Schema that can be used, but unevaluatedProperties is not known where it depends on the "
            "value.");
  expect_fits(depends, R"({"b": 1})");
  EXPECT_NE(left_out(R"({"contains": {}, "unevaluatedItems": false})").find("unevaluatedItems"), std::string::npos);
  EXPECT_EQ(left_out(R"({"contains": {}, "properties": {"a": {}}, "unevaluatedProperties": false})"), "");
  EXPECT_NE(left_out(R"({"items": {"contains": {}, "maxContains": 2}})").find("maxContains"), std::string::npos);
  EXPECT_NE(left_out(R"({"contains": {}, "minContains": 2})").find("minContains"), std::string::npos);
  EXPECT_NE(left_out(R"({"$dynamicRef": "#none"})").find("$dynamicRef"), std::string::npos);
}

// Each level of them is said twice in draft 7: 40 levels, 2 KB of text, took all memory of a process.
TEST(SchemaDialect, H2_nested_keywords_that_are_said_twice_are_bounded) {
  const auto nested = [](const std::function<Json(Json)>& within, int levels) {
    Json schema = true;
    for (int n = 0; n < levels; ++n) schema = within(std::move(schema));
    return schema;
  };
  const std::vector<std::function<Json(Json)>> ways = {[](Json inner) {
                                                         return Json{{"prefixItems", Json::array({std::move(inner)})}};
                                                       },
                                                       [](Json inner) {
                                                         return Json{{"dependentSchemas", {{"a", std::move(inner)}}}};
                                                       },
                                                       [](Json inner) {
                                                         return Json{{"unevaluatedProperties", std::move(inner)}};
                                                       },
                                                       [](Json inner) {
                                                         return Json{{"unevaluatedItems", std::move(inner)}};
                                                       }};
  for (const auto& way : ways) {
    EXPECT_TRUE(check_schema(nested(way, 5)));
    const Status refused = check_schema(nested(way, 60));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("nested in one another too deep"), std::string::npos)
        << refused.error().message;
  }
  const auto moved = [](Json inner) { return Json{{"prefixItems", {true}}, {"items", std::move(inner)}}; };
  EXPECT_TRUE(check_schema(nested(moved, 60))) << "what follows the first items is said once";
}

TEST(SchemaDialect, a_schema_that_refers_to_itself_ends) {
  expect_misfit(R"({"properties": {"next": {"$ref": "#"}}, "unevaluatedProperties": false})", R"({"next": {"x": 1}})");
  EXPECT_NE(left_out(R"({"$ref": "#", "type": "object"})").find("without end"), std::string::npos);
}

}  // namespace
}  // namespace cairn

#include "workers/schemas/schema_check.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

Json json(const char* text) { return Json::parse(text); }

std::string sentence_of(const Status& status) { return status ? "" : status.error().message; }

std::string fault(const char* schema, const Json& value) { return sentence_of(check_value(json(schema), value)); }

bool says(const std::string& sentence, const std::string& part) { return sentence.find(part) != std::string::npos; }

TEST(SchemaCheck, a_null_schema_allows_everything) {
  EXPECT_TRUE(check_value(nullptr, json(R"({"any": [1, null]})")).ok());
  EXPECT_TRUE(check_schema(nullptr).ok());
}

TEST(SchemaCheck, a_value_that_fits_has_no_fault) {
  const char* schema = R"({"type": "object", "required": ["owners"], "additionalProperties": false,
      "properties": {"owners": {"type": "array", "minItems": 1, "items": {"type": "string"}}}})";
  EXPECT_EQ(fault(schema, json(R"({"owners": ["ann"]})")), "");
}

TEST(SchemaCheck, a_fault_names_the_place_what_was_expected_and_what_was_found) {
  const char* schema = R"({"properties": {"owners": {"items": {"$ref": "#/definitions/name"}}},
      "definitions": {"name": {"type": "string"}}})";
  const std::string sentence = fault(schema, json(R"({"owners": ["ann", 5]})"));
  EXPECT_TRUE(says(sentence, "/owners/1")) << sentence;
  EXPECT_TRUE(says(sentence, R"({"type":"string"})")) << sentence;
  EXPECT_TRUE(says(sentence, "found 5")) << sentence;
}

TEST(SchemaCheck, a_fault_names_the_part_of_a_tuple_or_of_other_properties) {
  const char* tuple = R"({"prefixItems": [{"type": "string"}, {"type": "number"}], "items": {"type": "boolean"}})";
  EXPECT_TRUE(says(fault(tuple, json("[1]")), R"(the value at /0 to fit {"type":"string"}, but found 1)"));
  EXPECT_TRUE(says(fault(tuple, json(R"(["a", "b"])")), R"(the value at /1 to fit {"type":"number"}, but found "b")"));
  EXPECT_TRUE(says(fault(tuple, json(R"(["a", 1, 2])")), R"(the value at /2 to fit {"type":"boolean"}, but found 2)"));
  const char* map = R"({"properties": {"n": {}}, "additionalProperties": {"type": "integer"}})";
  EXPECT_TRUE(says(fault(map, json(R"({"n": 1, "m": "x"})")), R"(at /m to fit {"type":"integer"}, but found "x")"));
}

// It stood after the schema, which may be long, and after the value.
TEST(SchemaCheck, a_missing_property_comes_first_and_then_what_the_schema_says_of_it) {
  const char* schema = R"({"items": {"required": ["id", "price"], "properties": {"price": {"minimum": 0}}}})";
  EXPECT_EQ(fault(schema, json(R"([{"id": 1}])")),
            "Expected \"price\" in the value at /0 to fit {\"minimum\":0}, but found {\"id\":1} (Missing required "
            "property 'price').");
  EXPECT_EQ(fault(R"({"required": ["it's"]})", json("{}")),
            "Expected \"it's\" in the value, but found {} (Missing required property 'it's').");
  const std::string either = fault(R"({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})", json("{}"));
  EXPECT_TRUE(says(either, "Expected the value to fit {\"anyOf\"")) << either;
}

TEST(SchemaCheck, a_property_that_is_not_allowed_comes_first_and_then_what_may_be_meant) {
  const char* schema = R"({"properties": {"name": {}}, "additionalProperties": false})";
  const std::string sentence = fault(schema, json(R"({"nmae": 1})"));
  EXPECT_TRUE(says(sentence, "Expected no \"nmae\" (did you mean name?) in the value, but found {\"nmae\":1} ("))
      << sentence;
}

TEST(SchemaCheck, each_kind_of_constraint_is_checked) {
  EXPECT_NE(fault(R"({"type": "integer"})", 1.5), "");
  EXPECT_NE(fault(R"({"required": ["a"]})", json("{}")), "");
  EXPECT_NE(fault(R"({"enum": ["a", "b"]})", "c"), "");
  EXPECT_NE(fault(R"({"const": 3})", 4), "");
  EXPECT_NE(fault(R"({"minimum": 0, "maximum": 1})", 2), "");
  EXPECT_NE(fault(R"({"exclusiveMinimum": 0})", 0), "");
  EXPECT_NE(fault(R"({"minLength": 2})", "a"), "");
  EXPECT_NE(fault(R"({"maxItems": 1})", json("[1, 2]")), "");
  EXPECT_NE(fault(R"({"uniqueItems": true})", json("[1, 1]")), "");
  EXPECT_NE(fault(R"({"additionalProperties": false})", json(R"({"x": 1})")), "");
  EXPECT_NE(fault(R"({"anyOf": [{"type": "string"}, {"type": "null"}]})", 1), "");
  EXPECT_NE(fault(R"({"oneOf": [{"type": "number"}, {"minimum": 1}]})", 2), "");
  EXPECT_NE(fault(R"({"not": {"type": "string"}})", "x"), "");
  EXPECT_NE(fault(R"({"if": {"type": "string"}, "then": {"minLength": 3}})", "ab"), "");
  EXPECT_NE(fault(R"({"patternProperties": {"^n_": {"type": "number"}}})", json(R"({"n_a": "x"})")), "");
  EXPECT_NE(fault("false", 1), "");
  EXPECT_EQ(fault("true", 1), "");
}

TEST(SchemaCheck, a_pattern_is_searched_in_the_whole_string) {
  EXPECT_EQ(fault(R"({"pattern": "^[a-z]+$"})", "abc"), "");
  EXPECT_NE(fault(R"({"pattern": "^[a-z]+$"})", "abc\nDEF"), "");
  EXPECT_EQ(fault(R"({"pattern": "^[a-z]+$"})", 5), "") << "a pattern says nothing of a number";
}

TEST(SchemaCheck, a_pattern_over_a_long_string_does_not_overflow_the_stack) {
  EXPECT_EQ(fault(R"({"pattern": "^[ab]*$"})", std::string(1'000'000, 'a')), "");
  EXPECT_TRUE(says(fault(R"({"pattern": "^(a|b)*$"})", std::string(1'000'000, 'a')), "Expected to check"));
  EXPECT_NE(fault(R"({"propertyNames": {"pattern": "^(a|b)*$"}})", Json{{std::string(1'000'000, 'a'), 1}}), "");
}

TEST(SchemaCheck, a_pattern_that_explodes_is_given_up) {
  EXPECT_TRUE(says(fault(R"({"pattern": "^(a+)+$"})", std::string(5'000, 'a') + "!"), "Expected to check"));
  // The library gives up one search; many that it does not mind are ours to bound.
  Json keys = Json::object();
  for (int n = 0; n < 20'000; ++n) keys[std::string(1'000, 'a') + std::to_string(n)] = 1;
  EXPECT_TRUE(says(fault(R"({"patternProperties": {"a*a*b": true}})", keys), "2000 ms of processor time"));
}

// H2: one pattern of 95 KB ended the process in std::regex.
TEST(SchemaCheck, a_long_pattern_is_refused_before_it_is_compiled) {
  const std::string longest(256, 'a');
  EXPECT_TRUE(check_schema(Json{{"pattern", longest}}).ok());
  EXPECT_TRUE(says(sentence_of(check_schema(Json{{"pattern", longest + "a"}})), "257 bytes where 256 are allowed"));
  EXPECT_TRUE(says(sentence_of(check_schema(Json{{"pattern", std::string(95'000, 'a')}})), "95000 bytes"));
  EXPECT_FALSE(check_schema(Json{{"patternProperties", {{std::string(95'000, 'a'), true}}}}).ok());
}

// H2: 4 KB of references applied a schema 2^48 times.
TEST(SchemaCheck, references_that_double_are_given_up) {
  Json schema{{"$ref", "#/definitions/a0"}};
  for (int i = 0; i < 48; ++i) {
    const Json next{{"$ref", "#/definitions/a" + std::to_string(i + 1)}};
    schema["definitions"]["a" + std::to_string(i)] = {{"allOf", {next, next}}};
  }
  schema["definitions"]["a48"] = {{"type", "integer"}};
  EXPECT_TRUE(says(sentence_of(check_value(schema, 1)), "2000 ms of processor time"));
}

// H2: std::regex took seconds for a key of 25 bytes.
TEST(SchemaCheck, patterns_of_keys_are_bounded_as_those_of_values) {
  const std::string key = std::string(200, 'a') + "!";
  EXPECT_TRUE(says(fault(R"({"patternProperties": {"^(a|a)*$": true}})", Json{{key, 1}}), "Expected to check"));
  EXPECT_TRUE(says(fault(R"({"propertyNames": {"pattern": "^(a|a)*$"}})", Json{{key, 1}}), "Expected to check"));
  EXPECT_NE(fault(R"({"propertyNames": {"format": "date"}})", json(R"({"x": 1})")), "");
}

// H2: each search stayed below the bound of one, and there were as many as the value had texts.
TEST(SchemaCheck, many_dear_searches_are_given_up_together) {
  const std::string pattern = "^(a|a|b)*$|" + std::string(240, 'x');
  const Json texts(20'000, std::string(14, 'a') + "!");
  EXPECT_NE(sentence_of(check_value(Json{{"items", {{"not", {{"pattern", pattern}}}}}}, texts)), "");
}

// H2: 150,000 numbers took four minutes.
TEST(SchemaCheck, unique_items_are_found_in_one_pass) {
  Json numbers = Json::array();
  for (int i = 0; i < 150'000; ++i) numbers.push_back(i);
  EXPECT_EQ(fault(R"({"uniqueItems": true})", numbers), "");
  numbers.push_back(7);
  EXPECT_TRUE(says(fault(R"({"uniqueItems": true})", numbers), "#7 and #150000"));
  EXPECT_NE(fault(R"({"uniqueItems": true})", json("[1, 1.0]")), "");
  EXPECT_EQ(fault(R"({"uniqueItems": true})", json(R"([1, "1", true, null, [1], {"a": 1}, {"a": 2}])")), "");
}

TEST(SchemaCheck, a_value_with_very_many_faults_is_refused_with_its_first) {
  EXPECT_TRUE(says(fault(R"({"items": {"type": "string"}})", Json(200'000, 1)), "Expected"));
}

TEST(SchemaCheck, properties_patterns_and_others_share_an_object) {
  const char* schema = R"({"properties": {"a": {"type": "string"}}, "patternProperties": {"^n_": {"type": "number"}},
      "additionalProperties": {"type": "boolean"}})";
  EXPECT_EQ(fault(schema, json(R"({"a": "x", "n_b": 1, "c": true})")), "");
  EXPECT_TRUE(says(fault(schema, json(R"({"a": 1})")), "/a"));
  EXPECT_TRUE(says(fault(schema, json(R"({"n_b": "x"})")), "/n_b"));
  EXPECT_TRUE(says(fault(schema, json(R"({"c": 1})")), "/c"));
}

TEST(SchemaCheck, a_format_is_checked_of_strings_alone) {
  EXPECT_EQ(fault(R"({"format": "date"})", "2026-02-28"), "");
  EXPECT_NE(fault(R"({"format": "date"})", "2026-13-01"), "");
  EXPECT_NE(fault(R"({"format": "date-time"})", "yesterday"), "");
  EXPECT_EQ(fault(R"({"format": "time"})", "10:20:30Z"), "");
  EXPECT_EQ(fault(R"({"format": "date"})", 5), "");
}

TEST(SchemaCheck, a_recursive_schema_is_followed_through_the_value) {
  const char* tree = R"({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}},
      "name": {"type": "string"}}, "required": ["name"]})";
  EXPECT_EQ(fault(tree, json(R"({"name": "a", "children": [{"name": "b"}]})")), "");
  EXPECT_NE(fault(tree, json(R"({"name": "a", "children": [{"name": "b", "children": [{}]}]})")), "");
}

TEST(SchemaCheck, a_name_of_the_document_does_not_make_its_own_references_remote) {
  const char* schema = R"({"$id": "https://example.com/x.json", "$ref": "#/definitions/n",
      "definitions": {"n": {"type": "number"}}})";
  EXPECT_EQ(fault(schema, 1), "");
  EXPECT_NE(fault(schema, "x"), "");
}

struct Broken {
  const char* schema;
  const char* because;
};

TEST(SchemaCheck, a_schema_that_cannot_be_used_is_named) {
  for (const Broken& row : {
           Broken{R"("string")", "it is \"string\""},
           Broken{R"([])", "it is []"},
           Broken{R"({"type": "strnig"})", ""},
           Broken{R"({"type": 5})", ""},
           Broken{R"({"properties": []})", ""},
           Broken{R"({"pattern": "("})", "is no regular expression"},
           Broken{R"({"patternProperties": {"[": {}}})", "is no regular expression"},
           Broken{R"({"$ref": "http://127.0.0.1:1/schema.json"})", "not in the same document"},
           Broken{R"({"items": {"$ref": "other.json#/a"}})", "not in the same document"},
           Broken{R"({"$ref": "#/definitions/nowhere"})", "does not exist"},
           Broken{R"({"$ref": "#"})", "refers to itself"},
           Broken{R"({"allOf": [{"$ref": "#"}]})", "refers to itself"},
           Broken{R"({"definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"not": {"$ref": "#/definitions/a"}}}})",
                  "refers to itself"},
       }) {
    const Status checked = check_schema(json(row.schema));
    ASSERT_FALSE(checked.ok()) << row.schema;
    const std::string& broken = checked.error().message;
    EXPECT_TRUE(says(broken, "Expected a JSON Schema that can be used, but ")) << broken;
    EXPECT_TRUE(says(broken, row.because)) << row.schema << ": " << broken;
    EXPECT_EQ(fault(row.schema, 1), broken);
  }
}

// d0 -> d1 -> ... each through a property.
Json chain_of_references(int length) {
  Json schema = {{"$ref", "#/definitions/d0"}, {"definitions", Json::object()}};
  for (int i = 0; i < length; ++i) {
    const Json next = {{"$ref", "#/definitions/d" + std::to_string(i + 1)}};
    schema["definitions"]["d" + std::to_string(i)] = {{"allOf", {{{"properties", {{"x", next}}}}}}};
  }
  schema["definitions"]["d" + std::to_string(length)] = {{"type", "string"}};
  return schema;
}

TEST(SchemaCheck, a_chain_of_references_is_refused_before_it_fills_the_stack) {
  EXPECT_TRUE(says(sentence_of(check_schema(chain_of_references(5'000))), "levels"));
}

TEST(SchemaCheck, a_long_chain_of_references_is_followed) {
  Json value = 1;
  for (int i = 0; i < 60; ++i) value = {{"x", value}};
  EXPECT_TRUE(check_schema(chain_of_references(60)).ok());
  EXPECT_FALSE(check_value(chain_of_references(60), value).ok());
}

TEST(SchemaCheck, many_references_to_few_places_are_fine) {
  Json schema = {{"properties", Json::object()}, {"definitions", {{"name", {{"type", "string"}}}}}};
  for (int i = 0; i < 2'000; ++i) schema["properties"]["p" + std::to_string(i)] = {{"$ref", "#/definitions/name"}};
  EXPECT_TRUE(check_schema(schema).ok());
  EXPECT_FALSE(check_value(schema, {{"p7", 5}}).ok());
}

}  // namespace
}  // namespace cairn

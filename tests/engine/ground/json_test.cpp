#include "engine/json.hpp"

#include <gtest/gtest.h>

#include "engine/corrupt_history.hpp"
#include "engine/json_scan.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

Json value_of(std::string_view text) {
  auto value = parse_json(text, "input");
  EXPECT_TRUE(value.ok()) << text << ": " << value.error().message;
  return value.ok() ? *value : Json();
}

std::string refusal_of(std::string_view text) {
  const auto value = parse_json(text, "input");
  EXPECT_FALSE(value.ok()) << text;
  if (value.ok()) return "";
  EXPECT_EQ(value.error().code, Code::invalid);
  return value.error().message;
}

TEST(Json, reads_what_it_writes) {
  for (const char* text :
       {"null", "true", "0", "-9223372036854775808", "9223372036854775807", "18446744073709551615", "1.5", "\"\"", "[]",
        "{}", R"({"a":[1,{"b":[]},"é😀"],"b":null,"c":{"d":{"e":-0.25}}})", R"("\u0001\t\"\\/")"}) {
    EXPECT_EQ(canonical(value_of(text)), text);
  }
}

TEST(Json, keys_are_sorted_and_spaces_go) {
  EXPECT_EQ(canonical(value_of(" { \"b\" : 1 , \"a\" : [ 1 , 2 ] } \n")), R"({"a":[1,2],"b":1})");
}

TEST(Json, minus_zero_is_a_number) { EXPECT_EQ(canonical(value_of("[-0.0]")), "[-0.0]"); }

// The quick reader reads every text that it accepts as the parser does.
TEST(PlainJson, reads_what_we_write_as_the_parser_does) {
  for (const char* text :
       {"null", "true", "false", "0", "7", "-7", "123456789012345678", "-123456789012345678", "\"\"", "\"a b\"",
        R"("a \"quote\", a \\ and \b\f\n\r\t\/ behind a long beginning without any")", "[]", "{}", "[[],[{}]]",
        R"({"a":[1,{"b":[]},"x"],"b":null,"c":{"d":{"e":-25}}})", R"({"":"","a":true,"b":false})"}) {
    const std::optional<Json> read = read_plain_json(text);
    ASSERT_TRUE(read) << text;
    const Json parsed = Json::parse(text);
    EXPECT_EQ(*read, parsed) << text;
    EXPECT_EQ(read->type(), parsed.type()) << text;
    EXPECT_EQ(read->dump(), parsed.dump()) << text;
  }
}

TEST(PlainJson, leaves_all_else_to_the_parser) {
  for (const std::string text : {"",
                                 " 1",
                                 "1 ",
                                 "01",
                                 "-0",
                                 "-",
                                 "1.5",
                                 "1e3",
                                 "1234567890123456789",
                                 "18446744073709551615",
                                 "tru",
                                 "nul",
                                 "x",
                                 "\"",
                                 "\"a",
                                 "\"\\\"",
                                 "\"\\u0041\"",
                                 "\"\\x\"",
                                 "\"\xc3\xa9\"",
                                 "\"\xff\"",
                                 "\"tab\there\"",
                                 "[",
                                 "[1",
                                 "[1,]",
                                 "[,1]",
                                 "[1}",
                                 "{",
                                 "{\"a\"",
                                 "{\"a\":",
                                 "{\"a\":1",
                                 "{\"a\":1,}",
                                 "{\"a\":1]",
                                 "{a:1}",
                                 "{\"b\":1,\"a\":2}",
                                 "{\"a\":1,\"a\":2}",
                                 "[1] ",
                                 "[1]x"})
    EXPECT_FALSE(read_plain_json(text)) << text;
  EXPECT_FALSE(read_plain_json(std::string("\"a\0b\"", 5)));
  EXPECT_FALSE(read_plain_json(std::string("1\0", 2)));
  EXPECT_TRUE(read_plain_json(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(read_plain_json(std::string(65, '[') + std::string(65, ']')));
}

TEST(PlainJson, finds_the_end_of_a_string_wherever_it_is) {
  for (std::size_t before = 0; before < 20; ++before)
    for (const char special : {'"', '\n', '\x1f', '\x80', '\x7f'}) {
      const std::string text = "\"" + std::string(before, 'x') + special + std::string(20 - before, 'y') + "\"";
      const Json parsed = Json::parse(text, nullptr, false);
      const std::optional<Json> read = read_plain_json(text);
      EXPECT_EQ(read.has_value(), !parsed.is_discarded()) << text;
      if (read) {
        EXPECT_EQ(*read, parsed);
      }
    }
}

TEST(PlainJson, finds_what_is_behind_a_string_with_quotes_in_it) {
  EXPECT_EQ(after_string(R"(ab",)", 0), 3U);
  EXPECT_EQ(after_string(R"("ab",)", 1), 4U);
  EXPECT_EQ(after_string(R"(a\"b",)", 0), 5U);
  EXPECT_EQ(after_string(R"(a\\",)", 0), 4U);
  EXPECT_EQ(after_string(R"(a\\\"")", 0), 6U);
  for (const char* open : {"", "ab", "a\\", "a\\\""}) EXPECT_EQ(after_string(open, 0), std::string_view(open).size());
}

TEST(Json, refuses_broken_text_with_the_byte) {
  EXPECT_EQ(refusal_of(""), "Expected input to be JSON, but found end of input at byte 1.");
  EXPECT_EQ(refusal_of("{\"a\":}"), "Expected input to be JSON, but found '}' at byte 6.");
  EXPECT_EQ(refusal_of("[1,2"), "Expected input to be JSON, but found end of input at byte 5.");
  EXPECT_EQ(refusal_of("[1] x"), "Expected input to be JSON, but found invalid literal at byte 5.");
  EXPECT_EQ(refusal_of("{'a':1}"), "Expected input to be JSON, but found invalid literal at byte 2.");
}

TEST(Json, refuses_text_that_is_not_utf8) {
  EXPECT_EQ(refusal_of("[\"\xff\"]"),
            "Expected input to be JSON, but found invalid string: ill-formed UTF-8 byte at byte 3.");
  EXPECT_NE(refusal_of("\"\\ud800\""), "");
  EXPECT_NE(refusal_of("[\"\xc0\xaf\"]"), "");
}

TEST(Json, refuses_an_integer_beyond_64_bits) {
  EXPECT_EQ(refusal_of("[18446744073709551616]"),
            "Expected input to be JSON, but found an integer beyond 64 bits at byte 22.");
  EXPECT_NE(refusal_of("-9223372036854775809"), "");
  EXPECT_NE(refusal_of("{\"a\":123456789012345678901234567890}"), "");
  EXPECT_EQ(value_of("123456789012345678901234567890.0"), 123456789012345678901234567890.0);
}

TEST(Json, refuses_a_number_beyond_a_double) {
  EXPECT_EQ(refusal_of("1e999"), "Expected input to be JSON, but found number overflow parsing '1e999' at byte 5.");
}

TEST(Json, refuses_a_key_twice_in_one_object) {
  EXPECT_EQ(refusal_of(R"({"a":1,"b":2,"a":3})"),
            "Expected input to be JSON, but found the key \"a\" twice in one object at byte 16.");
  EXPECT_NE(refusal_of(R"([{"x":{"a":[],"a":[]}}])"), "");
  EXPECT_EQ(canonical(value_of(R"([{"a":1},{"a":{"a":2}}])")), R"([{"a":1},{"a":{"a":2}}])");
}

TEST(Json, refuses_nul_in_strings_and_keys) {
  EXPECT_EQ(refusal_of("[\"a\\u0000b\"]"),
            "Expected input to be JSON, but found the character NUL in a string at byte 11.");
  EXPECT_NE(refusal_of("{\"\\u0000\":1}"), "");
}

TEST(Json, a_nul_byte_is_not_taken_for_the_end_of_the_text) {
  EXPECT_EQ(refusal_of(std::string_view("[1]\0 x", 6)),
            "Expected input to be JSON, but found the character NUL at byte 4.");
}

TEST(Json, refuses_what_is_too_deep) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_TRUE(parse_json(nested(json_depth_max), "input").ok());
  EXPECT_EQ(refusal_of(nested(json_depth_max + 1)),
            "Expected input to be JSON, but found more than 200 levels of arrays and objects at byte 201.");
  EXPECT_NE(refusal_of(nested(1'000'000)), "");
}

TEST(Json, refuses_what_is_too_long) {
  const auto value = parse_json(std::string(json_bytes_max + 1, ' '), "the value");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.error().code, Code::limit);
  EXPECT_EQ(value.error().message, "Expected the value to have at most 16777216 bytes, but it has 16777217.");
}

TEST(Json, stored_text_that_is_no_json_is_a_corrupt_history) {
  EXPECT_EQ(parse_stored("{\"a\":1}"), Json({{"a", 1}}));
  EXPECT_THROW(parse_stored("{\"a\":"), CorruptHistory);
}

TEST(Json, an_excerpt_is_cut_between_characters) {
  EXPECT_EQ(excerpt({{"a", 1}}, 20), R"({"a":1})");
  EXPECT_EQ(excerpt("äääääääääää", 10), "\"äää...");
  EXPECT_EQ(excerpt("abcdefghij", 8), "\"abcd...");
  EXPECT_EQ(excerpt("abcdefghij", 2), "..");
  for (std::size_t size = 0; size < 20; ++size) EXPECT_LE(excerpt("ää😀ää", size).size(), size);
}

// Versions of graphs and cache keys are hashes of these bytes.
TEST(Json, each_character_is_written_as_the_library_writes_it_wherever_it_stands) {
  for (int code = 1; code < 0x80; ++code) {
    for (std::size_t at = 0; at < 20; ++at) {
      std::string value(20, 'a');
      value[at] = static_cast<char>(code);
      ASSERT_EQ(canonical(value), Json(value).dump()) << code << " at " << at;
      value.insert(at, "\"\xc3\xa9\\");
      ASSERT_EQ(canonical(value), Json(value).dump()) << code << " after others at " << at;
    }
  }
}

TEST(Json, canonical_text_is_what_the_library_writes) {
  const std::string words =
      "plain \"quoted\" back\\slash tab\t nul-ish\x01 del\x7f \xc3\xa9 \xe4\xbd\xa0 \xf0\x9f\x98\x80";
  const Json values = {nullptr,
                       true,
                       0,
                       -1,
                       9223372036854775807LL,
                       18446744073709551615ULL,
                       -9223372036854775807LL - 1,
                       1.5,
                       -0.0,
                       1e300,
                       0.1,
                       words,
                       "",
                       Json::object(),
                       Json::array(),
                       {{"", 1}, {words, {words, {{"z", {}}, {"a", -3}}}}}};
  EXPECT_EQ(canonical(values), values.dump());
  for (const Json& value : values) EXPECT_EQ(canonical(value), value.dump());
  EXPECT_THROW(canonical("\xff"), Json::exception);
}

}  // namespace
}  // namespace cairn

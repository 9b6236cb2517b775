// Secrets by name: where they come from, and that nothing that comes back shows one.
#include "workers/ports/secrets.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "storage/ground/base64.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn {
namespace {

constexpr const char* value = "s3cr+t/\"k\\y %41";  // with everything that has an escape

class WithVariable {
 public:
  WithVariable(const char* name, const std::string& text) : name_(name) { ::setenv(name, text.c_str(), 1); }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;
  ~WithVariable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

Result<Secrets> opened(const std::string& section) {
  auto sources = parse_secrets(Json::parse(section));
  if (!sources) return sources.error();
  return Secrets::open(*std::move(sources));
}

Secrets with_value(const std::string& text) {
  const WithVariable variable("SECRETS_TEST", text);
  Result<Secrets> secrets = opened(R"({"KEY": {"env": "SECRETS_TEST"}})");
  if (!secrets) ADD_FAILURE() << secrets.error().message;
  return secrets ? *std::move(secrets) : Secrets();
}

std::string hex_byte(char c, const char* digits) {
  const auto byte = static_cast<unsigned char>(c);
  return {digits[byte >> 4], digits[byte & 15]};
}

std::string each_as(const std::string& text, const std::string& before, const char* digits) {
  std::string escaped;
  for (const char c : text) escaped += before + hex_byte(c, digits);
  return escaped;
}

TEST(Secrets, come_from_a_variable_and_from_a_file_that_is_read_at_each_use) {
  const testing::TemporaryFolder folder;
  const WithVariable variable("SECRETS_TEST", "from-the-environment");
  const std::string file = folder.write("key", "first-value\n");
  auto secrets = opened(R"({"A": {"env": "SECRETS_TEST"}, "B": {"file": ")" + file + R"("}})");
  ASSERT_TRUE(secrets.ok()) << secrets.error().message;
  EXPECT_EQ(*secrets->value("A"), "from-the-environment");
  EXPECT_EQ(*secrets->value("B"), "first-value");
  folder.write("key", "second-value");
  EXPECT_EQ(*secrets->value("B"), "second-value");
  EXPECT_EQ(secrets->redacted("first-value, second-value"), "***, ***") << "the older one too";
  folder.write("key", "");
  EXPECT_EQ(secrets->value("B").error().error, "secret");
  EXPECT_TRUE(secrets->value("B").error().retryable) << "it may be written just now";
  EXPECT_EQ(secrets->value("C").error().error, "refused");
}

TEST(Secrets, what_is_missing_or_unusable_is_refused_without_its_value) {
  const WithVariable variable("SECRETS_TEST", "two\nlines-of-it");
  const WithVariable small("SECRETS_SMALL", "seven77");
  for (const char* section :
       {R"({"A": {"env": "SECRETS_TEST_NONE"}})", R"({"A": {"env": "SECRETS_TEST"}})",
        R"({"A": {"env": "SECRETS_SMALL"}})", R"({"A": {"file": "/nowhere/at/all"}})", R"({"A": {"file": "/"}})"}) {
    const auto secrets = opened(section);
    ASSERT_FALSE(secrets.ok()) << section;
    const std::string& says = secrets.error().message;
    EXPECT_NE(says.find("\"A\""), std::string::npos) << says;
    EXPECT_EQ(says.find("lines-of-it"), std::string::npos) << says;
    EXPECT_EQ(says.find("seven77"), std::string::npos) << says;
  }
}

TEST(Secrets, a_section_of_another_form_is_refused_and_no_value_in_it_shown) {
  for (const char* section : {"[]", R"({"A": "s3cret-value"})", R"({"A": {"value": "s3cret-value"}})", R"({"A": {}})",
                              R"({"A B": {"env": "X"}})", R"({"A": {"env": ""}})", R"({"A": {"env": 5}})",
                              R"({"A": {"env": "X", "file": "y"}})", R"({"A": {"env": "X", "more": 1}})",
                              R"({"A": {"env": "X", "urls": "https://h"}})", R"({"A": {"env": "X", "urls": ["h"]}})"}) {
    const auto sources = parse_secrets(Json::parse(section));
    ASSERT_FALSE(sources.ok()) << section;
    EXPECT_EQ(sources.error().message.find("s3cret"), std::string::npos) << sources.error().message;
  }
}

TEST(Secrets, go_to_their_urls_only) {
  const WithVariable variable("SECRETS_TEST", "a-long-value");
  const auto secrets =
      opened(R"({"A": {"env": "SECRETS_TEST", "urls": ["https://api.example/v1"]}, "B": {"env": "SECRETS_TEST"}})");
  ASSERT_TRUE(secrets.ok());
  EXPECT_TRUE(secrets->may_go("A", "https://api.example/v1/x"));
  EXPECT_FALSE(secrets->may_go("A", "https://other.example/v1/x"));
  EXPECT_TRUE(secrets->may_go("B", "https://other.example/v1/x"));
  EXPECT_FALSE(secrets->may_go("C", "https://api.example/v1/x"));
}

TEST(Secrets, are_redacted_however_they_are_written) {
  const Secrets secrets = with_value(value);
  const std::string json = Json(value).dump();
  const std::string escaped = json.substr(1, json.size() - 2);
  const std::string twice = Json(json).dump();
  for (const std::string& echo :
       {std::string(value), std::string("s3cr%2Bt%2F%22k%5Cy%20%2541"), std::string("s3cr%2bt%2f%22k%5cy+%2541"),
        each_as(value, "%", "0123456789abcdef"), each_as(value, "%25", "0123456789ABCDEF"), escaped,
        twice.substr(3, twice.size() - 6), each_as(value, "\\u00", "0123456789ABCDEF"),
        each_as(value, "\\\\u00", "0123456789abcdef"), std::string("s3cr+t\\/\\\"k\\\\y %41")}) {
    EXPECT_EQ(secrets.redacted("<" + echo + ">"), "<***>") << echo;
    EXPECT_EQ(secrets.redacted_json(Json{{"a", {echo, 1}}}), (Json{{"a", {"***", 1}}})) << echo;
  }
}

TEST(Secrets, are_redacted_in_the_references_of_a_page) {
  const Secrets secrets = with_value("ab&cd<ef1");
  EXPECT_EQ(secrets.redacted("x ab&amp;cd&lt;ef1 y"), "x *** y");
  const Secrets all = with_value("&ab<\"cd>'&");
  for (const std::string echo :
       {"&ab<\"cd>'&", "&amp;ab&lt;&quot;cd&gt;&apos;&amp;", "&#38;ab&#60;&#34;cd&#62;&#39;&#38;",
        "&#x26;ab&#X3C;&#x22;cd&#x3e;&#x0027;&#x26;", "&amp;amp;ab&amp;lt;&amp;quot;cd&amp;gt;&amp;#39;&amp;amp;"})
    EXPECT_EQ(all.redacted("<" + echo + ">"), "<***>") << echo;
  for (const std::string text : {"&", "&amp", "&#", "&#x;", "&#38", "&#99999999;", "&amp;ab", "a & b &lt; c"})
    EXPECT_EQ(all.redacted(text), text);
}

TEST(Secrets, one_without_a_name_is_redacted_if_it_is_long_enough) {
  const Secrets secrets = Secrets::unnamed(value);
  EXPECT_EQ(secrets.redacted(std::string("It is ") + value + "."), "It is ***.");
  EXPECT_EQ(Secrets::unnamed("1234567").redacted("1234567"), "1234567");
  EXPECT_EQ(Secrets::unnamed("").redacted("1234567"), "1234567");
}

TEST(Secrets, are_redacted_within_base64_whatever_stands_before_them) {
  const std::string token = "tok/en+with~19.chars";
  const Secrets secrets = with_value(token);
  for (const std::string before : {"", "u", "us", "user:", "ann:x:"}) {
    for (const std::string after : {"", "!", "!!", "!!!"}) {
      std::string coded = base64(before + token + after);
      EXPECT_NE(secrets.redacted(coded).find("***"), std::string::npos) << coded;
      // Nothing that is left decodes to four bytes of it.
      const std::string left = secrets.redacted(coded);
      EXPECT_LE(left.size(), base64(before).size() + base64(after).size() + 3 + 2) << left;
      std::replace(coded.begin(), coded.end(), '/', '_');
      std::replace(coded.begin(), coded.end(), '+', '-');
      EXPECT_NE(secrets.redacted("x " + coded).find("***"), std::string::npos) << coded;
    }
  }
}

TEST(Secrets, a_number_or_a_key_that_is_one_is_redacted) {
  const Secrets secrets = with_value("1234567890");
  EXPECT_EQ(secrets.redacted_json(Json::parse(R"({"1234567890": 1234567890, "n": 12345, "x": 91234567890})")),
            Json::parse(R"({"***": "***", "n": 12345, "x": "9***"})"));
}

TEST(Secrets, other_texts_stay_as_they_are) {
  const Secrets secrets = with_value("a-long-secret");
  for (const std::string text :
       {"", "a-long-secre", "%", "%2", "\\", "\\u00", "100% of \\ that +", "a-long-a-long-secre"})
    EXPECT_EQ(secrets.redacted(text), text);
  EXPECT_EQ(Secrets().redacted("anything"), "anything");
}

TEST(Secrets, a_line_is_cut_after_it_was_redacted) {
  const std::string token = "first-half-second-half";
  const Secrets secrets = with_value(token);
  for (std::size_t before = 1; before < 12; ++before) {
    const std::string line = secrets.redacted_line(std::string(before, 'x') + " " + token + " and more", 12);
    EXPECT_EQ(line.find("first"), std::string::npos) << line;
    EXPECT_TRUE(line.ends_with("...")) << line;
  }
  EXPECT_EQ(secrets.redacted_line("\n \n" + token + "\t", 12), "***");
  EXPECT_EQ(secrets.redacted_line(std::string(100, ' ') + "word", 12), "word") << "blanks before it take no place";
  std::string unseen;
  for (int n = 0; n < 12; ++n) unseen += "\u202e";  // three bytes, and shown as one
  EXPECT_EQ(secrets.redacted_line("a" + unseen + "b", 14), "a" + std::string(12, ' ') + "b");
  std::string many;
  for (int n = 0; n < 20; ++n) many += token;
  EXPECT_EQ(secrets.redacted_line(many, 12), "************...");
  EXPECT_EQ(secrets.redacted_line(many + many, 500), std::string(120, '*'));
}

// The redacted text of one that comes in such pieces.
std::string told_of(const Secrets& secrets, const std::vector<std::string>& pieces) {
  RedactedPieces clean(secrets);
  std::string told;
  for (const std::string& piece : pieces) told += clean.add(piece);
  return told;
}

TEST(Secrets, a_value_that_comes_in_pieces_is_found_wherever_it_comes_apart) {
  const Secrets secrets = with_value(value);
  const std::string json = Json(value).dump();
  for (const std::string& echo :
       {std::string(value), std::string("s3cr%252Bt%2F%22k%5Cy+%2541"), each_as(value, "\\u00", "0123456789ABCDEF"),
        json.substr(1, json.size() - 2), std::string("&#115;3cr+t/&amp;quot;k\\y %41"), base64(value)}) {
    const std::string text = "It is <" + echo + "> and ends.";
    const std::string whole = secrets.redacted(text);
    ASSERT_NE(whole.find("***"), std::string::npos) << echo;
    std::vector<std::string> bytes;
    for (const char c : text) bytes.emplace_back(1, c);
    EXPECT_EQ(told_of(secrets, bytes), whole) << echo;
    for (std::size_t cut = 0; cut <= text.size(); ++cut)
      EXPECT_EQ(told_of(secrets, {text.substr(0, cut), text.substr(cut)}), whole) << cut << " of " << text;
  }
}

TEST(Secrets, a_value_that_was_cut_off_is_found_by_the_mark_of_the_cut) {
  const Secrets secrets = with_value("first/half&second");
  EXPECT_EQ(secrets.redacted_cut("<a href=\"/go?with=first%2Fhalf%26s\u2026\">first/half&second</a>"),
            "<a href=\"/go?with=***\u2026\">***</a>");
  EXPECT_EQ(secrets.redacted_cut("It is first/ha... and first/half&amp;sec\u2026"), "It is ***... and ***\u2026");
  for (const char* text : {"first/half", "the first of... all \u2026", "fir\u2026", "...", ""})
    EXPECT_EQ(secrets.redacted_cut(text), text);
  EXPECT_EQ(Secrets().redacted_cut("first/ha..."), "first/ha...");
}

TEST(Secrets, of_a_text_in_pieces_only_what_may_be_a_beginning_waits) {
  const Secrets secrets = with_value("a-long-secret");
  RedactedPieces clean(secrets);
  EXPECT_EQ(clean.add("One, "), "One, ");
  EXPECT_EQ(clean.add("two, a-long"), "two, ");
  EXPECT_EQ(clean.add("-time: "), "a-long-time: ");
  EXPECT_EQ(clean.add("a-long-secret"), "") << "it may be within a longer one";
  EXPECT_EQ(clean.add("."), "***.");
  EXPECT_EQ(clean.add("All!%"), "All!") << "it may be an escape";
  EXPECT_EQ(clean.add(" of it"), "% of i") << "the t may belong to base64";
  const Secrets no_secrets;
  RedactedPieces none(no_secrets);
  EXPECT_EQ(none.add("a-long-secret"), "a-long-secret");
}

TEST(Secrets, a_short_key_is_found_after_its_scheme_and_as_a_word_of_its_own) {
  using Within = Secrets::Within;
  const Secrets key = Secrets::of_key("a1b2c3", Within::answers);
  for (const char* text :
       {"Key: a1b2c3.", "a1b2c3", "(Bearer a1b2c3)", "x=%20a1b2c3&y", "\\na1b2c3", "\\u0022a1b2c3\\\""})
    EXPECT_EQ(key.redacted(text).find("a1b2c3"), std::string::npos) << text;
  for (const char* text : {"xa1b2c3", "a1b2c34", "a1b2c", "\u00e9a1b2c3"}) EXPECT_EQ(key.redacted(text), text);
  EXPECT_EQ(key.redacted_json(Json{{"k", "a1b2c3"}, {"n", 5}}), (Json{{"k", "***"}, {"n", 5}}));
  EXPECT_EQ(told_of(key, {"Key: a1", "b2c", "3", ". Not ", "x", "a1b2c3."}), "Key: ***. Not xa1b2c3.");

  const Secrets word = Secrets::of_key("none", Within::answers);
  EXPECT_EQ(word.redacted("There is none."), "There is none.");
  EXPECT_EQ(word.redacted("Authorization: Bearer none"), "Authorization: ***");
  EXPECT_EQ(word.redacted("Bearer nonesuch"), "Bearer nonesuch");
  const Secrets refused = Secrets::of_key("none", Within::refusals);
  EXPECT_EQ(refused.redacted("Wrong key: none, nonesuch."), "Wrong key: ***, nonesuch.");
  EXPECT_EQ(Secrets::of_key("a", Within::refusals).redacted("a key"), "a key");
  EXPECT_EQ(Secrets::of_key(value, Within::answers).redacted(std::string("x") + value), "x***");
}

TEST(Secrets, a_large_text_is_looked_through_in_time) {
  const Secrets secrets = with_value("aaaaaaaaaaaaaaab");
  const std::string text(1'000'000, 'a');
  EXPECT_EQ(secrets.redacted(text).size(), text.size());
}

}  // namespace
}  // namespace cairn

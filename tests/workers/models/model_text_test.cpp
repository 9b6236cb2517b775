// The value in a model's text, as families of models write it.
#include "workers/models/model_text.hpp"

#include <gtest/gtest.h>
#include <string>

namespace cairn {
namespace {

const Json yes = {{"label", "yes"}, {"why", "a } in \"quotes\""}};

std::string text_of(const Json& value) { return value.dump(); }

TEST(ModelText, json_alone_is_itself) {
  EXPECT_EQ(*json_in_reply(text_of(yes)), yes);
  EXPECT_EQ(*json_in_reply(" \n[1, 2]\n"), (Json{1, 2}));
  EXPECT_EQ(*json_in_reply("\"a {\\\"b\\\": 1}\""), Json("a {\"b\": 1}")) << "a text is a value, too";
}

TEST(ModelText, a_fence_is_taken_off_wherever_it_stands) {
  EXPECT_EQ(*json_in_reply("```json\n" + yes.dump(2) + "\n```"), yes);
  EXPECT_EQ(*json_in_reply("Here it is:\n\n```\n" + text_of(yes) + "\n```\nAnything else?"), yes);
}

TEST(ModelText, thoughts_before_it_do_not_count) {
  EXPECT_EQ(*json_in_reply("<think>Maybe {\"label\": \"no\"}?</think>\n" + text_of(yes)), yes);
  EXPECT_EQ(*json_in_reply("Let me see {\"label\": \"no\"}.\n</think>\n\n```json\n" + text_of(yes) + "\n```"), yes)
      << "the server cut the opening tag";
}

TEST(ModelText, the_first_balanced_object_counts_among_prose) {
  EXPECT_EQ(*json_in_reply("Sure {as you like}! " + text_of(yes) + " And {\"label\": \"no\"}."), yes);
  EXPECT_EQ(*json_in_reply("The answer is " + text_of(yes)), yes);
}

TEST(ModelText, a_part_of_a_reply_that_was_cut_off_is_none) {
  for (const char* text :
       {R"({"steps": [{"label": "yes"}, {"label": "n)", R"({"steps": [{"label": "yes"})",
        R"(Here it is: { "steps": {"label": "yes"}, "why": "half a)", "```json\n{\"steps\": [{\"label\": \"yes\"}"})
    EXPECT_FALSE(json_in_reply(text)) << text;
  EXPECT_EQ(*json_in_reply("Words {in brackets and " + text_of(yes)), yes) << "these brackets hold no member";
}

TEST(ModelText, what_holds_none_is_refused_as_a_whole) {
  for (const char* text : {"", "I cannot say.", "{\"label\": ", "<think>{\"label\"", "[1, 2"}) {
    const Result<Json> none = json_in_reply(text);
    ASSERT_FALSE(none) << text;
    EXPECT_EQ(none.error().code, Code::invalid);
  }
}

TEST(ModelText, a_long_reply_of_brackets_takes_no_time) { EXPECT_FALSE(json_in_reply(std::string(8u << 20, '{'))); }

}  // namespace
}  // namespace cairn

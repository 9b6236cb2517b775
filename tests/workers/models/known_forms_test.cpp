// The forms that an endpoint refused: by a schema's fault, and by its own.
#include "workers/models/known_forms.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

Json numbered(std::size_t number) { return {{"title", std::to_string(number)}}; }

TEST(KnownForms, begin_with_the_strictest) {
  const AskedForm form = KnownForms().form_for("m", numbered(1));
  EXPECT_EQ(form.format, ReplyFormat::json_schema);
  EXPECT_TRUE(form.streams);
}

TEST(KnownForms, a_refused_schema_is_left_alone_until_a_second_one_is_refused) {
  KnownForms forms;
  forms.format_refused("m", numbered(1), ReplyFormat::json_schema);
  forms.format_refused("m", numbered(1), ReplyFormat::json_schema);
  EXPECT_EQ(forms.form_for("m", numbered(1)).format, ReplyFormat::json_object);
  EXPECT_EQ(forms.form_for("m", numbered(2)).format, ReplyFormat::json_schema);
  EXPECT_EQ(forms.form_for("n", numbered(1)).format, ReplyFormat::json_schema);
  forms.format_refused("m", numbered(2), ReplyFormat::json_schema);
  EXPECT_EQ(forms.form_for("m", numbered(3)).format, ReplyFormat::json_object);
  EXPECT_EQ(forms.form_for("n", numbered(3)).format, ReplyFormat::json_schema);
  forms.format_refused("m", numbered(3), ReplyFormat::json_object);
  EXPECT_EQ(forms.form_for("m", numbered(3)).format, ReplyFormat::text);
  EXPECT_EQ(forms.form_for("m", numbered(4)).format, ReplyFormat::json_object);
}

TEST(KnownForms, a_model_that_took_a_schema_is_never_given_up_for_those_of_others) {
  KnownForms forms;
  forms.format_taken("m", ReplyFormat::json_schema);
  for (std::size_t i = 0; i < 5; ++i) forms.format_refused("m", numbered(i), ReplyFormat::json_schema);
  EXPECT_EQ(forms.form_for("m", numbered(4)).format, ReplyFormat::json_object);
  EXPECT_EQ(forms.form_for("m", numbered(5)).format, ReplyFormat::json_schema);
}

TEST(KnownForms, a_schema_that_is_taken_late_brings_the_model_back) {
  KnownForms forms;
  for (std::size_t i = 0; i < 2; ++i) forms.format_refused("m", numbered(i), ReplyFormat::json_schema);
  forms.format_taken("m", ReplyFormat::json_schema);
  EXPECT_EQ(forms.form_for("m", numbered(2)).format, ReplyFormat::json_schema);
  EXPECT_EQ(forms.form_for("m", numbered(1)).format, ReplyFormat::json_object);
}

TEST(KnownForms, forget_what_was_learned_first) {
  KnownForms forms;
  forms.format_taken("m", ReplyFormat::json_schema);
  for (std::size_t i = 0; i <= KnownForms::schemas_max; ++i)
    forms.format_refused("m", numbered(i), ReplyFormat::json_schema);
  EXPECT_EQ(forms.form_for("m", numbered(0)).format, ReplyFormat::json_schema);
  EXPECT_EQ(forms.form_for("m", numbered(1)).format, ReplyFormat::json_object);
  for (std::size_t i = 0; i < KnownForms::models_max; ++i) forms.streams_refused(std::to_string(i));
  EXPECT_EQ(forms.form_for("m", numbered(1)).format, ReplyFormat::json_schema);
  EXPECT_FALSE(forms.form_for("0", Json()).streams);
  EXPECT_TRUE(forms.form_for("m", Json()).streams);
}

}  // namespace
}  // namespace cairn

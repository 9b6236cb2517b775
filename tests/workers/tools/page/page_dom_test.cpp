#include <gtest/gtest.h>

#include "workers/tools/page/action.hpp"
#include "workers/tools/page/dom.hpp"

namespace cairn {
namespace {

TEST(PageDom, elements_have_numbers_labels_and_forms) {
  const PageElements page = read_page(
      "<!-- x --><h1>Patients</h1>\n<form><label>Name</label><INPUT id=4 type='text' name=name value=\"a &amp; b\">"
      "<button id=\"5\"><span>Save</span> it</button></form><p>after</p><script>if (a < b) x();</script>");
  ASSERT_EQ(page.size(), 7U);
  const PageElement* field = find_element(page, 4);
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->attribute("value"), "a & b");
  EXPECT_TRUE(is_field(*field));
  EXPECT_EQ(field->label(), "name");
  EXPECT_EQ(field->form, 1U);
  const PageElement* button = find_labelled(page, "save IT");
  ASSERT_NE(button, nullptr);
  EXPECT_EQ(button->number, 5);
  EXPECT_TRUE(is_button(*button));
  EXPECT_EQ(page.back().text, "after");
  EXPECT_EQ(page.back().form, 0U);
}

TEST(PageDom, any_text_can_be_read) {
  for (const char* text :
       {"", "<", "<a", "<a href", "<a href=", "<a href=\"", "</", "</a>", "<!--", "<p/ x=1 =>", "a < b"})
    EXPECT_LE(read_page(text).size(), 1U) << text;
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<div>";
  EXPECT_EQ(read_page(deep).size(), 100'000U);
}

TEST(PageDom, a_value_typed_and_other_numbers_are_the_same_page) {
  const PageElements before = read_page("<input id=1 name=name value=\"\"><button id=2>Save</button>");
  const PageElements after = read_page("<input id=8 name=name value=\"Jas\"><button id=9>Save</button>");
  EXPECT_EQ(page_similarity(before, after), 1);
  EXPECT_EQ(only_in(after, before, 9), std::vector<std::string>{"input \"name\" = \"Jas\""});
  EXPECT_EQ(page_similarity({}, {}), 1);
}

TEST(PageDom, a_dialog_that_opens_is_seen_though_it_has_no_text_of_its_own) {
  const PageElements page = read_page("<dialog label=Notice><p>Hello</p></dialog>");
  EXPECT_EQ(only_in(page, {}, 9), (std::vector<std::string>{"dialog \"Notice\"", "p \"Hello\""}));
}

TEST(PageDom, lost_structures_are_counted) {
  const PageElements two = read_page("<form label=a></form><form label=a></form><nav>x</nav>");
  EXPECT_EQ(lost_structures(two, read_page("<form label=a></form><nav>y</nav>")).size(), 2U);
  EXPECT_TRUE(lost_structures(two, two).empty());
}

TEST(PageDom, actions_are_read_and_written) {
  for (const char* text :
       {"click(68)", "setValue(101, \"Jas\")", "click(\"Close\")", "setValue(\"Na(me\", \"a, \\\"b\\\")\")"}) {
    const Result<PageAction> action = parse_action(text);
    ASSERT_TRUE(action) << text;
    EXPECT_EQ(action_text(*action), text);
  }
  for (const char* text : {"press(\"Enter\")",
                           "press(5, \"Control+a\")",
                           "scroll(\"down\")",
                           "scroll(3, \"bottom\")",
                           "hover(12)",
                           "drag(4, 7)",
                           "drag(\"Plum\", \"Basket\")",
                           "upload(8, \"a.pdf\")",
                           "select(9, [\"Red\",\"Blue\"])",
                           "waitFor(\"Results\")",
                           "waitFor(\"Results\", 20)",
                           "wait(2)",
                           "back()",
                           "open(\"http://a/\")",
                           "tab(2)",
                           "closeTab(2)",
                           "dialog(\"accept\", \"text\")",
                           "extract(\"the price\")",
                           "setSecret(4, \"pass\")",
                           "doubleClick(1)",
                           "type(7, \" more\")"}) {
    const Result<PageAction> action = parse_action(text);
    ASSERT_TRUE(action) << text;
    EXPECT_EQ(action_text(*action), text);
  }
  for (const char* text : {"press()", "scroll(\"sideways\")", "dialog(\"maybe\")", "tab(0)", "back(1)", "wait(3600)",
                           "open(\"\")", "select(1, [])", "drag(1, 2, 3)", "waitFor(\"x\", \"y\")"})
    EXPECT_FALSE(parse_action(text)) << text;
  EXPECT_EQ(parse_action("setValue(3, 17)")->value, "17");
  for (const char* text :
       {"", "click", "click()", "click(-1)", "click(1, 2)", "setValue(1)", "drag(1)", "click(1.5)", ")("})
    EXPECT_FALSE(parse_action(text)) << text;
}

TEST(PageDom, an_action_is_aimed_at_what_is_there) {
  const PageElements page = read_page("<button id=2>Close</button><input id=3 name=x>");
  EXPECT_EQ(aimed_action(*parse_action("click(\"close\")"), page)->number, 2);
  const PageElements twice = read_page("<button id=2>Like</button><button id=3>Like</button>");
  EXPECT_EQ(aimed_action(*parse_action("click(\"like [2]\")"), twice)->number, 3);
  EXPECT_EQ(aimed_action(*parse_action("upload(3, \"a\")"), page).error().code, Code::invalid);
  EXPECT_EQ(aimed_action(*parse_action("click(9)"), page).error().code, Code::not_found);
  EXPECT_EQ(aimed_action(*parse_action("setValue(2, \"a\")"), page).error().code, Code::invalid);
}

}  // namespace
}  // namespace cairn

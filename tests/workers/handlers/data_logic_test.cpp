// Conditions, operations and maps as data: each with what it gives and what it refuses (ux.md F21).
#include "workers/handlers/data_logic.hpp"

#include <gtest/gtest.h>
#include <iostream>
#include <string>
#include <utility>

#include "tests/thread_seconds.hpp"

namespace cairn {
namespace {

struct Row {
  const char* given;
  const char* expected;  // a value as JSON, or a refusal's sentence
};

std::string text(const Result<Json>& result) { return result ? canonical(*result) : result.error().message; }

Result<bool> holds(const Json& condition) {
  LogicBounds bounds;
  return holds(condition, bounds);
}

Result<Json> compute(const Json& operation) {
  LogicBounds bounds;
  return compute(operation, bounds);
}

Result<Json> map_list(const Json& list, const Json& take, const Json& otherwise, const Json& where) {
  LogicBounds bounds;
  return map_list(list, {take, otherwise, where}, bounds);
}

TEST(DataLogic, conditions) {
  for (const Row& row : {
           Row{R"({"eq":[1,1.0]})", "true"},
           Row{R"({"eq":[{"a":[1]},{"a":[1]}]})", "true"},
           Row{R"({"ne":["a",null]})", "true"},
           Row{R"({"eq":[-1,18446744073709551615]})", "false"},
           Row{R"({"ne":[[{"n":-1}],[{"n":18446744073709551615}]]})", "true"},
           Row{R"({"eq":[[{"n":1}],[{"n":1.0}]]})", "true"},
           Row{R"({"eq":[{"a":1},{"b":1}]})", "false"},
           Row{R"({"eq":[[1],[1,2]]})", "false"},
           Row{R"({"lt":[-1,18446744073709551615]})", "true"},
           Row{R"({"ge":[9223372036854775808,-9223372036854775808]})", "true"},
           Row{R"({"in":[-1,[18446744073709551615]]})", "false"},
           Row{R"({"lt":[2,10]})", "true"},
           Row{R"({"lt":["2","10"]})", "false"},
           Row{R"({"le":[2,2.0]})", "true"},
           Row{R"({"gt":["2026-11-25T08:00:00Z","2026-11-24T09:00:00Z"]})", "true"},
           Row{R"({"ge":[1,2]})", "false"},
           Row{R"({"in":["b",["a","b"]]})", "true"},
           Row{R"({"in":["b",{"a":1}]})", "false"},
           Row{R"({"in":["ell","hello"]})", "true"},
           Row{R"({"exists":null})", "false"},
           Row{R"({"exists":0})", "true"},
           Row{R"({"matches":["order-77","^order-[0-9]+$"]})", "true"},
           Row{R"({"matches":["order-x","^order-[0-9]+$"]})", "false"},
           Row{R"({"and":[{"eq":[1,1]},{"not":{"eq":[1,2]}}]})", "true"},
           Row{R"({"and":[]})", "true"},
           Row{R"({"or":[{"eq":[1,2]},{"eq":[1,1]}]})", "true"},
           Row{R"({"or":[]})", "false"},
           Row{R"({"or":[{"eq":[1,1]},{"lt":[1,"a"]}]})", "true"},
           Row{R"({"lt":[1,"a"]})", "Expected two numbers or two texts to compare, but found [1,\"a\"]."},
           Row{R"({"lt":[1]})", "Expected two values for lt, but found [1]."},
           Row{R"({"equals":[1,1]})", "Expected a known condition, but found {\"equals\":[1,1]}."},
           Row{R"({"eq":[1,1],"ne":[1,1]})", "Expected one operation, but found {\"eq\":[1,1],\"ne\":[1,1]}."},
           Row{R"({})", "Expected an operation, but found {}."},
           Row{R"(true)", "Expected an operation as an object, but found true."},
           Row{R"({"in":[1,5]})", "Expected a list, an object or a text to look in, but found 5."},
           Row{R"({"in":[3,"123"]})", "Expected a text to look for in a text or an object, but found 3."},
           Row{R"({"and":5})", "Expected a list of conditions, but found 5."},
       }) {
    const Result<bool> found = holds(Json::parse(row.given));
    EXPECT_EQ(found ? (*found ? "true" : "false") : found.error().message, row.expected) << row.given;
  }
  EXPECT_FALSE(holds({{"matches", {"a", std::string(300, 'a')}}})) << "a pattern has a bound";
}

TEST(DataLogic, forms_are_checked_before_the_values_are_known) {
  for (const char* fits : {R"({"ge":["$points",80]})", R"({"ge":"$two"})", R"("$condition")", R"({"and":"$all"})",
                           R"({"not":{"exists":{"$":"a/b","default":null}}})", R"({"or":[]})"})
    EXPECT_TRUE(check_condition(Json::parse(fits)).ok()) << fits;
  for (const Row& row :
       {Row{R"({"gte":["$points",80]})",
            "Expected a known condition, but found {\"gte\":[\"$points\",80]} (did you mean gt?); there are eq, ne, "
            "lt, "
            "le, gt, ge, in, matches, exists, and, or, not."},
        Row{R"({"and":[{"equals":[1,2]}]})",
            "Expected a known condition, but found {\"equals\":[1,2]}; there are eq, ne, lt, le, gt, ge, in, matches, "
            "exists, and, or, not."},
        Row{R"({"eq":[1,1],"ne":[1,1]})", "Expected one condition, but found {\"eq\":[1,1],\"ne\":[1,1]}."},
        Row{R"({"not":{"lt":["$a"]}})", "Expected two values for lt, but found [\"$a\"]."},
        Row{R"("always")", "Expected a condition as an object, but found \"always\"."}}) {
    const Status status = check_condition(Json::parse(row.given));
    EXPECT_EQ(status ? "fits" : status.error().message, row.expected) << row.given;
  }
  EXPECT_TRUE(check_operation({{"sum", "$numbers"}}).ok());
  const Status where = check_map("", {{"at", "/n"}, {"greater", 1}});
  EXPECT_EQ(
      where ? "fits" : where.error().message,
      "Expected a known comparison next to \"at\", but found {\"at\":\"/n\",\"greater\":1}; there are eq, ne, lt, "
      "le, gt, ge, in, matches.");
  EXPECT_FALSE(check_operation({{"smu", "$numbers"}}).ok());
  EXPECT_FALSE(check_operation({{"group", "$list"}, {"by", "name"}}).ok()) << "a pointer begins with /";
  EXPECT_TRUE(check_map("/total", {{"at", "/total"}, {"gt", "$least"}}).ok());
  EXPECT_FALSE(check_map("total", nullptr).ok());
  EXPECT_FALSE(check_map("/total", {{"at", "/total"}, {"gte", 10}}).ok());
  EXPECT_FALSE(check_map("/total", {{"at", "/name"}, {"matches", "("}}).ok());
  EXPECT_TRUE(check_map("/total", {{"at", "/name"}, {"matches", "$pattern"}}).ok());
}

TEST(DataLogic, operations) {
  for (const Row& row : {
           Row{R"({"sum":[1,2,3]})", "6"},
           Row{R"({"sum":[1,0.5]})", "1.5"},
           Row{R"({"sum":[]})", "0"},
           Row{R"({"sum":[9223372036854775807,1]})",
               "Expected a result of at most 64 bits, but found [9223372036854775807,1]."},
           Row{R"({"sum":[18446744073709551615]})",
               "Expected a result of at most 64 bits, but found [18446744073709551615]."},
           Row{R"({"sum":[1,"2"]})", "Expected a number, but found \"2\"."},
           Row{R"({"product":[2,3,4]})", "24"},
           Row{R"({"difference":[5,7]})", "-2"},
           Row{R"({"difference":[18446744073709551615,18446744073709551614]})", "1"},
           Row{R"({"difference":[9223372036854775808,1]})", "9223372036854775807"},
           Row{R"({"difference":[18446744073709551615,1]})", "1.8446744073709552e+19"},
           Row{R"({"quotient":[7,2]})", "3.5"},
           Row{R"({"quotient":[7,0]})", "Expected a divisor that is not 0, but found [7,0]."},
           Row{R"({"round":[2.345,2]})", "2.35"},
           Row{R"({"round":[-2.5,0]})", "-3"},
           Row{R"({"round":[7,2]})", "7"},
           Row{R"({"round":[1.005,2]})", "1.01"},
           Row{R"({"round":[-1.005,2]})", "-1.01"},
           Row{R"({"round":[1.0049,2]})", "1.0"},
           Row{R"({"round":[9.995,2]})", "10.0"},
           Row{R"({"round":[-0.001,2]})", "0.0"},
           Row{R"({"round":[0.5,0]})", "1"},
           Row{R"({"round":[1e308,2]})", "1e+308"},
           Row{R"({"round":[5e-324,15]})", "0.0"},
           Row{R"({"round":[7,99]})", "Expected a number and how many digits, 0 to 15, but found [7,99]."},
           Row{R"({"count":[1,2]})", "2"},
           Row{R"({"count":{"a":1}})", "1"},
           Row{R"({"count":"abc"})", "3"},
           Row{R"({"count":5})", "Expected a list, an object or a text to count, but found 5."},
           Row{R"({"min":[3,1,2]})", "1"},
           Row{R"({"max":["a","c","b"]})", "\"c\""},
           Row{R"({"max":[-1,18446744073709551615]})", "18446744073709551615"},
           Row{R"({"max":[]})", "Expected a list of at least one value, but found []."},
           Row{R"({"concat":[[1],[2,3],[]]})", "[1,2,3]"},
           Row{R"({"concat":["a","b"]})", "\"ab\""},
           Row{R"({"concat":["a",["b"]]})", "Expected a list of lists or of texts, but found [\"a\",[\"b\"]]."},
           Row{R"({"join":[["a",1,{"b":2}],", "]})", R"("a, 1, {\"b\":2}")"},
           Row{R"({"sort":[3,1,2]})", "[1,2,3]"},
           Row{R"({"sort":["a",18446744073709551615,-1,0.5]})", R"([-1,0.5,18446744073709551615,"a"])"},
           Row{R"({"sort":[{"n":2,"k":"a"},{"n":1,"k":"b"},{"n":2,"k":"c"}],"by":"/n","descending":true})",
               R"([{"k":"a","n":2},{"k":"c","n":2},{"k":"b","n":1}])"},
           Row{R"({"sort":[{"n":1},{}],"by":"/n"})", "Expected a member /n in each element, but found {}."},
           Row{R"({"sort":[true]})", "Expected numbers or texts to sort by, but found true."},
           Row{R"({"unique":[1,2,1,"1"]})", "[1,2,\"1\"]"},
           Row{R"({"unique":[{"n":1,"k":"a"},{"n":1,"k":"b"}],"by":"/n"})", R"([{"k":"a","n":1}])"},
           Row{R"({"group":[{"n":1},{"n":"x"},{"n":1}],"by":"/n"})", R"({"1":[{"n":1},{"n":1}],"x":[{"n":"x"}]})"},
           Row{R"({"group":[1]})", "Expected a JSON Pointer as \"by\", but found {\"group\":[1]}."},
           Row{R"({"cube":3})", "Expected a known operation, but found {\"cube\":3}."},
       })
    EXPECT_EQ(text(compute(Json::parse(row.given))), row.expected) << row.given;
}

TEST(DataLogic, a_map_takes_parts_and_keeps_what_fits) {
  const Json list = {{{"n", 1}, {"k", "a"}}, {{"n", 2}}, {{"n", 3}, {"k", "c"}}};
  EXPECT_EQ(text(map_list(list, "/n", nullptr, nullptr)), "[1,2,3]");
  EXPECT_EQ(text(map_list(list, "/k", "-", nullptr)), R"(["a","-","c"])");
  EXPECT_EQ(text(map_list(list, "/k", nullptr, nullptr)), "Expected a member /k in each element, but found {\"n\":2}.");
  EXPECT_EQ(text(map_list(list, "/k", nullptr, {{"at", "/k"}})), R"(["a","c"])");
  EXPECT_EQ(text(map_list(list, {{"number", "/n"}, {"key", "/k"}}, "?", {{"at", "/n"}, {"lt", 3}})),
            R"([{"key":"a","number":1},{"key":"?","number":2}])");
  EXPECT_EQ(text(map_list(list, "", nullptr, {{"at", "/n"}, {"eq", 2}})), R"([{"n":2}])");
  EXPECT_EQ(text(map_list(5, "", nullptr, nullptr)), "Expected a list, but found 5.");
  EXPECT_EQ(text(map_list(list, "", nullptr, {{"at", "/n"}, {"and", 2}})),
            "Expected a condition of two values, but found {\"and\":2,\"at\":\"/n\"}.");
}

// H3: a list of one element, taken a thousand times, was made in the memory of the worker before anything was bounded.
TEST(DataLogic, H3_what_a_step_makes_is_bounded_in_bytes) {
  Json all = Json::object(), long_names = Json::object();
  for (int n = 0; n < 2'000; ++n) all["k" + std::to_string(n)] = "";
  for (int n = 0; n < 50; ++n) long_names["k" + std::to_string(n) + std::string(1'000, 'k')] = "";
  const Json zeros(20'000, 0);
  for (const Result<Json>& made :
       {map_list(Json::array({std::string(1'000'000, 'x')}), all, nullptr, nullptr),
        map_list(zeros, "/none", std::string(100'000, 'x'), nullptr), map_list(zeros, long_names, nullptr, nullptr),
        compute({{"join", {zeros, std::string(100'000, 's')}}})}) {
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::limit) << made.error().message;
  }
  EXPECT_TRUE(map_list(zeros, "", nullptr, nullptr));
  EXPECT_TRUE(compute({{"join", {zeros, ", "}}}));
}

// H2: a list that is looked for in itself took minutes of a worker's turn, which ends the worker.
TEST(DataLogic, H2_what_a_step_looks_at_is_bounded_in_processor_time) {
  Json numbers = Json::array();
  for (int n = 0; n < 150'000; ++n) numbers.push_back(n);
  Json conditions(20'000, Json{{"matches", {std::string(2'000, 'a'), "^(a|b|ab)*c"}}});
  LogicBounds bounds;
  const double began = test::thread_seconds();
  const Result<Json> kept = map_list(numbers, {"", nullptr, {{"at", ""}, {"in", numbers}}}, bounds);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::limit) << kept.error().message;
  const Result<bool> one = holds({{"or", std::move(conditions)}});
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code, Code::limit) << one.error().message;
  EXPECT_LT(test::thread_seconds() - began, 20);
}

// It was taken for a text that does not match.
TEST(DataLogic, H2_a_pattern_that_is_given_up_is_an_error_of_the_step) {
  if (test::is_thread_sanitized) {
    std::cout << "skipped: the thread sanitizer makes a step's time shorter than that of a pattern\n";
    return;
  }
  const Json given_up = {{"matches", {std::string(5'000, 'a') + "!", "^(a+)+$"}}};
  for (const Json& condition : {given_up, Json{{"not", given_up}}, Json{{"or", {given_up, {{"eq", {1, 1}}}}}}}) {
    const Result<bool> found = holds(condition);
    ASSERT_FALSE(found) << condition.begin().key();
    EXPECT_EQ(found.error().code, Code::invalid);
    EXPECT_EQ(found.error().message.find("Expected to check"), 0u) << found.error().message;
  }
}

// H2: the usual search of a text takes as long as both texts multiplied.
TEST(DataLogic, H2_a_text_is_looked_for_in_another_in_one_pass) {
  const double began = test::thread_seconds();
  const std::string part = std::string(4'000'000, 'a') + "b";
  const std::string whole(8'000'000, 'a');
  EXPECT_FALSE(*holds({{"in", {part, whole}}}));
  EXPECT_TRUE(*holds({{"in", {part, whole + "b" + whole}}}));
  EXPECT_TRUE(*holds({{"in", {"", "x"}}}));
  EXPECT_LT(test::thread_seconds() - began, 10);
}

}  // namespace
}  // namespace cairn

// The calculator: what it computes, what blocks it, and what it says when it cannot.
#include "workers/planners/venture_scope/formula.hpp"

#include <gtest/gtest.h>
#include <map>

namespace cairn {
namespace {

NamedNumber read(const std::string& name) {
  static const std::map<std::string, double> known = {{"a", 6}, {"b", 3}, {"none", 0}, {"units.sold", 2.5}};
  if (const auto found = known.find(name); found != known.end()) return found->second;
  if (name.starts_with("later")) return NoValueYet{};
  return "Expected a field, but there is none named " + name + ".";
}

double value_of(const std::string& formula) {
  const Calculation made = calculate(formula, read);
  EXPECT_EQ(made.status, CalculationStatus::success) << formula << ": " << made.message;
  return made.value;
}

std::string error_of(const std::string& formula) {
  const Calculation made = calculate(formula, read);
  EXPECT_EQ(made.status, CalculationStatus::error) << formula;
  return made.message;
}

TEST(Formula, computes_with_the_usual_precedence) {
  const std::map<std::string, double> cases = {{"1 + 2 * 3", 7},
                                               {"(1 + 2) * 3", 9},
                                               {"10 - 4 - 3", 3},
                                               {"24 / 4 / 2", 3},
                                               {"2 ^ 3 ^ 2", 512},
                                               {"-2 ^ 2", -4},
                                               {"2 ^ -1", 0.5},
                                               {"2 * -3", -6},
                                               {"--4", 4},
                                               {"1.5e2", 150},
                                               {"a*b - units.sold", 15.5},
                                               {" a\n/ b ", 2}};
  for (const auto& [formula, value] : cases) EXPECT_DOUBLE_EQ(value_of(formula), value) << formula;
}

TEST(Formula, has_a_few_functions) {
  EXPECT_DOUBLE_EQ(value_of("min(a, b, 4)"), 3);
  EXPECT_DOUBLE_EQ(value_of("max(a, b, 4)"), 6);
  EXPECT_DOUBLE_EQ(value_of("sum(a, b, 4)"), 13);
  EXPECT_DOUBLE_EQ(value_of("mean(a, b)"), 4.5);
  EXPECT_DOUBLE_EQ(value_of("abs(b - a)"), 3);
  EXPECT_DOUBLE_EQ(value_of("sqrt(a + b)"), 3);
  EXPECT_DOUBLE_EQ(value_of("round(units.sold)"), 3);
  EXPECT_DOUBLE_EQ(value_of("round(1.2345, 2)"), 1.23);
}

TEST(Formula, the_first_missing_name_blocks_it) {
  const Calculation made = calculate("a * later.b + later.a", read);
  EXPECT_EQ(made.status, CalculationStatus::blocked);
  EXPECT_EQ(made.blocked_path, "later.b");
  EXPECT_EQ(made.message, "Expected a value for later.b, but there is none yet.");
}

TEST(Formula, errors_are_told_exactly_and_come_before_what_is_missing) {
  EXPECT_EQ(error_of("a / none"), "Expected a divisor other than 0, but none is 0.");
  EXPECT_EQ(error_of("a / (b - 3)"), "Expected a divisor other than 0, but (b - 3) is 0.");
  EXPECT_EQ(error_of("later + nobody"), "Expected a field, but there is none named nobody.");
  EXPECT_EQ(error_of("sqrt(b - a)"), "Expected a finite number, but sqrt(b - a) gives none.");
  EXPECT_EQ(error_of("10 ^ 400"), "Expected a finite number, but 10 ^ 400 gives none.");
  EXPECT_EQ(error_of("round(1, 2, 3)"), "Expected at most 2 arguments for round, but found 3.");
  EXPECT_EQ(error_of("steal(a)"), "Expected a function min, max, sum, mean, abs, sqrt or round, but found steal.");
}

TEST(Formula, what_is_none_is_told_with_the_place) {
  EXPECT_EQ(error_of("a +"),
            "Expected a number, a name or a parenthesis at character 4 of the formula \"a +\", but it ends there.");
  EXPECT_EQ(error_of("a b"), "Expected an operator at character 3 of the formula \"a b\", but there is \"b\".");
  EXPECT_EQ(error_of("(a"), "Expected a closing parenthesis at character 3 of the formula \"(a\", but it ends there.");
  EXPECT_EQ(
      error_of("min(a;b)"),
      "Expected a comma or a closing parenthesis at character 6 of the formula \"min(a;b)\", but there is \";\".");
  EXPECT_NE(error_of(""), "");
  EXPECT_NE(error_of("1e999"), "");
  EXPECT_NE(error_of(std::string(5000, '(')), "") << "neither depth nor length is without a bound";
  EXPECT_NE(error_of(std::string(1900, '-') + "1"), "");
}

TEST(Formula, names_come_once_in_their_order) {
  EXPECT_EQ(*names_in("b * min(a, b) / units.sold"), (std::vector<std::string>{"b", "a", "units.sold"}));
  EXPECT_EQ(names_in("b *").error().code, Code::invalid);
}

}  // namespace
}  // namespace cairn

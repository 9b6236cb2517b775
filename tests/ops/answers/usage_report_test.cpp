// Usage reports over facts of any form: a worker may have recorded anything.
#include "ops/answers/usage_report.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace cairn {
namespace {

Event called(const std::string& fields) { return {1, 1, 1, "", Record{RecordKind::model_called, fields}}; }

TEST(UsageReport, counts_what_is_no_number_or_below_0_as_nothing) {
  RunUse use;
  for (const char* fields :
       {R"({"model": 5, "tokens_in": "x", "tokens_out": [1], "cost": "free"})",
        R"({"tokens_in": -5, "tokens_out": -1, "cost": -3.5})", R"({"tokens_in": 7, "tokens_out": 2, "cost": 0.5})"})
    use.add(called(fields));
  EXPECT_EQ(use.model_use.calls, 3);
  EXPECT_EQ(use.model_use.tokens_in, 7);
  EXPECT_EQ(use.model_use.tokens_out, 2);
  EXPECT_EQ(use.model_use.cost, 0.5);
}

TEST(UsageReport, of_the_largest_numbers_stays_finite_and_above_0) {
  RunUse use;
  for (int call = 0; call < 20; ++call)
    use.add(called(R"({"tokens_in": 9223372036854775807, "tokens_out": 1e300, "cost": 1.7e308})"));
  EXPECT_EQ(use.model_use.tokens_in, 20'000'000'000'000'000);
  EXPECT_EQ(use.model_use.tokens_out, 20'000'000'000'000'000);
  EXPECT_EQ(use.model_use.cost, 2e16);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  ModelUse sum{1, most - 1, 1, 0};
  sum.add({1, 5, 1, 0});
  EXPECT_EQ(sum.tokens_in, most);
  EXPECT_EQ(sum.tokens_out, 2);
}

}  // namespace
}  // namespace cairn

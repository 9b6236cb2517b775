// Values that are too large for a prompt, as it shows them, by each and together.
#include "workers/handlers/shown_values.hpp"

#include <gtest/gtest.h>
#include <string>

namespace cairn {
namespace {

Json rows_of(std::size_t count) {
  Json rows = Json::array();
  for (std::size_t n = 0; n < count; ++n) rows.push_back({{"row", n}, {"says", std::string(60, 'x')}});
  return {{"rows", std::move(rows)}};
}

// The values as they are shown together, and the bytes of each.
std::vector<std::size_t> shown_sizes(std::vector<Json>& values, std::size_t each, std::size_t all) {
  std::vector<Json*> places;
  for (Json& value : values) places.push_back(&value);
  show_together(places, each, all);
  std::vector<std::size_t> sizes;
  for (const Json& value : values) sizes.push_back(canonical(value).size());
  return sizes;
}

TEST(ShownValues, the_first_of_many_are_shown_most_and_none_is_left_out) {
  std::vector<Json> values(10, rows_of(600));
  const std::vector<std::size_t> sizes = shown_sizes(values, 40'000, 100'000);
  std::size_t sum = 0;
  for (const std::size_t size : sizes) sum += size;
  EXPECT_LT(sum, 102'000U);
  EXPECT_GT(sizes[0], 39'000U);
  EXPECT_GT(sizes.front(), sizes.back());
  for (const Json& value : values) {
    EXPECT_GT(value["rows"].size(), 40U);
    EXPECT_EQ(value["rows"].size() + value["rows_left_out"].get<std::size_t>(), 600U);
  }
}

TEST(ShownValues, small_ones_stay_whole_and_leave_their_room) {
  std::vector<Json> values = {rows_of(600), "small", 7, nullptr, rows_of(600)};
  const std::vector<std::size_t> sizes = shown_sizes(values, 40'000, 100'000);
  EXPECT_EQ(values[1], "small");
  EXPECT_EQ(values[2], 7);
  EXPECT_EQ(values[3], nullptr);
  EXPECT_GT(sizes[4], 39'000U);
  std::vector<Json> few = {rows_of(3), "x"};
  const std::vector<Json> as_they_are = few;
  shown_sizes(few, 40'000, 100'000);
  EXPECT_EQ(few, as_they_are);
  show_together({}, 1, 1);
}

TEST(ShownValues, a_value_of_many_small_members_or_of_signs_that_are_escaped_is_bounded_too) {
  Json many = Json::object();
  for (int n = 0; n < 20'000; ++n) many["member " + std::to_string(n)] = n;
  std::vector<Json> values = {many, std::string(100'000, '\1'), many};
  for (const std::size_t size : shown_sizes(values, 10'000, 20'000)) EXPECT_LT(size, 13'000U);
  EXPECT_TRUE(values[0].is_string());
}

}  // namespace
}  // namespace cairn

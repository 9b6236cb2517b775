#include "engine/id.hpp"

#include <gtest/gtest.h>
#include <set>
#include <unordered_set>

namespace cairn {
namespace {

constexpr std::string_view some_id = "0190f3a2-7c41-7b3e-9d55-0123456789ab";

RunId id_of(std::string_view text) {
  const auto id = parse_run_id(text);
  EXPECT_TRUE(id.has_value()) << text;
  return id.value_or(RunId{});
}

TEST(Id, text_and_back) {
  EXPECT_EQ(to_string(id_of(some_id)), some_id);
  EXPECT_EQ(to_string(RunId{}), "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(to_string(id_of("0190F3A2-7C41-7B3E-9D55-0123456789AB")), some_id);
}

TEST(Id, what_is_no_uuid_gives_nothing) {
  for (const char* text : {"", "0190f3a27c417b3e9d550123456789ab", "0190f3a2-7c41-7b3e-9d55-0123456789a",
                           "0190f3a2-7c41-7b3e-9d55-0123456789abc", "0190f3a2-7c41-7b3e-9d55_0123456789ab",
                           "0190f3g2-7c41-7b3e-9d55-0123456789ab", "{190f3a2-7c41-7b3e-9d55-0123456789a}"}) {
    EXPECT_FALSE(parse_run_id(text).has_value()) << text;
  }
}

TEST(Id, plus_counts_above_the_placement_bytes) {
  EXPECT_EQ(to_string(plus(id_of(some_id), 0)), some_id);
  EXPECT_EQ(to_string(plus(id_of(some_id), 1)), "0190f3a2-7c41-7b3e-9d55-0123456889ab");
  EXPECT_EQ(to_string(plus(id_of("0190f3a2-7c41-7b3e-9d55-00ffffffabcd"), 1)), "0190f3a2-7c41-7b3e-9d55-01000000abcd");
}

TEST(Id, plus_never_counts_into_the_variant) {
  EXPECT_EQ(to_string(plus(id_of("0190f3a2-7c41-7b3e-bfff-ffffffffabcd"), 1)), "0190f3a2-7c41-7b3e-8000-00000000abcd");
}

TEST(Id, plus_gives_another_id_for_every_n) {
  std::set<RunId> ids;
  for (std::uint32_t n = 0; n < 1000; ++n) ids.insert(plus(id_of(some_id), n * 4'294'967));
  EXPECT_EQ(ids.size(), 1000u);
}

TEST(Id, a_shard_is_derived_from_the_last_two_bytes) {
  EXPECT_EQ(shard_of(id_of(some_id), 1), 0);
  EXPECT_EQ(shard_of(id_of(some_id), 4), 0x89ab % 4);
  EXPECT_EQ(shard_of(id_of(some_id), 32), 0x89ab % 32);
  EXPECT_EQ(shard_of(plus(id_of(some_id), 12345), 32), 0x89ab % 32);
}

TEST(Id, hashes_differ) {
  std::unordered_set<std::size_t> hashes;
  for (std::uint32_t n = 0; n < 1000; ++n) hashes.insert(std::hash<RunId>{}(plus(id_of(some_id), n)));
  EXPECT_EQ(hashes.size(), 1000u);
}

TEST(Time, text_has_six_decimals_and_z) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(time_text(1'795'299'827'123'456), "2026-11-21T22:23:47.123456Z");
  EXPECT_EQ(time_text(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(time_text(951'782'400'000'000), "2000-02-29T00:00:00.000000Z");
  EXPECT_EQ(time_text(never_us), "never");
}

TEST(Time, text_and_back_over_the_centuries) {
  for (TimeUs at = -62'135'596'800'000'000; at < 253'402'300'799'000'000; at += 123'456'789'012'345) {
    const auto parsed = parse_time(time_text(at));
    ASSERT_TRUE(parsed.has_value()) << time_text(at);
    ASSERT_EQ(*parsed, at) << time_text(at);
  }
}

TEST(Time, reads_offsets_and_fractions) {
  EXPECT_EQ(parse_time("2026-11-21T22:23:47Z"), 1'795'299'827'000'000);
  EXPECT_EQ(parse_time("2026-11-21t22:23:47z"), 1'795'299'827'000'000);
  EXPECT_EQ(parse_time("2026-11-21 22:23:47.5Z"), 1'795'299'827'500'000);
  EXPECT_EQ(parse_time("2026-11-21T23:53:47+01:30"), 1'795'299'827'000'000);
  EXPECT_EQ(parse_time("2026-11-21T20:53:47-01:30"), 1'795'299'827'000'000);
  EXPECT_EQ(parse_time("2026-11-21T22:23:47.123456789Z"), 1'795'299'827'123'456);
  EXPECT_EQ(parse_time("2016-12-31T23:59:60Z"), 1'483'228'800'000'000);
  EXPECT_EQ(parse_time("2017-01-01T00:59:60+01:00"), 1'483'228'800'000'000);
}

TEST(QuestionId, names_its_step) {
  EXPECT_EQ(question_id(7), "q7");
  EXPECT_EQ(step_of_question("q7"), 7);
  EXPECT_EQ(step_of_question("q2147483647"), 2'147'483'647);
  for (const char* text : {"", "q", "7", "q0", "q-1", "q 7", "q7x", "x7", "Q7", "q2147483648", "q99999999999999999999"})
    EXPECT_EQ(step_of_question(text), std::nullopt) << text;
}

TEST(Time, what_is_no_time_gives_nothing) {
  for (const char* text : {"",
                           "never",
                           "2026-11-21",
                           "2026-11-21T22:23:47",
                           "2026-11-21T22:23Z",
                           "2026-13-01T00:00:00Z",
                           "2026-02-29T00:00:00Z",
                           "1900-02-29T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-11-00T00:00:00Z",
                           "2026-11-21T24:00:00Z",
                           "2026-11-21T22:60:00Z",
                           "2026-11-21T22:23:60Z",
                           "2026-11-21T22:23:47.Z",
                           "2026-11-21T22:23:47+1:00",
                           "2026-11-21T22:23:47+01",
                           "2026-11-21T22:23:47Zx",
                           " 2026-11-21T22:23:47Z",
                           "+026-11-21T22:23:47Z",
                           "2026-11-21T22:23:47+24:00"}) {
    EXPECT_FALSE(parse_time(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace cairn

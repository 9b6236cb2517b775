#include "storage/ground/packed_text.hpp"

#include <gtest/gtest.h>
#include <random>

#include "engine/json.hpp"

namespace cairn {
namespace {

std::string large_text() {
  Json list = Json::array();
  for (int n = 0; n < 40'000; ++n) list.push_back("entry \"" + std::to_string(n) + "\" \xc3\xa9");
  return canonical(list);
}

TEST(PackedText, a_large_text_takes_fewer_bytes_and_comes_back_as_it_was) {
  const std::string text = large_text();
  ASSERT_GE(text.size(), packed_bytes_min);
  const std::string packed = packed_text(text);
  EXPECT_TRUE(packed.starts_with("zstd:"));
  EXPECT_LT(packed.size(), text.size() / 2);
  EXPECT_EQ(unpacked_text(packed), text);
}

TEST(PackedText, a_small_text_and_one_of_an_older_release_stay_as_they_are) {
  const std::string small = large_text().substr(0, packed_bytes_min - 1);
  EXPECT_EQ(packed_text(small), small);
  for (const std::string& text : {std::string(), std::string("{}"), small, large_text()})
    EXPECT_EQ(unpacked_text(text), text);
}

TEST(PackedText, a_text_that_would_become_longer_stays_as_it_is) {
  std::minstd_rand random(1);
  std::string noise(packed_bytes_min, 0);
  for (char& c : noise) c = static_cast<char>(random() >> 8);
  EXPECT_EQ(packed_text(noise), noise);
}

// It is no JSON and therefore no snapshot: the run is folded from its events.
TEST(PackedText, a_damaged_one_comes_back_as_it_is) {
  const std::string packed = packed_text(large_text());
  std::string altered = packed;
  altered[packed.size() / 2] = altered[packed.size() / 2] == 'A' ? 'B' : 'A';
  for (const std::string& damaged : {altered, packed.substr(0, packed.size() / 2), std::string("zstd:"),
                                     std::string("zstd:AAAA"), std::string("zstd:not base64!")})
    EXPECT_EQ(unpacked_text(damaged), damaged);
}

}  // namespace
}  // namespace cairn

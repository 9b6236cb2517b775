// The id of a claim as text, and texts that are none.
#include "workers/gateway/claim_id.hpp"

#include <gtest/gtest.h>

#include "workers/ids.hpp"

namespace cairn {
namespace {

ClaimId some_claim() {
  ClaimId claim;
  claim.run = new_run_id();
  claim.fence = {3, new_session_id(), 1'048'577, 2'147'483'647};
  claim.attempt = 2;
  claim.head = 900'000'000'000;
  claim.claimed_at = 1'795'755'904'053'358;
  return claim;
}

TEST(ClaimId, comes_back_from_its_text) {
  const ClaimId claim = some_claim();
  const Result<ClaimId> read = parse_claim_id(to_text(claim));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, claim);
  EXPECT_EQ(read->fence.step, claim.fence.step);
}

TEST(ClaimId, another_text_is_refused_in_one_sentence) {
  const std::string good = to_text(some_claim());
  const std::string id = good.substr(0, 36);
  for (const std::string& text :
       {std::string(), std::string("x"), id, id + ".1.1.1.1.1.1", good + ".1", good + ".", " " + good, good + " ",
        id + ".-1.1.1.1.1.1.1", id + ".01.1.1.1.1.1.1", id + ".1.1.1.1.1.1.99999999999999999999",
        id + ".2147483648.1.1.1.1.1.1", id + ".1.1.x.1.1.1.1", std::string(100'000, '1'), std::string("\xff\0.", 3)}) {
    const Result<ClaimId> read = parse_claim_id(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::invalid);
    EXPECT_LT(read.error().message.size(), 200u);
  }
}

TEST(ClaimId, a_session_is_a_number_as_it_was_given) {
  EXPECT_EQ(*parse_session_id("8813521933084255"), 8813521933084255);
  for (const char* text : {"", "0", "-3", "1.5", "07", "x", "99999999999999999999"})
    EXPECT_FALSE(parse_session_id(text));
}

}  // namespace
}  // namespace cairn

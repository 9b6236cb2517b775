#include "storage/chain.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

RunId counted_id() {
  RunId id;
  for (std::size_t at = 0; at < id.bytes.size(); ++at) id.bytes[at] = static_cast<std::uint8_t>(at + 1);
  return id;
}

EventRow example_event() {
  EventRow event;
  event.seq = 1;
  event.at_us = 1'700'000'000'123'456;
  event.type = 1;
  event.version = 1;
  event.step = 7;
  event.actor = "user:ann";
  event.payload = R"({"graph":"g"})";
  event.commit = 42;
  return event;
}

TEST(Chain, sha256_of_the_standard_example) {
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Chain, hexadecimal_reads_back) {
  const Hash hash = sha256("abc");
  EXPECT_EQ(parse_hash(hex(hash)), hash);
  EXPECT_FALSE(parse_hash("ba78"));
  EXPECT_FALSE(parse_hash(std::string(64, 'g')));
}

// The layout as the header gives it, put together by hand: it may never change.
TEST(Chain, start_has_the_documented_layout) {
  std::string bytes = "CAIRN-RUN-1";
  for (int n = 1; n <= 16; ++n) bytes.push_back(static_cast<char>(n));
  bytes += std::string("\0\0\0\3", 4) + "abc";
  EXPECT_EQ(chain_start(counted_id(), "abc"), sha256(bytes));
}

TEST(Chain, next_has_the_documented_layout) {
  const EventRow event = example_event();
  const Hash previous = sha256("before");
  const Hash payload = sha256(event.payload);
  std::string bytes = "CAIRN-EVT-1" + std::string("\0\0\0\3", 4);
  for (int n = 1; n <= 16; ++n) bytes.push_back(static_cast<char>(n));
  bytes += std::string("\0\0\0\0\0\0\0\1", 8);
  bytes += std::string("\x00\x06\x0a\x24\x18\x20\x22\x40", 8);
  bytes += std::string("\0\1", 2) + std::string("\0\1", 2);
  bytes += std::string("\0\0\0\0\0\0\0\x2a", 8) + std::string("\0\0\0\7", 4);
  bytes += std::string("\0\0\0\x8", 4) + "user:ann";
  bytes.append(payload.begin(), payload.end());
  bytes.append(previous.begin(), previous.end());
  EXPECT_EQ(chain_next(previous, 3, counted_id(), event), sha256(bytes));
}

TEST(Chain, every_field_counts) {
  const Hash previous = sha256("before");
  const Hash plain = chain_next(previous, 0, counted_id(), example_event());
  std::vector<EventRow> changed(8, example_event());
  ++changed[0].seq;
  ++changed[1].at_us;
  ++changed[2].type;
  ++changed[3].version;
  ++changed[4].step;
  changed[5].actor = "user:bob";
  changed[6].payload = R"({"graph":"h"})";
  ++changed[7].commit;
  for (const EventRow& event : changed) EXPECT_NE(chain_next(previous, 0, counted_id(), event), plain);
  EXPECT_NE(chain_next(previous, 1, counted_id(), example_event()), plain);
  EXPECT_NE(chain_next(sha256("other"), 0, counted_id(), example_event()), plain);
  RunId other = counted_id();
  other.bytes[15] = 0;
  EXPECT_NE(chain_next(previous, 0, other, example_event()), plain);
}

TEST(Chain, graph_version_is_the_hash_in_hexadecimal) {
  EXPECT_EQ(graph_version("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace cairn

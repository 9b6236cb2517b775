// The message of a notice: its form as a CloudEvent, its signature, and the addresses that it may go to.
#include "workers/hooks/cloud_event.hpp"

#include <gtest/gtest.h>

#include "engine/event_types.hpp"
#include "workers/hooks/public_address.hpp"

namespace cairn::test {
namespace {

const RunId run_seven = *parse_run_id("0193aa00-0000-7000-8000-000000000007");

NoticeFacts facts_of(NoticeKind kind, std::int16_t type, const Json& payload) {
  NoticeFacts facts{"h", {run_seven, 4, kind}, 5'000'000, "6f0c7b5e-0000-4000-8000-000000000001"};
  RunRow run;
  run.id = run_seven;
  run.graph = "order";
  run.tags = {{"team", "a"}};
  facts.run = run;
  EventRow event;
  event.seq = 4;
  event.at_us = 1'000'000;
  event.type = type;
  event.version = 1;
  event.payload = canonical(payload);
  facts.event = event;
  return facts;
}

TEST(CloudEvents, an_end_is_sent_with_its_event_and_the_graph_and_tags_of_its_run) {
  const Json payload = {{"status", "failed"}, {"reason", "out of stock"}, {"output", {{"left", 0}}}};
  const Json made = cloud_event(facts_of(NoticeKind::finished, event_type_of<RunFinished>.number, payload));
  EXPECT_EQ(made["specversion"], "1.0");
  EXPECT_EQ(made["id"], "0193aa00-0000-7000-8000-000000000007/4");
  EXPECT_EQ(made["source"], "urn:uuid:6f0c7b5e-0000-4000-8000-000000000001");
  EXPECT_EQ(made["type"], "dev.cairn.run.finished");
  EXPECT_EQ(made["subject"], "0193aa00-0000-7000-8000-000000000007");
  EXPECT_EQ(made["time"], time_text(1'000'000));
  EXPECT_EQ(made["datacontenttype"], "application/json");
  EXPECT_EQ(made["data"]["type"], "run_finished");
  EXPECT_EQ(made["data"]["status"], "failed");
  EXPECT_EQ(made["data"]["reason"], "out of stock");
  EXPECT_EQ(made["data"]["graph"], "order");
  EXPECT_EQ(made["data"]["tags"], (Json{{"team", "a"}}));
}

TEST(CloudEvents, a_large_field_is_left_out_and_counted) {
  const Json payload = {{"status", "done"}, {"reason", "r"}, {"output", {{"text", std::string(40'000, 'x')}}}};
  const Json made = cloud_event(facts_of(NoticeKind::finished, event_type_of<RunFinished>.number, payload));
  EXPECT_EQ(made["data"]["output"], (Json{{"left_out_bytes", 40'011}}));
  EXPECT_EQ(made["data"]["reason"], "r");
}

TEST(CloudEvents, a_standstill_says_what_came_last_and_a_test_says_that_it_is_one) {
  const Json still = cloud_event(facts_of(NoticeKind::stalled, event_type_of<RunPaused>.number, Json::object()));
  EXPECT_EQ(still["id"], "0193aa00-0000-7000-8000-000000000007/4/stalled");
  EXPECT_EQ(still["time"], time_text(5'000'000)) << "when it was noted";
  EXPECT_EQ(still["data"]["last_event"], "run_paused");
  EXPECT_EQ(still["data"]["last_at"], time_text(1'000'000));
  NoticeFacts facts{"h", {RunId{}, 3, NoticeKind::test}, 5'000'000, "6f0c7b5e-0000-4000-8000-000000000001"};
  const Json sample = cloud_event(facts);
  EXPECT_EQ(sample["type"], "dev.cairn.hook.test");
  EXPECT_EQ(sample["subject"], "h");
  EXPECT_EQ(sample["id"], "test/h/3");
}

// The example of the specification of Standard Webhooks.
TEST(WebhookSignature, is_that_of_the_specification) {
  EXPECT_EQ(webhook_signature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                              R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  const std::string first = webhook_signature("a-secret-key", "i", 1, "b");
  const std::string second = webhook_signature("another-secret", "i", 1, "b");
  EXPECT_EQ(webhook_signature("a-secret-key another-secret", "i", 1, "b"), first + " " + second)
      << "while secrets change";
  EXPECT_NE(first, webhook_signature("a-secret-key", "i", 2, "b"));
}

TEST(PublicAddress, of_this_machine_and_of_private_networks_is_none) {
  for (const char* text : {"8.8.8.8", "1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111",
                           "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"})
    EXPECT_TRUE(is_public_address(text)) << text;
  for (const char* text : {"127.0.0.1",
                           "127.9.9.9",
                           "0.0.0.0",
                           "10.1.2.3",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.168.1.1",
                           "169.254.169.254",
                           "100.64.0.1",
                           "198.18.0.1",
                           "224.0.0.1",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::1",
                           "::",
                           "fe80::1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "ff02::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "64:ff9b::7f00:1",
                           "2002:7f00:1::1",
                           "2001:db8::1",
                           "2001::1",
                           "",
                           "localhost",
                           "1.2.3"})
    EXPECT_FALSE(is_public_address(text)) << text;
}

}  // namespace
}  // namespace cairn::test

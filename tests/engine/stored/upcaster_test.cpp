// Older versions of events. run_started has a shipped step, from 1 to 2. Each other version here is below 1, which no
// program ever wrote: its step is the test's, and the way through decode_payload is the product's. older_versions.json
// is the history of everything_ended.json as such an older program would have written it; it is never changed.
#include "engine/upcaster.hpp"

#include <array>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "engine/codec.hpp"
#include "engine/evolve.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/snapshot.hpp"
#include "tests/engine/stored/stored_history.hpp"
#include "tests/paths.hpp"

namespace cairn {
namespace {

void rename(Json& payload, const char* from, const char* to) {
  payload[to] = payload.at(from);
  payload.erase(from);
}

// Two members were one.
void lift_failure(Json& payload) {
  payload.update(payload.at("failure"));
  payload.erase("failure");
}

const std::array<Upcaster, 5> upcasters{{shipped_upcasters().front(),
                                         {9, 0, lift_failure},
                                         {10, 0, [](Json& payload) { rename(payload, "signal", "name"); }},
                                         {14, -1, [](Json& payload) { rename(payload, "asks", "kind"); }},
                                         {14, 0, [](Json& payload) { rename(payload, "text", "prompt"); }}}};

Json golden(const char* name) {
  std::ifstream file(std::string(testing::source_dir()) + "/tests/golden/histories/" + name);
  return Json::parse(file);
}

TEST(Upcaster, a_history_of_older_versions_folds_to_todays_state) {
  const Json older = golden("older_versions.json");
  std::set<std::int16_t> versions;
  for (const Json& event : older["events"]) versions.insert(event["version"].get<std::int16_t>());
  EXPECT_EQ(versions, (std::set<std::int16_t>{-1, 0, 1}));
  EXPECT_EQ(snapshot_json(folded(older, upcasters)).dump(1),
            golden("everything_ended.json")["states"][std::to_string(fold_version)].dump(1));
}

// Version 1 did not say by which rules the run reads references: those of language 1 were the only ones.
TEST(Upcaster, a_run_started_of_version_1_is_todays_body_with_language_1) {
  std::ifstream file(std::string(testing::source_dir()) + "/tests/golden/events/run_started.1.json");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto body = decode_payload(1, 1, line);
    ASSERT_TRUE(body) << line << ": " << body.error().message;
    EXPECT_EQ(std::get<RunStarted>(*body).language, 1) << line;
    EXPECT_EQ(encode_payload(*body), line.substr(0, line.size() - 1) + R"(,"language":1})");
  }
  EXPECT_EQ(lines, 2);
}

TEST(Upcaster, each_step_lifts_by_one_version) {
  const char* const oldest = R"({"question":"q3","asks":"approval","text":"Go?","schema":null})";
  const auto body = decode_payload(14, -1, oldest, upcasters);
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(encode_payload(*body), R"({"question":"q3","kind":"approval","prompt":"Go?","schema":null})");
  const auto skipped = decode_payload(14, 0, oldest, upcasters);
  ASSERT_FALSE(skipped) << "one of version -1 is none of version 0";
  EXPECT_EQ(skipped.error().code, Code::corrupt);
}

TEST(Upcaster, a_version_without_a_step_is_unsupported) {
  const char* const signal = R"({"signal":"go","value":1,"id":""})";
  EXPECT_TRUE(decode_payload(10, 0, signal, upcasters));
  for (const std::int16_t version : std::initializer_list<std::int16_t>{-1, 2, 3, 32767}) {
    const auto body = decode_payload(10, version, signal, upcasters);
    ASSERT_FALSE(body) << version;
    EXPECT_EQ(body.error(), (Error{Code::unsupported, "Expected an event of a known type, but found type 10 version " +
                                                          std::to_string(version) + ", written by a newer program."}));
  }
  EXPECT_EQ(decode_payload(10, 0, signal).error().code, Code::unsupported) << "the program itself ships no such step";
}

TEST(Upcaster, a_payload_that_is_none_of_its_version_is_corrupt) {
  for (const char* payload : {"", "[]", "{", "null", "{}", R"({"signal":1,"value":1,"id":""})",
                              R"({"signal":"go","value":1,"id":"","more":1})"}) {
    const auto body = decode_payload(10, 0, payload, upcasters);
    ASSERT_FALSE(body) << payload;
    EXPECT_EQ(body.error().code, Code::corrupt) << payload;
  }
}

// This keeps a new version honest: it is shipped with the steps from every older one.
TEST(Upcaster, every_older_version_of_a_shipped_event_has_its_step) {
  for (std::int16_t number = 1; number < 200; ++number) {
    if (!event_type_name(number)) continue;
    const auto is_known = [&](std::int16_t version) {
      return decode_payload(number, version, "[]").error().code != Code::unsupported;
    };
    std::int16_t now = 100;
    while (now > 1 && !is_known(now)) --now;
    for (std::int16_t version = 1; version <= now; ++version)
      EXPECT_TRUE(is_known(version)) << number << " " << version;
  }
}

}  // namespace
}  // namespace cairn

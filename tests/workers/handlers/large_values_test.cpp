// Values moved out of an event come back as they were, and a value that only looks like a moved one stays as it is.
#include "workers/handlers/large_values.hpp"

#include <gtest/gtest.h>
#include <map>

#include "storage/chain.hpp"

namespace cairn {
namespace {

Json reference(const std::string& hash) { return {{"$blob", hash}, {"bytes", 5}}; }

const std::string others = hex(sha256("\"mine\""));  // a value that another run has moved out

// Moved out, written, read and put back.
Json after_the_way(const Json& fields) {
  std::vector<Blob> blobs;
  Json moved = fields;
  EXPECT_TRUE(move_out(moved, nullptr, blobs));
  std::map<Hash, std::string> kept = {{sha256("\"mine\""), "\"mine\""}};
  for (const Blob& blob : blobs) kept[blob.hash] = blob.bytes;
  const Status whole = put_back({&moved}, [&](const Hash& hash) {
    const auto found = kept.find(hash);
    return blob_text(found == kept.end() ? std::nullopt : std::optional(found->second));
  });
  EXPECT_TRUE(whole.ok());
  return moved;
}

TEST(LargeValues, come_back_as_they_were) {
  const Json fields = {{"large", std::string(40'000, 'x')}, {"small", {1, "two", nullptr}}};
  EXPECT_EQ(after_the_way(fields), fields);
}

// H3: a thousand references to one large value took all memory, and were read again without end.
TEST(LargeValues, references_that_multiply_one_are_put_back_up_to_a_bound) {
  const std::string text = canonical(Json(std::string(900'000, 'x')));
  const Json one = {{"$blob", hex(sha256(text))}, {"bytes", text.size()}};
  Json many(1'000, one);
  const Status whole = put_back({&many}, [&](const Hash&) { return blob_text(text); });
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, Code::limit);
  EXPECT_TRUE(many[0].is_string());
  EXPECT_EQ(many[999], one);
  Json few(30, one);
  EXPECT_TRUE(put_back({&few}, [&](const Hash&) { return blob_text(text); }).ok());
}

Json wrapped(Json value, int levels) {
  for (int level = 0; level < levels; ++level) value = Json::array({std::move(value)});
  return value;
}

// A2, E7: behind a reference no check counted the levels, and each step could wrap the value before it again.
TEST(LargeValues, A2_levels_do_not_grow_through_references) {
  const Json deep = wrapped(std::string(33'000, 'x'), 150);
  Json fields = {{"x", deep}};
  std::vector<Blob> blobs;
  ASSERT_TRUE(move_out(fields, nullptr, blobs));
  ASSERT_EQ(blobs.size(), 1U);
  const Json reference = fields["x"];
  const auto read = [&](const Hash&) { return blob_text(blobs[0].bytes); };
  Json shallow = wrapped(reference, 50);
  EXPECT_TRUE(put_back({&shallow}, read).ok());
  EXPECT_EQ(shallow, wrapped(deep, 50));
  Json beyond = wrapped(reference, 51);
  const Status whole = put_back({&beyond}, read);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, Code::limit);
  EXPECT_EQ(beyond, wrapped(reference, 51)) << "it stays as it is";
  Json deeper = {{"x", wrapped(deep, 50)}};  // 201 levels with the fields themselves
  const Status moved = move_out(deeper, nullptr, blobs);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Code::limit);
}

TEST(LargeValues, what_looks_like_one_is_not_taken_for_one) {
  for (const Json& value :
       {reference(others), Json::array({1, reference(others)}), Json{{"deep", reference(others)}},
        Json{{"deep", reference(others)}, {"large", std::string(40'000, 'x')}}, reference(std::string(64, '0'))}) {
    const Json fields = {{"value", value}};
    EXPECT_EQ(after_the_way(fields), fields);
  }
}

TEST(LargeValues, a_list_that_a_map_goes_over_stays_a_list) {
  Graph graph;
  graph.mapped = {"items"};
  Json fields = {{"items", Json(2'000, "an item of some length")}, {"others", Json(2'000, "an item of some length")}};
  fields["items"][1] = std::string(40'000, 'x');
  std::vector<Blob> blobs;
  ASSERT_TRUE(move_out(fields, &graph, blobs));
  EXPECT_EQ(fields["items"].size(), 2'000U);
  EXPECT_TRUE(fields["items"][1].contains("$blob"));
  EXPECT_TRUE(fields["others"].contains("$blob"));
}

TEST(LargeValues, fields_that_look_like_one_as_a_whole_are_refused) {
  Json fields = reference(others);
  std::vector<Blob> blobs;
  const Status moved = move_out(fields, nullptr, blobs);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().code, Code::invalid);
}

TEST(LargeValues, inputs_of_sub_goals_and_records_are_no_way_around) {
  SubGoalOpened goal;
  goal.inputs = {{"text", reference(others)}};
  const Record record{RecordKind::decision_proposed, canonical(Json{{"reason", reference(others)}})};
  std::vector<Fact> facts = {goal, record};
  std::vector<Blob> blobs;
  ASSERT_TRUE(move_out(facts, blobs));
  EXPECT_EQ(blobs.size(), 2U);
  std::vector<Hash> named;
  find_blobs(std::get<SubGoalOpened>(facts[0]).inputs, named);
  find_blobs(parse_stored(std::get<Record>(facts[1]).fields), named);
  ASSERT_EQ(named.size(), 2U);
  for (const Hash& hash : named) EXPECT_NE(hex(hash), others);
}

}  // namespace
}  // namespace cairn

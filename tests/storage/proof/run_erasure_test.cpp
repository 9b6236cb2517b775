// Large values of erased runs: removed when no event refers to them and no step can be about to.
#include "storage/proof/run_erasure.hpp"

#include <future>
#include <gtest/gtest.h>

#include "storage/digest.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/waiting.hpp"

namespace cairn {
namespace {

using namespace test;

constexpr std::int64_t hour_us = 3'600'000'000;
const std::string value = "\"a large value\"";

class RunErasureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_->values().put(0, hash_, value);
    ask(dsn_, "insert into cairn.erasing values (0, '\\x" + hex(hash_) + "')");
    age("2 * 3600000000");
  }
  void age(const std::string& us) {
    ask(dsn_, "update cairn.blob set put_at = (extract(epoch from now()) * 1000000)::bigint - " + us);
  }
  void refer(const std::string& payload) {
    ask(dsn_,
        "insert into cairn.event (shard, step, seq, at, commit, type, version, run_id, chain_hash, actor, payload) "
        "values (0, 0, 1, 1, 1, 1, 1, gen_random_uuid(), '', '', '" +
            payload + "')");
  }
  RunErasure::Values remove(std::int64_t unused_us = hour_us) { return *RunErasure(dsn_).remove_values(0, unused_us); }
  bool is_there() { return store_->values().get(0, hash_).has_value(); }

  const std::string dsn_ = new_database(1);
  std::unique_ptr<Store> store_ = store_on(dsn_);
  const Hash hash_ = sha256(value);
};

TEST_F(RunErasureTest, an_old_value_without_a_reference_goes) {
  const RunErasure::Values values = remove();
  EXPECT_EQ(values.removed, 1);
  EXPECT_EQ(values.bytes, std::ssize(value));
  EXPECT_FALSE(is_there());
  EXPECT_EQ(ask_number(dsn_, "select count(*) from cairn.erasing"), 0);
  EXPECT_EQ(remove().removed, 0);
}

TEST_F(RunErasureTest, what_an_event_refers_to_stays_and_is_done_with) {
  refer(R"({"patch":{"goal":{"$blob":")" + hex(hash_) + R"(","bytes":15}}})");
  const RunErasure::Values values = remove();
  EXPECT_EQ(values.removed, 0);
  EXPECT_EQ(values.used, 1);
  EXPECT_TRUE(is_there());
  EXPECT_EQ(ask_number(dsn_, "select count(*) from cairn.erasing"), 0);
}

TEST_F(RunErasureTest, a_reference_however_it_is_written_counts) {
  std::string upper = hex(hash_);
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  refer(R"({"state": "{\"a\": {\"$blob\" : \")" + upper + R"(\", \"bytes\": 15}}"})");
  EXPECT_EQ(remove().used, 1);
}

TEST_F(RunErasureTest, a_put_of_the_same_value_renews_it) {
  store_->values().put(0, hash_, value);
  EXPECT_EQ(remove().recent, 1) << "a step may refer to it in its next commit";
  EXPECT_TRUE(is_there());
  age("2 * 3600000000");
  EXPECT_EQ(remove().removed, 1);
}

TEST_F(RunErasureTest, a_fork_renews_what_it_takes_over) {
  EXPECT_TRUE(store_->values().renew(0, std::vector<Hash>{hash_}));
  EXPECT_FALSE(store_->values().renew(0, std::vector<Hash>{hash_, sha256("another")}));
  EXPECT_EQ(remove().recent, 1);
  EXPECT_TRUE(is_there());
}

TEST_F(RunErasureTest, a_put_on_its_way_is_waited_for) {
  PgConnection step({dsn_, "a step", false});
  step.execute("begin");
  step.query(statement("put_blob"), PgParameters().add(std::int32_t{0}).add(hash_).add_bytes(value));
  auto erasing = std::async(std::launch::async, [&] { return remove(); });
  ASSERT_TRUE(wait_until(
      [&] { return ask_number(dsn_, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'") == 1; }));
  step.execute("commit");
  const RunErasure::Values values = erasing.get();
  EXPECT_EQ(values.removed, 0);
  EXPECT_EQ(values.recent, 1);
  EXPECT_TRUE(is_there());
}

TEST_F(RunErasureTest, a_put_that_comes_while_the_value_goes_puts_it_again) {
  PgConnection eraser({dsn_, "an erasure", false});
  eraser.execute("begin; delete from cairn.blob");
  auto step = std::async(std::launch::async, [&] { store_->values().put(0, hash_, value); });
  ASSERT_TRUE(wait_until(
      [&] { return ask_number(dsn_, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'") == 1; }));
  eraser.execute("commit");
  step.get();
  EXPECT_TRUE(is_there());
}

TEST_F(RunErasureTest, what_another_erasure_notes_meanwhile_is_not_lost) {
  refer(R"({"patch":{"goal":{"$blob":")" + hex(hash_) + R"(","bytes":15}}})");
  PgConnection other({dsn_, "another erasure", false});
  other.execute("begin; insert into cairn.erasing values (0, '\\x" + hex(hash_) + "') on conflict do nothing");
  auto erasing = std::async(std::launch::async, [&] { return remove(); });
  ASSERT_TRUE(wait_until(
      [&] { return ask_number(dsn_, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'") == 1; }));
  other.execute("delete from cairn.event; commit");
  EXPECT_EQ(erasing.get().removed, 1);
}

}  // namespace
}  // namespace cairn

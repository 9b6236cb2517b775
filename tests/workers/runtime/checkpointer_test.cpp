// The checkpointer signs what a process commits, into the database and outside of it, whatever fails meanwhile.
#include "workers/runtime/checkpointer.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "storage/postgres/store/postgres_store.hpp"
#include "storage/proof/checkpoint_files.hpp"
#include "storage/proof/checkpoint_table.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn {
namespace {

using namespace test;
namespace fs = std::filesystem;

class CheckpointerTest : public ::testing::Test {
 protected:
  CheckpointerTest() : dsn_(new_database(1)) {
    static int count = 0;
    options_.folder = scratch_directory() + "/checkpoints" + std::to_string(++count);
    options_.every_ms = 10;
    PostgresOptions options;
    options.dsn = dsn_;
    options.committed = [this](std::span<const Entry> batch, std::span<const Verdict> verdicts) {
      heads_.note(batch, verdicts);
    };
    store_ = std::move(*open_postgres_store(options));
  }

  TestRun started_run() {
    TestRun run(*store_);
    run.start(job_of(1, 1));
    return run;
  }

  // The checkpoints of the one process there is.
  std::vector<Checkpoint> in_table() {
    CheckpointTable table(dsn_, 1);
    const std::vector<std::int64_t> processes = table.processes(0, 2);
    EXPECT_LE(processes.size(), 1u);
    return processes.empty() ? std::vector<Checkpoint>{} : table.checkpoints(processes[0], 0, 1'000);
  }

  std::vector<Checkpoint> in_file() {
    const CheckpointFiles files(options_.folder, store_->identity());
    std::vector<Checkpoint> found;
    for (const std::int64_t process : files.processes()) {
      CheckpointReader reader(files, process);
      while (const std::optional<Checkpoint> next = reader.next()) found.push_back(*next);
      EXPECT_FALSE(reader.is_broken());
    }
    return found;
  }

  static void wait_until(const std::function<bool()>& yes) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!yes() && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(yes());
  }

  void wait_for(std::size_t checkpoints) {
    wait_until([&] { return in_table().size() >= checkpoints; });
  }

  // Numbered from 1, each signed over the one before.
  void expect_chain(const std::vector<Checkpoint>& checkpoints) {
    const std::string identity = store_->identity();
    Hash previous{};
    for (std::size_t at = 0; at < checkpoints.size(); ++at) {
      const Checkpoint& one = checkpoints[at];
      const Result<PublicKey> key = read_public_key(options_.folder + "/" + hex(one.key) + ".pub");
      ASSERT_TRUE(key) << key.error().message;
      EXPECT_EQ(one.n, static_cast<std::int64_t>(at) + 1);
      EXPECT_EQ(one.previous, previous);
      EXPECT_TRUE(is_signed_by(*key, signed_bytes(one, identity), one.signature));
      previous = checkpoint_hash(one, identity);
    }
  }

  static Head head_of(const TestRun& run) { return {run.id(), run.head, run.chain_hash}; }

  const std::string dsn_;
  CheckpointOptions options_;
  GatheredHeads heads_;
  std::unique_ptr<Store> store_;
};

TEST_F(CheckpointerTest, signs_now_and_then_and_what_is_left_at_its_end) {
  std::optional<Checkpointer> checkpointer(std::in_place, *store_, heads_, options_);
  TestRun run = started_run();
  wait_for(1);
  EXPECT_EQ(parse_heads(in_table()[0].heads), std::vector{head_of(run)});
  run.commit(run.entry());
  wait_for(2);
  run.commit(run.entry());
  checkpointer.reset();
  const std::vector<Checkpoint> written = in_table();
  EXPECT_EQ(parse_heads(written.back().heads), std::vector{head_of(run)});
  EXPECT_EQ(in_file(), written);
  expect_chain(written);
  EXPECT_TRUE(heads_.empty());
}

TEST_F(CheckpointerTest, writes_nothing_when_nothing_was_committed) {
  { const Checkpointer checkpointer(*store_, heads_, options_); }
  EXPECT_TRUE(in_table().empty());
  EXPECT_FALSE(fs::exists(options_.folder));
}

TEST_F(CheckpointerTest, what_the_database_refuses_stays_until_it_takes_it) {
  ask(dsn_, "alter table cairn.checkpoint rename to checkpoint_gone");
  const TestRun run = started_run();
  std::optional<Checkpointer> checkpointer(std::in_place, *store_, heads_, options_);
  wait_until([&] { return !in_file().empty(); });
  const TestRun later = started_run();
  ask(dsn_, "alter table cairn.checkpoint_gone rename to checkpoint");
  wait_for(2);
  checkpointer.reset();
  const std::vector<Checkpoint> written = in_table();
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(parse_heads(written[0].heads), std::vector{head_of(run)});
  EXPECT_EQ(parse_heads(written[1].heads), std::vector{head_of(later)});
  EXPECT_EQ(in_file(), written);
  expect_chain(written);
}

// A full disk, say: here the place of the file is taken. The lines that are missing follow when there is room.
TEST_F(CheckpointerTest, D15_its_file_is_gone_on_with_without_a_gap_after_it_could_not_be_written) {
  const std::string place = options_.folder + "/" + store_->identity();
  std::optional<Checkpointer> checkpointer(std::in_place, *store_, heads_, options_);
  TestRun run = started_run();
  wait_for(1);
  fs::rename(place, place + ".away");
  std::ofstream(place) << "taken";
  run.commit(run.entry());
  wait_for(2);
  run.commit(run.entry());
  wait_for(3);
  EXPECT_TRUE(in_file().empty());
  fs::remove(place);
  fs::rename(place + ".away", place);
  run.commit(run.entry());
  wait_for(4);
  checkpointer.reset();
  EXPECT_EQ(in_file(), in_table());
  expect_chain(in_file());
}

TEST_F(CheckpointerTest, a_key_of_ones_own_signs_and_a_folder_that_cannot_be_written_stops_nothing) {
  options_.key = scratch_directory() + "/my_key.pem";
  const Result<SigningKey> key = SigningKey::open(options_.key);
  ASSERT_TRUE(key);
  options_.folder = options_.key;  // a file
  std::optional<Checkpointer> checkpointer(std::in_place, *store_, heads_, options_);
  const TestRun run = started_run();
  wait_for(1);
  const TestRun other = started_run();
  checkpointer.reset();
  const std::vector<Checkpoint> written = in_table();
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[1].key, fingerprint(key->public_key()));
  EXPECT_TRUE(is_signed_by(key->public_key(), signed_bytes(written[1], store_->identity()), written[1].signature));
  EXPECT_EQ(written[1].previous, checkpoint_hash(written[0], store_->identity()));
}

TEST_F(CheckpointerTest, without_a_key_nothing_is_signed_and_nothing_stops) {
  options_.folder = "/dev/null/nowhere";
  std::optional<Checkpointer> checkpointer(std::in_place, *store_, heads_, options_);
  started_run();
  checkpointer.reset();
  EXPECT_TRUE(in_table().empty());
  EXPECT_TRUE(heads_.empty());
}

}  // namespace
}  // namespace cairn

// Checkpoints as bytes, lines and files, and the heads they are made of.
#include "storage/proof/checkpoint.hpp"

#include <fstream>
#include <gtest/gtest.h>

#include "storage/chain.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "storage/proof/checkpoint_files.hpp"
#include "storage/proof/checkpoint_table.hpp"
#include "storage/proof/gathered_heads.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn {
namespace {

using namespace test;

const std::string database = "6f1d7a2e-0000-4000-8000-000000000001";

Head head_of(std::uint8_t number, std::int64_t seq) {
  Head head;
  head.run.bytes[15] = number;
  head.seq = seq;
  head.chain_hash = sha256(std::to_string(seq));
  return head;
}

Checkpoint checkpoint_of(std::int64_t n) {
  Checkpoint made;
  made.process = 7;
  made.n = n;
  made.at_us = noon + n;
  made.heads = heads_text(std::vector<Head>{head_of(1, n), head_of(2, 1'000'000 * n)});
  made.previous = sha256("before");
  made.key = sha256("key");
  made.signature = std::string(64, '\x9c');
  return made;
}

TEST(Checkpoint, heads_are_read_as_they_were_written) {
  const std::vector<Head> heads = {head_of(1, 1), head_of(2, 9'000'000'000)};
  EXPECT_EQ(parse_heads(heads_text(heads)), heads);
  EXPECT_EQ(parse_heads(""), std::vector<Head>{});
  const std::string text = heads_text(heads);
  for (const std::string& bad : {text.substr(1), text.substr(0, text.size() - 1), text + "x\n", text + "\n"})
    EXPECT_EQ(parse_heads(bad), std::nullopt) << bad;
}

// The shipped layout stays: a signer must find the same bytes.
TEST(Checkpoint, the_signed_layout_is_fixed) {
  EXPECT_EQ(hex(sha256(signed_bytes(checkpoint_of(1), database))),
            "27c5f9a4a7347240b5d54c27d0c0a5f6be4481e3de3d5c460150282773434f0f");
}

TEST(Checkpoint, every_field_is_signed) {
  const Checkpoint one = checkpoint_of(1);
  const std::string bytes = signed_bytes(one, database);
  std::vector<Checkpoint> others(6, one);
  others[0].process = 8;
  others[1].n = 2;
  others[2].at_us += 1;
  others[3].key = sha256("another");
  others[4].heads += heads_text(std::vector<Head>{head_of(3, 1)});
  others[5].previous = sha256("another");
  for (const Checkpoint& other : others) EXPECT_NE(signed_bytes(other, database), bytes);
  EXPECT_NE(signed_bytes(one, "another"), bytes);
  Checkpoint resigned = one;
  resigned.signature = std::string(64, 'x');
  EXPECT_NE(checkpoint_hash(resigned, database), checkpoint_hash(one, database));
}

TEST(Checkpoint, a_line_is_read_as_it_was_written) {
  const Checkpoint one = checkpoint_of(1);
  const std::string line = checkpoint_line(one, database);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(parse_checkpoint_line(line, database), one);
  EXPECT_EQ(parse_checkpoint_line(line, "another"), std::nullopt);
  EXPECT_EQ(parse_checkpoint_line(line.substr(1), database), std::nullopt);
  EXPECT_EQ(parse_checkpoint_line("{}", database), std::nullopt);
  std::string bad = line;
  bad.replace(bad.find("9c9c"), 2, "zz");
  EXPECT_EQ(parse_checkpoint_line(bad, database), std::nullopt);
}

TEST(CheckpointFiles, are_read_in_order_and_end_before_a_half_written_line) {
  const CheckpointFiles files(scratch_directory() + "/checkpoint_files", database);
  EXPECT_TRUE(files.processes().empty());
  CheckpointFiles writer = files;
  ASSERT_TRUE(writer.append(checkpoint_of(1)));
  ASSERT_TRUE(writer.append(checkpoint_of(2)));
  EXPECT_EQ(files.processes(), std::vector<std::int64_t>{7});
  std::ofstream(files.path(7), std::ios::app) << checkpoint_line(checkpoint_of(3), database).substr(0, 50);
  CheckpointReader reader(files, 7);
  EXPECT_EQ(reader.next(), checkpoint_of(1));
  EXPECT_EQ(reader.next(), checkpoint_of(2));
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_FALSE(reader.is_broken());
  std::ofstream(files.path(7), std::ios::app) << "\n";
  CheckpointReader again(files, 7);
  again.next();
  again.next();
  EXPECT_EQ(again.next(), std::nullopt);
  EXPECT_TRUE(again.is_broken());
  EXPECT_EQ(again.line(), 3);
}

TEST(CheckpointFiles, a_folder_that_cannot_be_made_is_told) {
  std::ofstream(scratch_directory() + "/no_folder") << "a file";
  CheckpointFiles files(scratch_directory() + "/no_folder", database);
  EXPECT_EQ(files.append(checkpoint_of(1)).error().code, Code::unavailable);
  EXPECT_TRUE(files.processes().empty());
}

Entry entry_of(const Head& head) {
  Entry entry;
  entry.run.id = head.run;
  return entry;
}
Verdict verdict_of(const Head& head, Verdict::Kind kind = Verdict::Kind::committed) {
  Verdict verdict;
  verdict.kind = kind;
  verdict.head = head.seq;
  verdict.chain_hash = head.chain_hash;
  return verdict;
}

TEST(GatheredHeads, are_the_latest_of_each_run_that_was_committed) {
  GatheredHeads heads;
  EXPECT_TRUE(heads.empty());
  const std::vector<Entry> batch = {entry_of(head_of(2, 0)), entry_of(head_of(1, 0)), entry_of(head_of(3, 0))};
  heads.note(batch, std::vector{verdict_of(head_of(2, 5)), verdict_of(head_of(1, 1)),
                                verdict_of(head_of(3, 4), Verdict::Kind::conflict)});
  heads.note(std::span(batch).first(1), std::vector{verdict_of(head_of(2, 9))});
  heads.note(std::span(batch).first(1), std::vector{verdict_of(head_of(2, 7))});
  EXPECT_FALSE(heads.empty());
  EXPECT_EQ(heads.take(), (std::vector<Head>{head_of(1, 1), head_of(2, 9)}));
  EXPECT_TRUE(heads.empty());
}

TEST(GatheredHeads, are_due_after_a_while_or_when_they_are_many) {
  GatheredHeads heads;
  const auto note = [&](std::int64_t seq) {
    Head head = head_of(1, seq);
    head.run.bytes[0] = static_cast<std::uint8_t>(seq >> 8);
    head.run.bytes[1] = static_cast<std::uint8_t>(seq);
    heads.note(std::vector{entry_of(head)}, std::vector{verdict_of(head)});
  };
  EXPECT_FALSE(heads.is_due(1'000, 100)) << "there is nothing";
  note(1);
  EXPECT_FALSE(heads.is_due(2'000, 100));
  EXPECT_FALSE(heads.is_due(2'099, 100));
  EXPECT_TRUE(heads.is_due(2'100, 100));
  heads.take();
  note(1);
  EXPECT_FALSE(heads.is_due(2'200, 100)) << "the waiting begins anew";
  for (std::int64_t seq = 1; seq <= 10'005; ++seq) note(seq);
  EXPECT_TRUE(heads.is_due(2'201, 100));
  EXPECT_EQ(heads.take().size(), GatheredHeads::checkpoint_heads_max);
  EXPECT_EQ(heads.take().size(), 5u);
}

TEST(CheckpointTable, gives_back_what_a_store_was_given) {
  const std::string dsn = new_database(3);
  PostgresOptions options;
  options.dsn = dsn;
  GatheredHeads heads;
  options.committed = [&](std::span<const Entry> batch, std::span<const Verdict> verdicts) {
    heads.note(batch, verdicts);
  };
  Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  ASSERT_TRUE(store);
  EXPECT_EQ((*store)->identity(), ask_text(dsn, "select id::text from cairn.identity"));
  (*store)->put_checkpoint(checkpoint_of(1));
  (*store)->put_checkpoint(checkpoint_of(2));
  Checkpoint other = checkpoint_of(2);
  other.heads = "";
  (*store)->put_checkpoint(other);
  other.process = -5;
  (*store)->put_checkpoint(other);
  CheckpointTable table(dsn, 3);
  EXPECT_EQ(table.processes(std::numeric_limits<std::int64_t>::min(), 10), (std::vector<std::int64_t>{-5, 7}));
  EXPECT_EQ(table.processes(-5, 10), std::vector<std::int64_t>{7});
  EXPECT_EQ(table.checkpoints(7, 0, 10), (std::vector{checkpoint_of(1), checkpoint_of(2)}));
  EXPECT_EQ(table.checkpoints(7, 1, 10), std::vector{checkpoint_of(2)});
  EXPECT_EQ(table.checkpoints(7, 0, 1), std::vector{checkpoint_of(1)});

  TestRun run(**store, 2);
  run.start(job_of(1, 1));
  run.commit(run.entry(3));
  const std::vector<Head> committed = heads.take();
  ASSERT_EQ(committed.size(), 1u);
  EXPECT_EQ(committed[0], (Head{run.id(), run.head, run.chain_hash}));
  Head beyond = committed[0];
  ++beyond.seq;
  Head elsewhere = committed[0];
  elsewhere.run.bytes[0] ^= 1;
  EXPECT_EQ(table.find(std::vector{beyond, committed[0], elsewhere}),
            (std::vector<CheckpointTable::Found>{{{}, run.head}, {run.chain_hash, run.head}, {{}, {}}}));
}

}  // namespace
}  // namespace cairn

// Careful alterations of a database that no check inside it can show: the signed checkpoints show them.
#include "ops/audit/checkpoint_audit.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "storage/chain.hpp"
#include "storage/postgres/connection.hpp"
#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return directory() / "data" / "checkpoints"; }

class CheckpointAuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dsn_ = owner_dsn();
    connection_ = std::make_unique<PgConnection>(PgConnectOptions{dsn_, "a test", false});
    identity_ = text("select id::text from cairn.identity");
    execute("truncate cairn.run, cairn.event, cairn.job, cairn.question, cairn.snapshot, cairn.checkpoint");
    fs::remove_all(folder() / identity_);
  }

  void execute(const std::string& sql) { connection_->execute(sql); }
  std::string text(const std::string& sql) { return std::string(connection_->query({"", sql}).text(0, 0)); }
  std::int64_t number(const std::string& sql) { return std::stoll(text("select (" + sql + ")::text")); }

  // A run that has ended; two processes have signed heads of it.
  static std::string ended_run() {
    const std::string run =
        cairn_ok({"start", "plan_runner", "--input",
                  R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {}}]})", "--wait", "--json"})
            .json()["run"];
    return run;
  }

  std::vector<Finding> findings() {
    CheckpointTable table(dsn_, 1);
    const CheckpointFiles files(folder().string(), identity_);
    std::vector<Finding> found;
    CheckpointAudit audit(table, files, [&](const Finding& finding) { found.push_back(finding); });
    audit.run();
    looked_at_ = audit.checkpoints();
    return found;
  }

  void expect_one(const std::string& kind, const std::string& says) {
    const std::vector<Finding> found = findings();
    ASSERT_EQ(found.size(), 1u) << kind;
    EXPECT_EQ(found[0].kind, kind) << found[0].says;
    EXPECT_NE(found[0].says.find(says), std::string::npos) << found[0].says;
  }
  void expect_of_run(const std::string& kind, const std::string& run) {
    const std::vector<Finding> found = findings();
    ASSERT_EQ(found.size(), 1u) << kind;
    EXPECT_EQ(found[0].kind, kind) << found[0].says;
    EXPECT_EQ(to_string(found[0].run), run);
  }

  fs::path only_file() {
    fs::path found;
    for (const auto& entry : fs::directory_iterator(folder() / identity_)) found = entry.path();
    return found;
  }

  std::string dsn_;
  std::string identity_;
  std::unique_ptr<PgConnection> connection_;
  std::int64_t looked_at_ = 0;
};

TEST_F(CheckpointAuditTest, what_was_signed_is_there) {
  ended_run();
  ended_run();
  EXPECT_TRUE(findings().empty());
  EXPECT_EQ(looked_at_, 2);
  EXPECT_EQ(number("select count(*) from cairn.checkpoint"), 2);
}

TEST_F(CheckpointAuditTest, a_tail_that_was_cut_off_shows) {
  ended_run();
  const std::string run = ended_run();
  const std::string of = " where run_id = '" + run + "'";
  execute("delete from cairn.event" + of + " and seq > 2; update cairn.run r set head = 2, status = 'running', " +
          "chain_hash = (select chain_hash from cairn.event e" + of + " and seq = 2)" + of);
  expect_of_run("missing", run);
}

TEST_F(CheckpointAuditTest, a_run_that_was_removed_shows) {
  const std::string run = ended_run();
  ended_run();
  for (const std::string table : {"event", "run", "job", "question", "snapshot"})
    execute("delete from cairn." + table + " where run_id = '" + run + "'");
  expect_of_run("removed", run);
}

TEST_F(CheckpointAuditTest, a_history_that_was_computed_anew_shows) {
  const std::string run = ended_run();
  const PgResult rows = connection_->query(
      {"", "select seq, at, type, version, step, actor, payload, commit, chain_hash from cairn.event where run_id = '" +
               run + "' order by seq"});
  Hash chain = chain_start(*parse_run_id(run), text("select version from cairn.run where run_id = '" + run + "'"));
  for (int row = 0; row < rows.rows(); ++row) {
    EventRow event{rows.int8(row, 0),
                   rows.int8(row, 1),
                   rows.int2(row, 2),
                   rows.int2(row, 3),
                   rows.int4(row, 4),
                   std::string(rows.text(row, 5)),
                   std::string(rows.text(row, 6)),
                   rows.int8(row, 7),
                   {}};
    if (row == 0) event.actor = "user:somebody else";
    chain = chain_next(chain, 0, *parse_run_id(run), event);
    execute("update cairn.event set actor = '" + event.actor + "', chain_hash = '\\x" + hex(chain) +
            "' where run_id = '" + run + "' and seq = " + std::to_string(event.seq));
  }
  execute("update cairn.run set chain_hash = '\\x" + hex(chain) + "' where run_id = '" + run + "'");
  expect_of_run("rewritten", run);
}

TEST_F(CheckpointAuditTest, the_checkpoints_themselves_are_looked_over) {
  ended_run();
  execute("update cairn.checkpoint set heads = ''");
  expect_one("checkpoint", "differ");
  execute("update cairn.checkpoint set n = 2");
  EXPECT_FALSE(findings().empty());
}

TEST_F(CheckpointAuditTest, the_table_cannot_lose_one_that_is_not_the_last) {
  setenv("CAIRN_CHECKPOINT_MS", "1", 1);
  Beside worker({"work"});
  const auto signed_three = [&] {
    cairn_ok({"start", "plan_runner", "--input", R"({"goal": "g", "sub_goals": []})"});
    return number("select coalesce(max(n), 0) from cairn.checkpoint") >= 3;
  };
  EXPECT_TRUE(wait_until(signed_three));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  unsetenv("CAIRN_CHECKPOINT_MS");
  EXPECT_TRUE(findings().empty());
  execute("create table public.kept as select * from cairn.checkpoint");
  execute("delete from cairn.checkpoint where n = 2");
  expect_one("checkpoint", "in the table");
  execute("delete from cairn.checkpoint; insert into cairn.checkpoint select * from public.kept");
  EXPECT_TRUE(findings().empty());
  execute("delete from cairn.checkpoint where n = (select max(n) from cairn.checkpoint)");
  EXPECT_TRUE(findings().empty()) << "a process that ends between the two writes leaves this";
  execute("drop table public.kept");
}

TEST_F(CheckpointAuditTest, a_file_that_was_altered_shows) {
  ended_run();
  const fs::path file = only_file();
  const std::string line = read_file(file);
  std::string other = line;
  other.replace(other.find("\"at_us\":1"), 9, "\"at_us\":2");
  std::ofstream(file) << other;
  const std::vector<Finding> found = findings();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(found[0].says.find("differ"), std::string::npos) << found[0].says;
  EXPECT_NE(found[1].says.find("signature"), std::string::npos) << found[1].says;
  std::ofstream(file) << "{}\n" << line;
  expect_one("checkpoint", "line 1");
  fs::remove(file);
  EXPECT_TRUE(findings().empty()) << "another machine's";
  std::ofstream(file) << line;
  execute("truncate cairn.checkpoint");
  EXPECT_TRUE(findings().empty()) << "and the file alone is enough:";
  execute("truncate cairn.event, cairn.run");
  EXPECT_EQ(findings().size(), 1u);
}

TEST_F(CheckpointAuditTest, who_signs_with_a_key_of_his_own_is_told) {
  ended_run();
  fs::remove_all(folder() / identity_);
  const Result<SigningKey> other = SigningKey::open((directory() / "other.pem").string());
  ASSERT_TRUE(other);
  const std::int64_t process = number("select process from cairn.checkpoint");
  Checkpoint forged = CheckpointTable(dsn_, 1).checkpoints(process, 0, 1)[0];
  sign(forged, identity_, *other);
  const std::string bytes = forged.signature;
  execute("update cairn.checkpoint set key = '\\x" + hex(forged.key) + "', signature = '\\x" +
          hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}) + "'");
  expect_one("checkpoint", "public key");
}

// A database that was made where another one's data had been holds nothing that could be found missing.
TEST_F(CheckpointAuditTest, D10_a_folder_that_knows_another_database_alone_says_so) {
  fs::remove_all(folder());  // of the databases of other tests
  ended_run();
  const fs::path other = folder() / "00000000-0000-4000-8000-000000000000";
  fs::create_directory(other);
  EXPECT_TRUE(findings().empty()) << "nothing is in it";
  fs::copy(folder() / identity_, other, fs::copy_options::recursive);
  EXPECT_TRUE(findings().empty()) << "several databases may share it";
  fs::remove_all(folder() / identity_);
  execute("truncate cairn.checkpoint");
  expect_one("checkpoint", "but there are those of 00000000-0000-4000-8000-000000000000 alone");
  fs::remove_all(other);
  EXPECT_TRUE(findings().empty());
}

}  // namespace
}  // namespace cairn::program

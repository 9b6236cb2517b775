#include "storage/postgres/cluster.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <thread>
#include <unistd.h>

#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

using namespace test;
namespace fs = std::filesystem;

// A directory of its own; what runs there is stopped at the end.
class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = scratch_directory() + "/" + info->name();
  }
  void TearDown() override {
    if (find_cluster(directory_)) {
      EXPECT_TRUE(stop_cluster(directory_));
    }
  }
  std::string directory_;
};

TEST_F(ClusterTest, starts_is_found_stops_and_starts_again_with_its_data) {
  EXPECT_EQ(find_cluster(directory_).error().code, Code::not_found);
  EXPECT_EQ(stop_cluster(directory_).error().code, Code::not_found);
  const Result<Cluster> started = start_cluster(directory_);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_TRUE(started->started);
  ask(started->dsn, "create table kept (n int)");
  EXPECT_EQ(ask_text(started->dsn, "select current_database()"), "cairn");
  EXPECT_EQ(ask_text(started->dsn, "select current_setting('listen_addresses')"), "");
  EXPECT_EQ(ask_text(started->dsn, "select current_setting('fsync') || current_setting('synchronous_commit')"), "onon");
  EXPECT_EQ(ask_text(started->dsn, "select current_setting('server_encoding')"), "UTF8");

  const Result<Cluster> again = start_cluster(directory_);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->started);
  EXPECT_EQ(again->dsn, started->dsn);
  EXPECT_EQ(find_cluster(directory_)->dsn, started->dsn);

  ASSERT_TRUE(stop_cluster(directory_));
  EXPECT_EQ(find_cluster(directory_).error().code, Code::not_found);
  EXPECT_EQ(stop_cluster(directory_).error().code, Code::not_found);
  ASSERT_TRUE(start_cluster(directory_));
  EXPECT_EQ(ask_number(started->dsn, "select count(*) from kept"), 0);
}

TEST_F(ClusterTest, several_callers_start_one_server) {
  std::vector<std::thread> threads;
  std::vector<int> started(3);
  std::vector<std::string> faults(3);
  for (std::size_t n = 0; n < started.size(); ++n) {
    threads.emplace_back([&, n] {
      const Result<Cluster> cluster = start_cluster(directory_);
      if (cluster) {
        started[n] = cluster->started ? 1 : 0;
      } else {
        faults[n] = cluster.error().message;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
  EXPECT_EQ(started[0] + started[1] + started[2], 1);
}

TEST_F(ClusterTest, a_long_path_gets_its_socket_elsewhere) {
  directory_ += "/" + std::string(60, 'a') + "/" + std::string(60, 'b');
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(ask_number(cluster->dsn, "select 1"), 1);
  EXPECT_EQ(find_cluster(directory_)->dsn, cluster->dsn);
}

TEST_F(ClusterTest, a_path_with_a_space_and_a_quote_works) {
  directory_ += " it's";
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(ask_number(cluster->dsn, "select 1"), 1);
}

TEST_F(ClusterTest, a_server_that_was_killed_is_started_again) {
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  ask(cluster->dsn, "create table kept (n int)");
  std::ifstream file(directory_ + "/data/postmaster.pid");
  pid_t pid = 0;
  ASSERT_TRUE(file >> pid);
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  for (int n = 0; n < 1'000 && kill(pid, 0) == 0; ++n) usleep(10'000);
  const Result<Cluster> again = start_cluster(directory_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ask_number(again->dsn, "select count(*) from kept"), 0);
}

TEST_F(ClusterTest, a_directory_that_holds_something_else_is_refused) {
  fs::create_directories(directory_);
  std::ofstream(directory_ + "/letter.txt") << "mine";
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().code, Code::invalid);
  EXPECT_NE(cluster.error().message.find("letter.txt"), std::string::npos);
  EXPECT_TRUE(fs::exists(directory_ + "/letter.txt"));
  EXPECT_FALSE(fs::exists(directory_ + "/data"));
  EXPECT_FALSE(fs::exists(directory_ + "/cairn.lock"));
}

// After a full disk, or a kill in the middle of it, the directory was refused for ever.
TEST_F(ClusterTest, an_attempt_that_did_not_come_to_its_end_is_made_again) {
  setenv("CAIRN_PG_BIN", "/nowhere", 1);
  EXPECT_FALSE(start_cluster(directory_));
  unsetenv("CAIRN_PG_BIN");
  std::ofstream(directory_ + "/CAIRN") << "A private PostgreSQL cluster of cairn, being made.\n";
  std::ofstream(directory_ + "/cairn.out") << "No space left on device\n";
  fs::create_directories(directory_ + "/data/base");
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(ask_text(cluster->dsn, "select current_database()"), "cairn");
}

TEST_F(ClusterTest, a_file_is_refused) {
  std::ofstream file(directory_);
  EXPECT_EQ(start_cluster(directory_).error().code, Code::invalid);
}

TEST_F(ClusterTest, data_of_another_major_version_is_unsupported) {
  ASSERT_TRUE(start_cluster(directory_));
  ASSERT_TRUE(stop_cluster(directory_));
  std::ofstream(directory_ + "/data/PG_VERSION") << "9\n";
  EXPECT_EQ(start_cluster(directory_).error().code, Code::unsupported);
}

TEST_F(ClusterTest, without_the_programs_it_is_unavailable) {
  setenv("CAIRN_PG_BIN", "/nowhere", 1);
  const Result<Cluster> cluster = start_cluster(directory_);
  unsetenv("CAIRN_PG_BIN");
  EXPECT_EQ(cluster.error().code, Code::unavailable);
}

TEST_F(ClusterTest, a_server_that_cannot_start_says_why) {
  ASSERT_TRUE(start_cluster(directory_));
  ASSERT_TRUE(stop_cluster(directory_));
  std::ofstream(directory_ + "/data/postgresql.conf", std::ios::app) << "shared_buffers = nonsense\n";
  const Result<Cluster> cluster = start_cluster(directory_);
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().code, Code::unavailable);
  EXPECT_NE(cluster.error().message.find("shared_buffers"), std::string::npos) << cluster.error().message;
}

}  // namespace
}  // namespace cairn

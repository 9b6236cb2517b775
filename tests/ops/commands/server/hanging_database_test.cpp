// The program on a database that hangs: all its processes are stopped, nothing is closed, nothing is answered.
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"
#include "tests/storage/silent_host.hpp"

namespace cairn {
namespace {

using namespace program;
namespace fs = std::filesystem;

// A private server whose processes can be stopped and go on at the end.
class HangingServer {
 public:
  HangingServer() {
    const Ran seen = cairn({"doctor", "--json", "--data", data()});
    dsn_ = seen.json().at("dsn");
    std::ifstream file(fs::path(data()) / "data" / "postmaster.pid");
    file >> postmaster_;
  }
  ~HangingServer() {
    signal_all(SIGCONT);
    cairn({"down", "--data", data()});
  }
  HangingServer(const HangingServer&) = delete;
  HangingServer& operator=(const HangingServer&) = delete;

  void hang() { signal_all(SIGSTOP); }
  const std::string& dsn() const { return dsn_; }

 private:
  static std::string data() { return directory() / "hanging"; }

  // The postmaster first, so that it starts no other.
  void signal_all(int number) const {
    kill(postmaster_, number);
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "stat");
      std::string pid, name, state;
      pid_t parent = 0;
      if (file >> pid >> name >> state >> parent && parent == postmaster_) kill(std::stoi(pid), number);
    }
  }

  std::string dsn_;
  pid_t postmaster_ = 0;
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

bool is_ready(const Beside& process) { return process.out().find("ready") != std::string::npos; }

TEST(HangingDatabase, D1_clients_end_with_5_a_worker_tells_it_and_all_end_on_SIGTERM) {
  HangingServer server;
  Beside worker({"work", "--dsn", server.dsn()});
  Beside api({"serve", "--json", "--dsn", server.dsn(), "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(wait_until([&] { return is_ready(worker) && is_ready(api); }));
  const std::string pid = std::to_string(worker.pid());
  ASSERT_TRUE(wait_until([&] { return cairn({"workers", "--dsn", server.dsn()}).out.find(pid) != std::string::npos; }));
  const std::string address = Json::parse(api.out()).at("listen");
  server.hang();
  std::thread request([&] { run_program("/usr/bin/curl", {"-s", "-m", "60", "http://" + address + "/api/v1/runs"}); });
  auto began = std::chrono::steady_clock::now();
  const Ran runs = cairn({"runs", "--dsn", server.dsn()});
  EXPECT_EQ(runs.exit, 5) << runs.err;
  EXPECT_LT(seconds_since(began), 25);
  const auto tells = [&] { return worker.err().find("the database to answer within 10000 ms") != std::string::npos; };
  EXPECT_TRUE(wait_until(tells, std::chrono::seconds(40))) << worker.err();
  began = std::chrono::steady_clock::now();
  worker.signal(SIGTERM);
  api.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_LT(seconds_since(began), 25) << "its own patience, and five seconds of a connection that is being opened";
  EXPECT_NE(worker.err().find("the database does not answer"), std::string::npos) << worker.err();
  api.wait();
  EXPECT_LT(seconds_since(began), 25);
  request.join();
}

// The value of a setting without blanks or quotes.
std::string setting_of(const std::string& dsn, const std::string& name) {
  const std::size_t at = dsn.find(name + "=");
  if (at == std::string::npos) throw std::runtime_error("Expected " + name + " in " + dsn);
  const std::size_t from = at + name.size() + 1;
  const std::string value = dsn.substr(from, dsn.find(' ', from) - from);
  return value.starts_with("'") ? value.substr(1, value.size() - 2) : value;
}

// There was no limit: the kernel gave up after two minutes, for each connection.
TEST(HangingDatabase, D2_a_silent_first_host_of_two_costs_seconds) {
  const std::string dsn = owner_dsn(directory() / "second_host");
  const test::SilentHost silent;
  const std::string both =
      dsn + " host=127.0.0.1," + setting_of(dsn, "host") + " port=" + silent.port() + "," + setting_of(dsn, "port");
  const Json goal = {{"goal", "g"}, {"sub_goals", {{{"id", "a"}, {"tool", "echo"}, {"inputs", Json::object()}}}}};
  for (const Arguments& command :
       std::vector<Arguments>{{"runs"}, {"start", "plan_runner", "--input", goal.dump(), "--wait"}}) {
    Arguments arguments = command;
    arguments.insert(arguments.end(), {"--dsn", both});
    const auto began = std::chrono::steady_clock::now();
    cairn_ok(arguments);
    EXPECT_LT(seconds_since(began), 20) << command.front();
  }
  Beside worker({"work", "--dsn", both});
  const auto began = std::chrono::steady_clock::now();
  worker.signal(SIGTERM);
  worker.wait();
  EXPECT_LT(seconds_since(began), 20) << "a worker that is starting";
  cairn({"down", "--data", directory() / "second_host"});
}

// A client of the API asks again itself, so its server is less patient than a command.
TEST(HangingDatabase, a_server_whose_database_is_away_says_so_after_two_seconds_and_not_after_ten) {
  const std::string data = directory() / "away";
  cairn_ok({"runs", "--data", data});
  Beside api({"serve", "--json", "--data", data, "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(wait_until([&] { return is_ready(api); }));
  const std::string address = Json::parse(api.out()).at("listen");
  cairn_ok({"down", "--data", data});
  const Ran asked =
      run_program("/usr/bin/curl", {"-s", "-m", "60", "-w", "%{http_code}", "http://" + address + "/api/v1/runs"});
  EXPECT_NE(asked.out.find("\"unavailable\""), std::string::npos) << asked.out;
  EXPECT_TRUE(asked.out.ends_with("503")) << asked.out;
  EXPECT_NE(api.err().find("the database to answer within 2000 ms"), std::string::npos) << api.err();
}

TEST(HangingDatabase, D1_a_worker_that_is_starting_ends_on_SIGTERM) {
  HangingServer server;
  server.hang();
  Beside worker({"work", "--dsn", server.dsn()});
  EXPECT_EQ(worker.wait(), 5);
}

// Without the second signal it lets its step run for twenty seconds.
TEST(HangingDatabase, D15_a_second_signal_hurries_a_worker) {
  const Json plan = {{"goal", "g"}, {"sub_goals", {{{"id", "a"}, {"tool", "sleep"}, {"inputs", {{"ms", 60'000}}}}}}};
  const std::string run = cairn_ok({"start", "plan_runner", "--json", "--input", plan.dump()}).json().at("run");
  Beside worker({"work"});
  ASSERT_TRUE(wait_until([&] {
    return cairn({"explain", run}).out.find("is executed by") != std::string::npos ||
           cairn({"queue", "--json"}).out.find("\"held\":1") != std::string::npos;
  }));
  worker.signal(SIGTERM);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(wait_until([&] { return seconds_since(began) > 1.2; }));  // a second one within a second is the same
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0);
  EXPECT_LT(seconds_since(began), 12);
  cairn_ok({"cancel", run});
}

}  // namespace
}  // namespace cairn

// Calls of tools in tests: a call and its answer taken apart, and programs as tools in a folder of their own. Not
// thread-safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <signal.h>
#include <string>
#include <thread>
#include <utility>

#include "tests/workers/ports/loopback.hpp"
#include "workers/ports/tools.hpp"

namespace cairn::testing {

inline ToolCall call_of(const std::string& tool, Json inputs = Json::object()) {
  ToolCall call;
  call.run = *parse_run_id("0198c3f2-0000-7000-8000-000000000001");
  call.step = 3;
  call.sub_goal = "g";
  call.tool = tool;
  call.attempt = 1;
  call.key = "0198c3f2-0000-7000-8000-000000000001/3";
  call.inputs = std::move(inputs);
  return call;
}

inline Json outputs_of(const ToolAnswer& answer) {
  if (answer) return *answer;
  ADD_FAILURE() << answer.error().error << ": " << answer.error().message;
  return {};
}

inline Failure failure_of(const ToolAnswer& answer) {
  if (!answer) return answer.error();
  ADD_FAILURE() << "it succeeded: " << *answer;
  return {};
}

inline bool says(const Failure& failure, const std::string& part) {
  return failure.message.find(part) != std::string::npos;
}

// Waits for what another process will do soon.
inline bool comes_true(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline bool is_running(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] != 'Z';
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

class Programs : public ::testing::Test {
 protected:
  Programs() { ::signal(SIGPIPE, SIG_DFL); }

  // A tool "script" that runs this text with /bin/sh.
  ToolAnswer run(const std::string& script, Json inputs = Json::object(), std::int64_t timeout_ms = 20'000) {
    const auto tools = tools_of(script, timeout_ms);
    ToolCall call = call_of("script", std::move(inputs));
    return testing::run(io_, tools->call(call));
  }

  std::unique_ptr<Tools> tools_of(const std::string& script, std::int64_t timeout_ms) {
    ToolSpec spec;
    spec.name = "script";
    spec.does = ToolSpec::Exec{{"/bin/sh", folder_.write("script.sh", script)}};
    spec.timeout_ms = timeout_ms;
    return make_tools({spec}, 1);
  }

  pid_t written_pid() {
    pid_t pid = 0;
    const auto path = folder_.path() / "pid";
    EXPECT_TRUE(comes_true([&] { return (std::ifstream(path) >> pid) && pid > 0; }));
    return pid;
  }

  std::string pid_file() const { return (folder_.path() / "pid").string(); }

  TemporaryFolder folder_;
  boost::asio::io_context io_;
};

}  // namespace cairn::testing

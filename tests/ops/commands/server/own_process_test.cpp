// The program's own process after its start: its environment, who may read it, how many files it may open.
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"
#include "tests/storage/silent_host.hpp"

namespace cairn::program {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool may_be_dumped = true;  // the sanitizer looks for leaks as a debugger would
#elif defined(__has_feature)
constexpr bool may_be_dumped = __has_feature(address_sanitizer);
#else
constexpr bool may_be_dumped = false;
#endif

// A command that waits for a database which takes its connection and says nothing.
class WaitingCommand {
 public:
  WaitingCommand() {
    // Root may look at every process. The command of another user shows whether others of that user may.
    const std::string other = geteuid() == 0 ? "/usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    setenv("CAIRN_MODEL_KEY", "a secret of the test", 1);
    program_.emplace("/bin/sh",
                     Arguments{"-c", "ulimit -S -n 100; exec " + other + "\"$0\" \"$@\"", testing::cairn_program(),
                               "runs", "--dsn", "host=127.0.0.1 user=u dbname=d port=" + database_.port()});
    unsetenv("CAIRN_MODEL_KEY");
    EXPECT_TRUE(database_.is_asked()) << program_->err();
  }
  std::string file(const std::string& name) const { return "/proc/" + std::to_string(program_->pid()) + "/" + name; }

 private:
  test::SilentHost database_;
  std::optional<Beside> program_;
};

TEST(OwnProcess, H5_a_started_program_shows_its_environment_to_nobody) {
  const WaitingCommand program;
  std::ifstream environment(program.file("environ"));
  std::string text(std::istreambuf_iterator<char>(environment), {});
  EXPECT_EQ(text.find_first_not_of('\0'), std::string::npos) << text;
  struct stat owner {};
  ASSERT_EQ(stat(program.file("environ").c_str(), &owner), 0);
  if (!may_be_dumped) {
    EXPECT_EQ(owner.st_uid, 0u) << "others of its user may look into it";
  }
}

// 1,024 files at most, as many systems have it, are too few for 256 connections of the API or as many steps.
TEST(OwnProcess, D5_a_started_program_may_open_as_many_files_as_it_is_allowed) {
  const WaitingCommand program;
  std::ifstream limits(program.file("limits"));
  for (std::string line; std::getline(limits, line);) {
    if (!line.starts_with("Max open files")) continue;
    std::string soft, hard;
    std::istringstream(line.substr(std::string("Max open files").size())) >> soft >> hard;
    EXPECT_EQ(soft, hard);
    EXPECT_NE(soft, "100");
    return;
  }
  ADD_FAILURE() << "no limit of open files";
}

}  // namespace
}  // namespace cairn::program

// Completion in real shells: bash, zsh and fish on a terminal of their own, in which words and tabulators are typed.
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

class Completion : public ::testing::TestWithParam<const char*> {
 protected:
  // The arguments with which `cairn` is called, a line for each line that is typed; % is the tabulator.
  std::string typed(const std::vector<std::string>& lines) const {
    const std::string shell = GetParam();
    const fs::path script = write_file("completion." + shell, cairn_ok({"completion", shell}).out);
    Arguments arguments = {testing::source_dir() + "/tests/ops/packaging/type_in_shell.py", shell, script};
    arguments.insert(arguments.end(), lines.begin(), lines.end());
    const Ran ran = run_program("/usr/bin/python3", arguments);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.out;
  }
};

TEST_P(Completion, knows_commands_and_options) {
  EXPECT_EQ(typed({"cairn sch%ad%nightly --cr%", "cairn --js%queue s%", "cairn work --conc%4"}),
            "schedule add nightly --cron\n--json queue set\nwork --concurrency 4\n");
}

TEST_P(Completion, passes_over_values_of_options) {
  EXPECT_EQ(typed({"cairn --data up st%", "cairn events --from 3 --fo%RUN"}),
            "--data up start\nevents --from 3 --follow RUN\n");
}

TEST_P(Completion, offers_files_and_folders_where_they_are_meant) {
  const fs::path place = directory() / ("completed_" + std::string(GetParam()));
  fs::create_directories(place / "folder_of_data");
  write_file(place.filename() / "an_order.json", "{}");
  const std::string at = place.string();
  EXPECT_EQ(typed({"cairn graph check " + at + "/an%", "cairn batch g --inputs " + at + "/an%",
                   "cairn --data " + at + "/fol%x"}),
            "graph check " + at + "/an_order.json\nbatch g --inputs " + at + "/an_order.json\n--data " + at +
                "/folder_of_data/x\n");
}

TEST_P(Completion, says_nothing_where_any_text_may_stand) {
  EXPECT_EQ(typed({"cairn start gr%", "cairn events --from sch%"}), "start gr\nevents --from sch\n");
}

INSTANTIATE_TEST_SUITE_P(Shells, Completion, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return std::string(shell.param); });

}  // namespace
}  // namespace cairn::program

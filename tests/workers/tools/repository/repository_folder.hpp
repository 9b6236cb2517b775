// A temporary folder with a repository that a test fills: files, numstat tables, commits by git. Removed at the end of
// the test. Not thread-safe.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

namespace cairn::testing {

class RepositoryFolder : public ::testing::Test {
 protected:
  RepositoryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cairn_repository_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("Expected a temporary directory.");
    top_ = name;
    root_ = top_ / "repository";
    std::filesystem::create_directory(root_);
  }
  ~RepositoryFolder() override { std::filesystem::remove_all(top_); }

  // Writes the file into the repository and returns its path.
  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  std::string numstat(const std::string& rows) {
    return write("numstat.tsv", "commit\tauthor\tdate\tadded\tdeleted\tpath\n" + rows);
  }

  void git(const std::string& arguments) {
    const std::string command = "git -C '" + root_.string() + "' -c user.name=Ann -c user.email=ann@example.org " +
                                arguments + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  std::filesystem::path top_;   // of all that the test writes
  std::filesystem::path root_;  // of the repository
};

}  // namespace cairn::testing

// Each target on its corpus and on mutations of it and of the bombs, for a second each. CAIRN_SEED=N repeats;
// CAIRN_FUZZ_MS=N for longer.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/environment.hpp"
#include "tests/fuzz/bombs.hpp"
#include "tests/fuzz/targets.hpp"
#include "tests/paths.hpp"
#include "tests/thread_seconds.hpp"

namespace cairn::fuzz {
namespace {

using Random = std::mt19937_64;

std::vector<std::string> corpus(const std::string& target) {
  std::vector<std::string> files;
  const std::filesystem::path folder = std::filesystem::path(testing::source_dir()) / "tests/fuzz/corpus" / target;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> bombs_of(const std::string& target) {
  std::vector<std::string> files;
  for (Bomb& bomb : bombs())
    if (bomb.target == target) files.push_back(std::move(bomb.bytes));
  return files;
}

std::string mutated(std::string bytes, const std::vector<std::string>& files, Random& random) {
  static const std::vector<std::string> words = {
      "null",    "{}", "[]",    "-0",   "1e999",  "99999999999999999999", "\"$x\"", "\xff", "\\u0000",
      "\\ud800", "\"", "after", "done", "[[[[[[["};
  for (std::uint64_t n = 1 + random() % 6; n > 0; --n) {
    const std::size_t at = bytes.empty() ? 0 : random() % (bytes.size() + 1);
    switch (random() % 6) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, random() % 20);
        break;
      case 2:
        bytes.insert(at, words[random() % words.size()]);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at / 2, random() % 40));
        break;
      case 4: {
        const std::string& other = files[random() % files.size()];
        bytes.insert(at, other.substr(other.empty() ? 0 : random() % other.size(), random() % 100));
        break;
      }
      default:
        bytes.insert(at, 1, static_cast<char>(random()));
    }
  }
  return bytes;
}

class Fuzz : public ::testing::TestWithParam<Target> {};

TEST_P(Fuzz, survives_its_corpus_and_mutations_of_it) {
  const Target target = GetParam();
  const std::vector<std::string> files = corpus(target.name);
  const std::vector<std::string> large = bombs_of(target.name);
  ASSERT_FALSE(files.empty() || large.empty());
  for (const std::string& file : files) target.run(file);
  const std::uint64_t seed = test::number_of_environment("CAIRN_SEED", std::random_device{}());
  std::cout << "CAIRN_SEED=" << seed << std::endl;  // before: a target that dies says nothing
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(test::number_of_environment("CAIRN_FUZZ_MS", 1'000));
  Random random(seed);
  std::int64_t executions = 0;
  for (; std::chrono::steady_clock::now() < end; ++executions) {
    const std::vector<std::string>& from = random() % 8 == 0 ? large : files;
    target.run(mutated(from[random() % from.size()], files, random));
  }
  std::cout << target.name << ": " << executions << " executions" << std::endl;
}

// A2, A9, A12, H2, H3, H8 of the reviews: each is refused or read in moments, as it takes a turn of a worker.
TEST_P(Fuzz, survives_the_bombs_of_the_reviews) {
  const Target target = GetParam();
  std::size_t count = 0;
  for (const Bomb& bomb : bombs()) {
    if (bomb.target != target.name) continue;
    const double begun = test::thread_seconds();
    target.run(bomb.bytes);
    EXPECT_LT(test::thread_seconds() - begun, 10) << bomb.name;
    ++count;
  }
  EXPECT_GT(count, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Fuzz, ::testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace cairn::fuzz

#include "tests/faults/results.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <random>
#include <sstream>

namespace cairn::program {
namespace {

std::vector<FaultLine>& lines() {
  static std::vector<FaultLine> all;
  return all;
}

constexpr const char* heading =
    "| Fault | Injected | Acknowledged | Lost | Recorded twice | Executed twice | In doubt: landed, not | Stale "
    "refused "
    "| Bystanders | Harmed | Recovery p50, p99, max | Rate after / before |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|\n";

std::string ms_text(double value) { return std::to_string(static_cast<std::int64_t>(value)) + " ms"; }

double quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
}

std::string recovery_text(std::vector<double> values) {
  if (values.empty()) return "–";
  std::sort(values.begin(), values.end());
  return ms_text(quantile(values, 0.5)) + ", " + ms_text(quantile(values, 0.99)) + ", " + ms_text(values.back());
}

std::string rate_text(const FaultLine& line) {
  if (line.before_per_s == 0) return "–";
  std::ostringstream text;
  text.precision(0);
  text << std::fixed << 100 * line.after_per_s / line.before_per_s << " % of " << line.before_per_s << "/s";
  return text.str();
}

std::string lost_text(const FaultLine& line) {
  const std::string lost = std::to_string(line.lost);
  return line.gone == 0 ? lost : lost + " (" + std::to_string(line.gone) + " by the database, each named)";
}

std::string text_of(const FaultLine& line) {
  std::ostringstream text;
  text << "| " << line.fault << " | " << line.injected << " | " << line.acknowledged << " | " << lost_text(line)
       << " | " << line.recorded_twice << " | " << line.executed_twice << " | " << line.landed << ", "
       << line.not_landed << " | " << line.stale << " | " << line.bystanders << " | " << line.harmed << " | "
       << recovery_text(line.recovery_ms) << " | " << rate_text(line) << " |";
  return text.str();
}

class Page : public ::testing::Environment {
 public:
  void TearDown() override {
    const char* file = std::getenv("CAIRN_FAULTS_RESULTS");
    if (file == nullptr || lines().empty()) return;
    std::ofstream page(file);
    page << "# Faults\n\nWritten by `ops/faults`, seed " << fault_seed()
         << ". Real worker processes, a real server; what is acknowledged and executed is kept in a ledger outside of\n"
            "the engine and compared with the events at the end of each kind.\n\n"
         << heading;
    for (const FaultLine& line : lines()) page << text_of(line) << '\n';
  }
};

[[maybe_unused]] const auto* const page = ::testing::AddGlobalTestEnvironment(new Page);

}  // namespace

void add_line(FaultLine line) {
  if (lines().empty()) std::cout << heading;
  std::cout << text_of(line) << std::endl;
  lines().push_back(std::move(line));
}

bool is_full() { return std::getenv("CAIRN_FAULTS_FULL") != nullptr; }

bool is_left_to_full(const std::string& kind) {
  if (!is_full()) std::cout << "skipped: " << kind << " (run by ops/faults)" << std::endl;
  return !is_full();
}

std::uint64_t fault_seed() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("CAIRN_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}() % 1'000'000;
  }();
  return seed;
}

}  // namespace cairn::program

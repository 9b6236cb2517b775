// A real Prometheus for tests: on a free port of the loopback, with its data in a folder of its own, scraping a few
// times a second. Not thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/ops/program.hpp"

namespace cairn::program {

// `promtool` or `prometheus`: the machine's, or the one that ops/test has unpacked.
std::string monitoring_program(const std::string& name);

// The text of a file of ops/monitoring.
std::string monitoring_file(const std::string& name);
int alerts_written();  // in alerts.yml

class Prometheus {
 public:
  // `targets`: addresses by job. The rules of ops/monitoring/alerts.yml are evaluated.
  explicit Prometheus(const std::map<std::string, std::string>& targets);

  Json get(const std::string& path, const std::string& query = "");  // the answer's "data"; null: it answered no
  // Values of the expression now; nothing: Prometheus refuses it.
  std::optional<std::vector<double>> values(const std::string& expression);
  bool scrapes_all();

 private:
  std::string port_;
  std::size_t targets_;
  std::optional<Beside> process_;
};

}  // namespace cairn::program

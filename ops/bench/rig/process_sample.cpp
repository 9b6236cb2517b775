#include "ops/bench/rig/process_sample.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace cairn {

std::optional<ProcessSample> sample_process(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::ifstream status(process + "/status");
  ProcessSample sample;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) sample.memory_mb = static_cast<double>(std::stoll(line.substr(6))) / 1024;
    if (line.starts_with("Threads:")) sample.threads = std::stoll(line.substr(8));
  }
  std::error_code fault;
  const std::filesystem::directory_iterator open(process + "/fd", fault);
  if (fault || sample.threads == 0) return std::nullopt;
  sample.descriptors = std::distance(begin(open), end(open));
  return sample;
}

}  // namespace cairn

#include "ops/metrics/process_use.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

namespace cairn {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double open_file_count() {
  std::error_code fault;
  const std::filesystem::directory_iterator files("/proc/self/fd", fault);
  return fault ? 0 : static_cast<double>(std::distance(begin(files), end(files)));
}

// The 22nd field of the system's line about the process, in ticks since the system started. The second one, a name in
// brackets, may hold spaces.
double start_ticks() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; number < 22; ++number) rest >> field;
  double ticks = 0;
  rest >> ticks;
  return ticks;
}

double system_start() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  return 0;
}

}  // namespace

ProcessUse process_use() {
  ProcessUse use;
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) use.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  use.memory_bytes = resident_bytes();
  use.open_files = open_file_count();
  use.started_at = system_start() + start_ticks() / static_cast<double>(sysconf(_SC_CLK_TCK));
  return use;
}

}  // namespace cairn

#include "ops/bench/rig/server.hpp"

#include <filesystem>
#include <fstream>
#include <spdlog/spdlog.h>
#include <sstream>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "ops/bench/rig/data_disk.hpp"
#include "storage/postgres/connection.hpp"
#include "workers/ids.hpp"

namespace cairn {
namespace {

struct ProcessStat {
  std::string name;
  pid_t parent = 0;
  double seconds = 0;         // its own
  double ended_children = 0;  // of those it has waited for
};

// Fields of /proc/PID/stat after the name in parentheses: 3 state, 4 parent ... 14 utime, 15 stime, 16 cutime, 17
// cstime.
std::optional<ProcessStat> process_stat(const std::filesystem::path& directory) {
  std::ifstream file(directory / "stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(close + 2));
  std::vector<std::string> fields;
  for (std::string field; fields.size() < 15 && rest >> field;) fields.push_back(field);
  if (fields.size() < 15) return std::nullopt;
  const double tick = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto seconds = [&](std::size_t i) { return static_cast<double>(std::stoll(fields[i])) / tick; };
  return ProcessStat{text.substr(open + 1, close - open - 1), static_cast<pid_t>(std::stol(fields[1])),
                     seconds(11) + seconds(12), seconds(13) + seconds(14)};
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  return process_stat(std::filesystem::path("/proc") / std::to_string(pid));
}

// The processor time of all processes of the server to which this backend belongs.
std::optional<double> cpu_of_server(pid_t backend_pid) {
  const std::optional<ProcessStat> backend = process_stat(backend_pid);
  if (!backend || backend->name.find("postgres") == std::string::npos) return std::nullopt;
  double seconds = process_cpu_seconds(backend->parent).value_or(0);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::optional<ProcessStat> stat = process_stat(entry.path());
    if (stat && stat->parent == backend->parent) seconds += stat->seconds;
  }
  return seconds;
}

// The value of the first line "name : value" of a file.
std::string line_of(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

Json machine() {
  utsname kernel{};
  uname(&kernel);
  return {{"cpu", line_of("/proc/cpuinfo", "model name")},
          {"memory", line_of("/proc/meminfo", "MemTotal")},
          {"kernel", std::string(kernel.sysname) + " " + kernel.release}};
}

bool is_uri(const std::string& dsn) { return dsn.starts_with("postgres://") || dsn.starts_with("postgresql://"); }

}  // namespace

std::string with_database(const std::string& dsn, const std::string& database) {
  if (is_uri(dsn)) return dsn + (dsn.find('?') == std::string::npos ? "?" : "&") + "dbname=" + database;
  return dsn + (dsn.empty() ? "" : " ") + "dbname=" + database;
}

std::optional<double> process_cpu_seconds(pid_t pid) {
  const std::optional<ProcessStat> stat = process_stat(pid);
  if (!stat) return std::nullopt;
  return stat->seconds + stat->ended_children;
}

BenchServer::BenchServer(const std::string& dsn) : server_(with_database(dsn, "postgres"), "cairn bench", no_limit) {}

Json BenchServer::settings() {
  const AdminRows found = server_.query("server_settings");
  Json set = Json::object();
  const AdminRows names = server_.query("bench_settings");
  names.expect_columns({"name", ""});
  for (std::size_t row = 0; row < names.size(); ++row) set[names.text(row, 0)] = names.text(row, 1);
  return {{"postgres", found.text(0, 0)},
          {"fsync", found.text(0, 1)},
          {"synchronous_commit", found.text(0, 2)},
          {"cores", std::thread::hardware_concurrency()},
          {"machine", machine()},
          {"settings", std::move(set)}};
}

ServerMeter BenchServer::read(const std::string& database) {
  const AdminRows found = server_.query("server_meter", {database});
  ServerMeter meter{found.number(0, 0), found.number(0, 3), {}};
  if (found.boolean(0, 2)) meter.cpu_seconds = cpu_of_server(static_cast<pid_t>(found.number(0, 1)));
  return meter;
}

void BenchServer::checkpoint() {
  try {
    server_.execute("CHECKPOINT");
  } catch (const PostgresError& refused) {
    spdlog::info("no checkpoint before the benchmark: {}", refused.what());
  }
}

Status BenchServer::leaves_room_for(std::int64_t bytes) { return leaves_room(server_, bytes); }

FreshDatabase::FreshDatabase(const std::string& dsn) : server_dsn_(dsn) {
  const std::string random = to_string(new_run_id());
  name_ = "cairn_bench_" + random.substr(0, 8) + random.substr(random.size() - 8);
  for (char& c : name_)
    if (c == '-') c = '_';
  Administration(with_database(dsn, "postgres"), "cairn bench", no_limit).execute("CREATE DATABASE " + name_);
}

std::string FreshDatabase::folder() const { return std::filesystem::temp_directory_path() / name_; }

std::string FreshDatabase::checkpoints() const { return folder() + "/checkpoints"; }

FreshDatabase::Runs FreshDatabase::runs() {
  const AdminRows found = administration().query("bench_runs");
  return {found.number(0, 0), found.number(0, 1), found.number(0, 2)};
}

Json FreshDatabase::tables() {
  const AdminRows found = administration().query("bench_tables");
  return {{"dead_jobs", found.number(0, 0)},
          {"dead_runs", found.number(0, 1)},
          {"hot_updates", std::stod(found.text(0, 2))}};
}

Administration& FreshDatabase::administration() {
  if (!inside_) inside_ = std::make_unique<Administration>(dsn(), "cairn bench", no_limit);
  return *inside_;
}

FreshDatabase::~FreshDatabase() {
  inside_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder(), ignored);
  try {
    Administration server(with_database(server_dsn_, "postgres"), "cairn bench", no_limit);
    server.execute("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
  } catch (const std::exception& fault) {
    spdlog::error("the benchmark's database {} is still there: {}", name_, fault.what());
  }
}

}  // namespace cairn

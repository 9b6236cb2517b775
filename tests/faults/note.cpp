// The tool of the fault tests: notes each call in a ledger outside of the engine, then does what its inputs ask for.
//   note LEDGER MILLISECONDS
// A line of the ledger: the step's key, the attempt, the moment in microseconds, and the worker's process.
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "engine/json_value.hpp"

namespace {

using cairn::Json;

std::string field_of(pid_t process, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  return "0";
}

// The worker above this process.
pid_t worker() {
  for (pid_t process = getppid(); process > 1; process = std::stoi(field_of(process, "PPid")))
    if (field_of(process, "Name") == "cairn") return process;
  return 0;
}

bool note(const char* ledger, const std::string& key, int attempt) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto moment = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::string line =
      key + " " + std::to_string(attempt) + " " + std::to_string(moment) + " " + std::to_string(worker()) + "\n";
  const int file = open(ledger, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  return file >= 0 && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

// A program may not signal its worker: Load::kill_as_wished does it.
void wish_death_of_worker(const std::string& wishes) {
  std::ofstream(wishes, std::ios::app) << worker() << std::endl;
  std::this_thread::sleep_for(std::chrono::seconds(5));
}

void misbehave(const std::string& how) {
  if (how == "crash") std::abort();
  if (how == "hang") std::this_thread::sleep_for(std::chrono::minutes(5));
  if (how == "not_utf8") std::cout << "{\"text\": \"\xff\xfe\"}" << std::flush;
  if (how == "deep")
    std::cout << "{\"x\":" << std::string(100'000, '[') << std::string(100'000, ']') << "}" << std::flush;
  if (how == "large") std::cout << "{\"x\":\"" << std::string(64UL << 20U, 'x') << "\"}" << std::flush;
  if (how == "memory")  // until it is refused, as its limits say
    for (std::vector<std::string> all;;) all.emplace_back(16UL << 20U, 'x');
  if (how == "refused") std::cout << "{\"text\": \"no database takes this\"}" << std::flush;
  if (how == "endless")
    while (std::cout << "no end") {
    }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object()) return 75;
  if (!note(arguments[1], document.value("key", ""), document.value("attempt", 0))) return 75;
  const std::string how = document.value("inputs", Json::object()).value("how", "");
  if (how == "maybe" && std::chrono::steady_clock::now().time_since_epoch().count() / 1'000 % 2 != 0) return 1;
  if (how == "kill_worker") wish_death_of_worker(std::string(arguments[1]) + ".wishes");
  misbehave(how);
  if (!how.empty() && how != "maybe") return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(arguments[2])));
  std::cout << R"({"noted": true})";
}

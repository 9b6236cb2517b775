#include "ops/bench/rig/serve_process.hpp"

#include <stdexcept>

#include "ops/bench/rig/worker_process.hpp"
#include "ops/terminal/child_process.hpp"

namespace cairn {

struct ServeProcess::Parts {
  explicit Parts(const ChildCommand& command) : process(command) {}
  ChildProcess process;
  std::string url;
};

ServeProcess::ServeProcess(const FreshDatabase& database)
    : parts_(std::make_unique<Parts>(
          ChildCommand{{"serve", "--json", "--listen", "127.0.0.1:0", "--connections", "4096", "--dsn", database.dsn()},
                       database.settings(),
                       true})) {
  const std::optional<std::string> line = parts_->process.read_line();
  if (!line) throw std::runtime_error("Expected `cairn serve` to begin, but it ended.");
  parts_->url = "http://" + parse_stored(*line).at("listen").get<std::string>() + "/api/v1";
}

ServeProcess::~ServeProcess() { parts_->process.terminate(); }
const std::string& ServeProcess::url() const { return parts_->url; }
pid_t ServeProcess::pid() const { return parts_->process.pid(); }
double ServeProcess::cpu_seconds() const { return process_cpu_seconds(parts_->process.pid()).value_or(0); }
double ServeProcess::memory_mb() const { return peak_memory_mb(parts_->process.pid()); }

}  // namespace cairn

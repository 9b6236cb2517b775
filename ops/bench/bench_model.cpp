// `cairn bench-model`: the endpoint of a model that answers after a delay.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>

#include "engine/json.hpp"
#include "ops/bench/bench.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/terminal/print.hpp"
#include "ops/trials/local_server.hpp"

namespace cairn {
namespace {

struct SlowModelOptions {
  int latency_ms = 2'000;
};

LocalAnswer slow_answer(int latency_ms) {
  LocalAnswer answer;
  answer.body = canonical(
      {{"model", "slow"},
       {"choices", {{{"index", 0}, {"message", {{"role", "assistant"}, {"content", std::string(300, 'x')}}}}}},
       {"usage", {{"prompt_tokens", 10}, {"completion_tokens", 75}}}});
  answer.after_ms = latency_ms;
  return answer;
}

// Its signals are waited for, so that they are held back from the server's thread as well.
Exit bench_model(const Settings&, const SlowModelOptions& options) {
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGINT);
  sigaddset(&stops, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  const LocalServer server([&options](const LocalRequest&) { return slow_answer(options.latency_ms); });
  print_json({{"url", server.url()}});
  std::cout.flush();
  int stop = 0;
  sigwait(&stops, &stop);
  return exit_ok;
}

}  // namespace

void add_bench_model(CommandLine& line) {
  auto& options = line.keep<SlowModelOptions>();
  CLI::App& command = add_command(line, "bench-model", "The model of the benchmark", "",
                                  [&](const Settings& settings) { return bench_model(settings, options); });
  command.add_option("--latency", options.latency_ms, "How long it takes to answer, in ms");
  command.group("");
}

}  // namespace cairn

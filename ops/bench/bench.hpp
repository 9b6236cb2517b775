// The benchmark: what this machine can do, compared with what its database could do without an engine; and its
// commands. Used from one thread.
#pragma once

#include <string>
#include <vector>

#include "ops/bench/cases.hpp"
#include "ops/requests/requests.hpp"
#include "ops/terminal/exit_code.hpp"

namespace cairn {

struct CommandLine;

// The names of the cases and of their groups: "scale" is all cases that begin with "scale.".
std::vector<std::string> bench_cases();

Exit bench(const Settings& settings, const BenchOptions& options);

// The lines of `cairn bench --json` in a file, as Markdown. Refuses `invalid`, `not_found`.
Exit bench_report(const std::string& path);

// The commands `bench`, and the hidden ones that it starts: `bench-worker`, a worker process that prints a line when it
// is ready, its progress, and its report when it has stopped; `bench-model`, a model's endpoint on a free port of this
// machine, which prints {"port"} and answers every request the same after some time.
void add_bench(CommandLine& line);
void add_bench_worker(CommandLine& line);
void add_bench_model(CommandLine& line);

}  // namespace cairn

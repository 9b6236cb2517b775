#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/database.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/server/cluster_parts.hpp"

namespace cairn {
namespace {

// No other user sees a password that stands in a variable. A pooler in front refuses what a session is given.
std::string put_into_environment(const std::string& dsn) {
  const DsnVariables given = variables_of(dsn);
  for (const auto& [name, value] : given.variables) setenv(name.c_str(), value.c_str(), 1);
  const char* const options = std::getenv("PGOPTIONS");
  const std::string before = options == nullptr ? "" : std::string(options) + " ";
  const char* const pooler = std::getenv("CAIRN_POOLER");
  if (pooler == nullptr || *pooler == 0)
    setenv("PGOPTIONS", (before + "-c default_transaction_read_only=on").c_str(), 1);
  return given.rest;
}

Exit become_psql(const Settings& settings, const std::vector<std::string>& given) {
  const Result<std::string> dsn = reach_database(choose_database(settings));
  if (!dsn) return dsn.error();
  const std::string rest = put_into_environment(*dsn);
  std::vector<std::string> words{"psql"};
  if (!rest.empty()) words.insert(words.end(), {"-d", rest});
  words.insert(words.end(), given.begin(), given.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::cout.flush();
  execvp("psql", arguments.data());
  if (const auto programs = programs_for(0)) execv((*programs / "psql").c_str(), arguments.data());
  return Error{Code::unavailable, "Expected to start psql, but it is not installed (postgresql-client)."};
}

}  // namespace

void add_psql(CommandLine& line) {
  auto& given = line.keep<std::vector<std::string>>();
  CLI::App& command =
      add_command(line, "psql", "Become psql on the database, to read it: what is after -- goes to psql",
                  "cairn psql -- -c 'select status, count(*) from cairn.run group by status'",
                  [&](const Settings& settings) { return become_psql(settings, given); });
  command.add_option("ARGUMENT", given, "For psql, as it knows them")->type_name("");
}

}  // namespace cairn

#include "ops/service/environment.hpp"

#include <optional>

#include "ops/service/database.hpp"
#include "storage/postgres/dsn.hpp"
#include "workers/ports/log.hpp"
#include "workers/ports/own_process.hpp"

namespace cairn {
namespace {

Error unknown_word(const std::string& name, const std::string& known, const std::string& found) {
  return {Code::invalid, "Expected " + name + " to be " + known + ", but it is \"" + found + "\"."};
}

}  // namespace

Status open_log_of_environment() {
  const std::string given = environment_variable("CAIRN_LOG");
  const std::string level = given.empty() ? "warn" : given;
  const std::optional<LogLevel> found = parse_log_level(level);
  if (!found) return unknown_word("CAIRN_LOG", "debug, info, warn or error", level);
  const std::string form = environment_variable("CAIRN_LOG_FORM");
  if (!form.empty() && form != "text" && form != "json") return unknown_word("CAIRN_LOG_FORM", "text or json", form);
  const LogLevel of_file = given.empty() ? LogLevel::info : *found;
  open_log(form == "json" ? LogForm::json : LogForm::text, *found, environment_variable("CAIRN_LOG_FILE"), of_file);
  return Done{};
}

Status check_environment(const Settings& settings) {
  const DatabaseChoice choice = choose_database(settings);
  if (Status dsn = check_dsn(choice.dsn, "CAIRN_DSN"); !dsn) return dsn;  // one in --dsn was parsed
  const Result<CheckpointOptions> checkpoints = checkpoint_options(choice);
  return checkpoints ? Status(Done{}) : checkpoints.error();
}

}  // namespace cairn

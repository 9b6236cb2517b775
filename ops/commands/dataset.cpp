#include "storage/data/dataset.hpp"

#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {

Exit load_dataset(const Settings& settings) {
  const Result<std::string> dsn = reach_database(choose_database(settings));
  if (!dsn) return dsn.error();
  const Result<bool> loaded = load_sample(*dsn);
  if (!loaded) return loaded.error();
  if (settings.json)
    print_json({{"schema", sample_schema}, {"login", sample_login}, {"loaded", *loaded}});
  else if (*loaded)
    print_line("Loaded the sample into the schema " + std::string(sample_schema) + ", for the login " + sample_login +
               ".");
  else
    print_line("The sample is there already, in the schema " + std::string(sample_schema) + ".");
  return 0;
}

}  // namespace cairn

// The surroundings of tasks: repositories made of lists of commits, pages, databases. Made at their first use,
// removed with the object. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "storage/data/dataset.hpp"
#include "workers/catalogue.hpp"

namespace cairn {

// The DSN of a server where databases may be created, by a login that may.
using ReachServer = std::function<Result<std::string>()>;

class TrialSurroundings {
 public:
  // `folder`: of the tasks.
  TrialSurroundings(std::string folder, ReachServer server);
  ~TrialSurroundings();
  TrialSurroundings(const TrialSurroundings&) = delete;
  TrialSurroundings& operator=(const TrialSurroundings&) = delete;

  // The folder of a repository with these commits (task_file.hpp). Refuses `invalid`, `unavailable` (no git).
  Result<std::string> repository(const std::string& planner, const std::string& name, const Json& commits);
  // The data set of FOLDER/databases/NAME.sql. Refuses `not_found`, `invalid` (no SQL), `unavailable`.
  Result<Dataset> database(const std::string& name);
  // http://127.0.0.1:PORT ; /NAME.html is FOLDER/pages/NAME.html.
  std::string pages();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn

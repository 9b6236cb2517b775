#include "ops/answers/explain_facts.hpp"
#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

std::string place_of(const Reason& reason) {
  if (reason.details.contains("sub_goal")) return "sub-goal " + reason.details["sub_goal"].get<std::string>();
  return reason.node.empty() ? "the run" : reason.node;
}

void print_reasons(const RunState& state, const std::vector<Reason>& reasons) {
  print_line(painted(to_string(state.id), Paint::bold) + "  " + state.graph->name + "  " +
             painted_status(status_word(state)));
  Table table({"STEP", "AT", "KIND", "WHY"});
  for (const Reason& reason : reasons)
    table.add({reason.step == 0 ? "" : std::to_string(reason.step), place_of(reason),
               std::string(to_string(reason.kind)), reason.says});
  table.print();
}

}  // namespace

Exit explain_run(const Settings& settings, const std::string& run) {
  Result<OpenedRun> found = find_run(settings, run);
  if (!found) return found.error();
  const Result<Explained> seen = look_at(*found->opened.client, *found->opened.store, found->opened.dsn, found->run);
  if (!seen) return seen.error();
  if (!settings.json) {
    print_reasons(seen->state, explain(seen->state, seen->situation));
    return 0;
  }
  print_json(explained_json(*seen));
  return 0;
}

}  // namespace cairn

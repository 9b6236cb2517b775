#include "ops/commands/hooks/hook_hints.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/embedded.hpp"
#include "engine/nearest.hpp"
#include "ops/terminal/print.hpp"
#include "workers/ports/own_process.hpp"
#include "workers/ports/secrets.hpp"
#include "workers/ports/text_file.hpp"
#include "workers/ports/tools_file.hpp"

namespace cairn {
namespace {

void hint_at_graph(Store& store, const std::string& graph) {
  std::vector<std::string> names;
  for (const GraphRow& row : store.graphs().names()) names.push_back(row.name);
  for (const EmbeddedFile& file : graph_files()) names.emplace_back(file.name.substr(0, file.name.find('.')));
  if (std::find(names.begin(), names.end(), graph) != names.end()) return;
  print_hint("No graph is named " + graph + did_you_mean(graph, names) + ": the hook sends once one has runs.");
}

Status secret_is_here(const std::string& secret) {
  const Error none{Code::not_found, "No secret " + secret + " is in the tools file of this environment (CAIRN_TOOLS)."};
  const std::string path = environment_variable("CAIRN_TOOLS");
  if (path.empty()) return none;
  const Result<Json> document = read_json_file(path, "the tools file");
  if (!document) return document.error();
  const Result<ToolsFile> file = parse_tools(*document);
  if (!file) return file.error();
  const auto source = std::find_if(file->secrets.begin(), file->secrets.end(),
                                   [&secret](const SecretSource& one) { return one.name == secret; });
  if (source == file->secrets.end()) return none;
  const Result<Secrets> opened = Secrets::open({*source});
  return opened ? Status(Done{}) : opened.error();
}

}  // namespace

void hint_at_hook(Store& store, const HookDefinition& hook) {
  if (!hook.graph.empty()) hint_at_graph(store, hook.graph);
  if (hook.secret.empty()) return;
  if (const Status here = secret_is_here(hook.secret); !here)
    print_hint(here.error().message + " What the hook sends waits for a process that has it.");
}

}  // namespace cairn

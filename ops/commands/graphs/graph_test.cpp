#include "ops/commands/graphs/graph_test.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>

#include "engine/graph_parsing.hpp"
#include "engine/nearest.hpp"
#include "engine/references.hpp"
#include "ops/answers/words.hpp"
#include "ops/commands/command_options.hpp"
#include "ops/commands/graphs/graph_shelf.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "storage/chain.hpp"
#include "workers/schemas/schema_check.hpp"
#include "workers/simulation/graph_case.hpp"
#include "workers/simulation/script.hpp"

namespace cairn {
namespace {

using simulation::CaseResult;
using simulation::CaseWorld;
using simulation::GraphCase;
using simulation::TakenEdge;

struct GraphTestOptions {
  std::string file;
  Json document;
};

// The graph that the document tests: it stands there, or its "graph" is a file in the same folder, or a name.
Result<std::vector<Json>> graphs_of(const Settings& settings, const Catalogue& catalogue, const std::string& file,
                                    const Json& document) {
  const Json graph = document.value("graph", Json());
  const std::filesystem::path folder = file == "-" ? "" : std::filesystem::path(file).parent_path();
  if (graph.is_object()) return graphs_with(settings, catalogue, graph, folder);
  if (!graph.is_string())
    return Error{Code::invalid, "Expected the \"graph\" of " + file + " to be a file, a name or a graph, but it is " +
                                    excerpt(graph, 60) + "."};
  const std::filesystem::path beside = folder / graph.get<std::string>();
  const bool is_file = file != "-" && std::filesystem::is_regular_file(beside);
  return graphs_for(settings, catalogue, is_file ? beside.string() : graph.get<std::string>());
}

// Answers fit the schema of their question as those of a person must.
Status check_answers(const std::string& name, const Json& values, const std::vector<GraphRef>& graphs) {
  for (const GraphRef& graph : graphs) {
    const NodeIndex at = graph->find(name);
    const AskNode* ask = at < 0 ? nullptr : std::get_if<AskNode>(&graph->node(at).settings);
    if (ask == nullptr || ask->schema.is_null() || has_reference(ask->schema)) continue;
    for (const Json& value : values)
      if (const Status fits = check_value(ask->schema, value); !fits)
        return Error{fits.error().code, "Of the answers to \"" + name + "\": " + fits.error().message};
  }
  return Done{};
}

bool has_text(const Json& value, const std::string& text) {
  if (value.is_string()) return value.get_ref<const std::string&>() == text;
  return value.is_structured() &&
         std::any_of(value.begin(), value.end(), [&text](const Json& one) { return has_text(one, text); });
}

// It may call tools that only a run names: by a plan, a channel, or a handler of another program.
bool names_tools_later(const GraphRef& graph, const HandlerTable& handlers) {
  return std::any_of(graph->nodes.begin(), graph->nodes.end(), [&handlers](const Node& node) {
    if (node.as<MapNode>() != nullptr && node.items() == nullptr) return true;
    if (node.work() == nullptr) return false;
    const Handler* handler = handlers.find(node.handler());
    const Json tool = node.work()->with.value("tool", Json());
    return handler == nullptr || !handler->settings || has_reference(tool);
  });
}

// Names that no graph of the case has are slips: the case would not say what its author means.
Status check_expected_names(const GraphCase& one, const std::vector<GraphRef>& graphs, const HandlerTable& handlers) {
  std::vector<std::string> nodes;
  for (const GraphRef& graph : graphs)
    for (const Node& node : graph->nodes) nodes.push_back(node.name);
  const auto check_node = [&nodes](const char* who, const std::string& name) -> Status {
    if (std::find(nodes.begin(), nodes.end(), name) != nodes.end()) return Done{};
    return Error{Code::invalid, std::string("Expected the ") + who + " to name nodes, but found " + Json(name).dump() +
                                    did_you_mean(name, nodes) + "."};
  };
  const Json path = one.expect.value("path", Json::array());
  for (const Json& name : path)
    if (Status known = check_node("path", name.get<std::string>()); !known) return known;
  const Json models = one.says.value("models", Json::object());
  for (const auto& [name, replies] : models.items())
    if (Status known = check_node("models", name); !known) return known;
  const auto is_open = [&handlers](const GraphRef& graph) { return names_tools_later(graph, handlers); };
  if (std::any_of(graphs.begin(), graphs.end(), is_open)) return Done{};
  const Json tools = one.says.value("tools", Json::object());
  for (const auto& [name, outcomes] : tools.items()) {
    const auto calls_it = [&tool = name](const GraphRef& graph) { return has_text(parse_stored(graph->text), tool); };
    if (std::none_of(graphs.begin(), graphs.end(), calls_it))
      return Error{Code::invalid,
                   "Expected the tools to name one that the graph calls, but found " + Json(name).dump() + "."};
  }
  return Done{};
}

// The words of a case must fit the graphs, and its input the graph's own schema.
Status check_case(const GraphCase& one, const std::vector<GraphRef>& graphs, const HandlerTable& handlers) {
  Json says = one.says;
  says.erase("models");
  Status fits = simulation::check_script(says, graphs, handlers);
  if (fits) fits = check_expected_names(one, graphs, handlers);
  const Json answers = says.value("answers", Json::object());
  for (const auto& [name, values] : answers.items())
    if (fits) fits = check_answers(name, values, graphs);
  if (!fits) return fits;
  const Graph& graph = *graphs.front();
  fits = check_value(graph.input, one.input);
  return fits ? fits : Error{fits.error().code, "In the input of graph " + graph.name + ": " + fits.error().message};
}

ToolTable tools_of(const Catalogue& catalogue, const std::vector<GraphCase>& cases) {
  ToolTable tools = catalogue.tools->table();
  for (const GraphCase& one : cases) {
    const Json said = one.says.value("tools", Json::object());
    for (const auto& [name, outcomes] : said.items()) tools.try_emplace(name);
  }
  return tools;
}

// How many of a graph's edges the cases took, and which none did.
struct Coverage {
  std::size_t edges = 0;
  std::vector<TakenEdge> missed;
};

struct Report {
  Json cases = Json::array();
  std::size_t failed = 0;
  std::set<TakenEdge> taken;

  void add(const GraphCase& one, CaseResult result) {
    if (!result.finding.empty()) ++failed;
    taken.merge(result.edges);
    cases.push_back({{"name", one.name},
                     {"ok", result.finding.empty()},
                     {"finding", result.finding.empty() ? Json() : Json(result.finding)},
                     {"status", result.status},
                     {"path", result.path}});
  }
  Coverage coverage(const Graph& graph) const {
    const std::set<TakenEdge> all = simulation::edges_of(graph);
    Coverage coverage{all.size(), {}};
    std::set_difference(all.begin(), all.end(), taken.begin(), taken.end(), std::back_inserter(coverage.missed));
    return coverage;
  }
};

// An output that its graph does not promise is a finding.
CaseResult checked(CaseResult result, const Graph& graph) {
  if (!result.finding.empty() || result.status != to_string(RunStatus::done)) return result;
  if (const Status fits = check_value(graph.output, result.output); !fits)
    result.finding = "In the output of graph " + graph.name + ": " + fits.error().message;
  return result;
}

void print_report(const Report& report, const Coverage& coverage) {
  for (const Json& one : report.cases) {
    const bool is_ok = one["ok"];
    print_paragraph(painted(is_ok ? "ok    " : "FAIL  ", is_ok ? Paint::green : Paint::red) +
                    one["name"].get<std::string>());
    if (!is_ok) print_below("      ", "      ", one["finding"].get<std::string>());
  }
  std::string missed;
  for (const auto& [node, label] : coverage.missed) missed += (missed.empty() ? "" : ", ") + node + " by " + label;
  print_paragraph(counted(static_cast<std::int64_t>(report.cases.size()), "case") + ", " +
                  std::to_string(report.failed) + " failed. " +
                  std::to_string(coverage.edges - coverage.missed.size()) + " of " + std::to_string(coverage.edges) +
                  " edges taken" + (missed.empty() ? "." : "; not " + missed + "."));
}

void print_report_json(const Report& report, const Coverage& coverage) {
  Json missed = Json::array();
  for (const auto& [node, label] : coverage.missed) missed.push_back({{"node", node}, {"label", label}});
  print_json({{"ok", report.failed == 0},
              {"cases", report.cases},
              {"edges", coverage.edges},
              {"taken", coverage.edges - coverage.missed.size()},
              {"missed", missed}});
}

Exit graph_test(const Settings& settings, const GraphTestOptions& options) {
  const Result<std::unique_ptr<Catalogue>> catalogue = open_catalogue(settings);
  if (!catalogue) return catalogue.error();
  const Json& document = options.document;
  if (!document.is_object())
    return Error{Code::invalid, "Expected the cases as an object, but got " + excerpt(document, 60) + "."};
  const Result<std::vector<Json>> graphs = graphs_of(settings, **catalogue, options.file, document);
  if (!graphs) return graphs.error();
  const Result<std::vector<GraphCase>> cases = simulation::read_cases(document.value("cases", Json()));
  if (!cases) return cases.error();
  std::vector<GraphRef> parsed;
  for (const Json& graph : *graphs) parsed.push_back(stored_graph(graph, graph_version(canonical(graph))));

  throw_on_check_failures();
  const CaseWorld world{*graphs, (*catalogue)->handlers, tools_of(**catalogue, *cases), *(*catalogue)->model};
  Report report;
  for (const GraphCase& one : *cases) {
    const Status fits =
        check_case(one, parsed, (*catalogue)->handlers);  // one that cannot run leaves the others theirs
    report.add(
        one,
        fits ? checked(simulation::run_case(one, world), *parsed.front())
             : CaseResult{
                   .finding = fits.error().message, .status = {}, .reason = {}, .output = {}, .path = {}, .edges = {}});
  }
  const Coverage coverage = report.coverage(*parsed.front());
  if (settings.json)
    print_report_json(report, coverage);
  else
    print_report(report, coverage);
  return report.failed == 0 ? exit_ok : exit_finding;
}

}  // namespace

void add_graph_test(CommandLine& line, CLI::App& group) {
  auto& options = line.keep<GraphTestOptions>();
  CLI::App& command = add_command(line, group, "test", "Run the cases of a file in virtual time; exit 1 if one fails",
                                  "cairn graph test order.test.json",
                                  [&](const Settings& settings) { return graph_test(settings, options); });
  add_text(command, "FILE", "", "The cases as JSON: {\"graph\": FILE or NAME, \"cases\": [...]}; - is stdin",
           [&](const std::string& file) {
             options.file = file;
             return assign(options.document,
                           file == "-" ? json_argument("@-", "the cases") : json_file(file, "the cases"));
           })
      ->required();
}

}  // namespace cairn

#include "workers/catalogue.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "engine/embedded.hpp"
#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "storage/postgres/dsn.hpp"
#include "workers/handlers/builtin_handlers.hpp"
#include "workers/models/http_model.hpp"
#include "workers/planners/planners.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/schema_check.hpp"
#include "workers/ports/text_file.hpp"
#include "workers/ports/tools_file.hpp"
#include "workers/rule_book.hpp"
#include "workers/tools/data/tools.hpp"
#include "workers/tools/page/tools.hpp"
#include "workers/tools/repository/tools.hpp"

namespace cairn {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Result<Json> read_json(const std::string& name, const std::string& what) {
  const Result<std::string> text = read_text_file(name, what);
  if (!text) return text.error();
  return parse_json(*text, what + " at " + name);
}

HandlerTable make_handlers(bool calls_urls) {
  HandlerTable table;
  add_builtin_handlers(table, calls_urls);
  add_seven_node(table);
  add_plan_runner(table);
  add_round_planner(table);
  add_tool_agent(table);
  add_plan_decomposer(table);
  add_plan_handlers(table);
  add_page_agent(table);
  add_venture_scope(table);
  return table;
}

Result<std::vector<GraphRef>> make_graphs(const Handlers& handlers) {
  std::vector<GraphRef> graphs;
  for (const EmbeddedFile& file : graph_files()) {
    const Result<Json> graph = parse_json(file.text, "the built-in graph " + std::string(file.name));
    if (!graph) return graph.error();
    Result<GraphRef> parsed = parse_graph(*graph, graph_version(canonical(*graph)), handlers);
    if (!parsed) return parsed.error();
    graphs.push_back(*std::move(parsed));
  }
  return graphs;
}

Result<double> read_cost(const std::string& name, const std::string& text) {
  if (text.empty()) return 0.0;
  double cost = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), cost);
  const bool is_cost = fault == std::errc{} && end == text.data() + text.size() && cost >= 0 && std::isfinite(cost);
  if (is_cost) return cost;
  return Error{Code::invalid, "Expected " + name + " to be a number of at least 0, but it is \"" + text + "\"."};
}

Result<std::int64_t> read_limit(const std::string& name, const std::string& text, std::int64_t otherwise,
                                std::int64_t most) {
  if (text.empty()) return otherwise;
  std::int64_t limit = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (fault == std::errc{} && end == text.data() + text.size() && limit >= 1 && limit <= most) return limit;
  return Error{Code::invalid,
               "Expected " + name + " to be from 1 to " + std::to_string(most) + ", but it is \"" + text + "\"."};
}

template <class T>
Result<T> read_word(const std::string& name, const std::string& text, const std::map<std::string, T>& words) {
  if (const auto found = words.find(text); found != words.end()) return found->second;
  std::string known;
  for (const auto& [word, value] : words) known += (known.empty() ? "" : ", ") + word;
  return Error{Code::invalid, "Expected " + name + " to be one of " + known + ", but it is \"" + text + "\"."};
}

Status read_forms(const CatalogueOptions& options, ModelEndpoint& endpoint) {
  if (!options.model_format.empty()) {
    const Result<ReplyFormat> format = read_word<ReplyFormat>("CAIRN_MODEL_FORMAT", options.model_format,
                                                              {{"json_schema", ReplyFormat::json_schema},
                                                               {"json_object", ReplyFormat::json_object},
                                                               {"text", ReplyFormat::text}});
    if (!format) return format.error();
    endpoint.format = *format;
  }
  if (!options.model_api.empty()) {
    const Result<ModelApi> api =
        read_word<ModelApi>("CAIRN_MODEL_API", options.model_api,
                            {{"chat", ModelApi::chat_completions}, {"responses", ModelApi::responses}});
    if (!api) return api.error();
    endpoint.api = *api;
  }
  const Result<std::int64_t> ms = read_limit("CAIRN_MODEL_MS", options.model_ms, 0, 86'400'000);
  if (!ms) return ms.error();
  endpoint.timeout_ms = *ms;
  return Done{};
}

Result<std::unique_ptr<Model>> make_model(const CatalogueOptions& options) {
  if (!options.model_script.empty()) {
    Result<Json> script = read_json(options.model_script, "the model's script");
    if (!script) return script.error();
    if (Status usable = check_script(*script); !usable) return std::move(usable).error();
    return make_scripted_model(*std::move(script));
  }
  if (options.model_url.empty()) return make_rule_model(rule_book_name, answer_by_rules);
  if (const Status usable = check_url(options.model_url); !usable)
    return Error{Code::invalid, "CAIRN_MODEL_URL: " + usable.error().message};
  ModelEndpoint endpoint;
  endpoint.url = options.model_url;
  endpoint.model = options.model;
  endpoint.api_key = options.model_key;
  if (Status known = read_forms(options, endpoint); !known) return known.error();
  const Result<double> cost_in = read_cost("CAIRN_MODEL_COST_IN", options.model_cost_in);
  if (!cost_in) return cost_in.error();
  const Result<double> cost_out = read_cost("CAIRN_MODEL_COST_OUT", options.model_cost_out);
  if (!cost_out) return cost_out.error();
  endpoint.cost_in = *cost_in;
  endpoint.cost_out = *cost_out;
  return make_http_model(std::move(endpoint));
}

// The data set that the tools for data ask. The sample's database is set later, by use_database.
Result<Dataset> make_dataset(const CatalogueOptions& options) {
  Dataset dataset;
  if (const Status dsn = check_dsn(options.dataset_dsn, "CAIRN_DATASET_DSN"); !dsn) return dsn.error();
  if (!options.dataset_dsn.empty()) dataset.dsn = options.dataset_dsn;
  if (!options.dataset_schema.empty()) dataset.schema = options.dataset_schema;
  const Result<std::int64_t> rows = read_limit("CAIRN_QUERY_ROWS", options.query_rows, dataset.limits.rows, 10'000);
  if (!rows) return rows.error();
  const Result<std::int64_t> time = read_limit("CAIRN_QUERY_MS", options.query_ms, dataset.limits.timeout_ms, 50'000);
  if (!time) return time.error();
  dataset.limits.rows = *rows;
  dataset.limits.timeout_ms = *time;
  return dataset;
}

Result<ToolsFile> read_tools_file(const std::string& name) {
  if (name.empty()) return ToolsFile{};
  const Result<Json> document = read_json(name, "the tools file");
  if (!document) return document.error();
  return parse_tools(*document);
}

Result<std::vector<ToolSpec>> make_builtin_tools(const CatalogueOptions& options, const Dataset& dataset,
                                                 const BuiltinTools& builtin, const Secrets& secrets) {
  std::vector<ToolSpec> specs = builtin_tools();
  const auto add = [&specs](std::vector<ToolSpec> more) {
    std::move(more.begin(), more.end(), std::back_inserter(specs));
  };
  add(repository_tools(builtin.repositories));
  add(page_tools(
      {options.browser_pages, options.browser_screenshots, options.browser_uploads, options.browser_kept, secrets}));
  const Result<const QueryLanguage*> language = find_query_language(options.query_language);
  if (!language) return language.error();
  add(data_tools(dataset, **language));
  specs.push_back(corpus_tool(
      options.corpora ? options.corpora : corpora_in_memory({{example_corpus, example_documents()}}), builtin.corpora));
  for (ToolSpec& spec : specs) {
    if (!is_allowed(builtin, spec.name)) spec = refused_tool(spec.name);
  }
  return specs;
}

// A tool of the file takes the place of a built-in one with its name.
Result<std::unique_ptr<Tools>> make_all_tools(const CatalogueOptions& options, const Dataset& dataset, ToolsFile file,
                                              Secrets secrets) {
  Result<std::vector<ToolSpec>> specs = make_builtin_tools(options, dataset, file.builtin, secrets);
  if (!specs) return specs.error();
  std::move(file.tools.begin(), file.tools.end(), std::back_inserter(*specs));
  return make_tools(*std::move(specs), options.tool_threads, {std::move(secrets), std::move(file.builtin.urls)});
}

}  // namespace

CatalogueOptions catalogue_options_from_environment() {
  CatalogueOptions options;
  options.tools_file = from_environment("CAIRN_TOOLS");
  options.model_url = from_environment("CAIRN_MODEL_URL");
  options.model = from_environment("CAIRN_MODEL");
  options.model_key = from_environment("CAIRN_MODEL_KEY");
  options.model_format = from_environment("CAIRN_MODEL_FORMAT");
  options.model_api = from_environment("CAIRN_MODEL_API");
  options.model_ms = from_environment("CAIRN_MODEL_MS");
  options.model_cost_in = from_environment("CAIRN_MODEL_COST_IN");
  options.model_cost_out = from_environment("CAIRN_MODEL_COST_OUT");
  options.model_script = from_environment("CAIRN_MODEL_SCRIPT");
  options.browser_pages = from_environment("CAIRN_BROWSER_PAGES");
  options.browser_screenshots = from_environment("CAIRN_BROWSER_SCREENSHOTS");
  options.dataset_dsn = from_environment("CAIRN_DATASET_DSN");
  options.dataset_schema = from_environment("CAIRN_DATASET_SCHEMA");
  options.query_rows = from_environment("CAIRN_QUERY_ROWS");
  options.query_ms = from_environment("CAIRN_QUERY_MS");
  options.browser_uploads = from_environment("CAIRN_BROWSER_UPLOADS");
  options.browser_kept = from_environment("CAIRN_BROWSER_KEPT");
  if (const std::string language = from_environment("CAIRN_QUERY_LANGUAGE"); !language.empty())
    options.query_language = language;
  return options;
}

void Catalogue::use_database(const std::string& dsn, const std::string& owner_dsn) {
  if (dataset.dsn) return;
  dataset.dsn = dsn;
  dataset.login = sample_login;
  dataset.load_dsn = owner_dsn;
}

Result<std::unique_ptr<Catalogue>> make_catalogue(const CatalogueOptions& options) {
  Result<ToolsFile> file = read_tools_file(options.tools_file);
  if (!file) return file.error();
  auto catalogue = std::make_unique<Catalogue>();
  catalogue->handlers = make_handlers(file->builtin.urls.has_value());
  Result<std::vector<GraphRef>> graphs = make_graphs(catalogue->handlers.labels());
  if (!graphs) return graphs.error();
  catalogue->graphs = *std::move(graphs);
  Result<std::unique_ptr<Model>> model = make_model(options);
  if (!model) return model.error();
  catalogue->model = *std::move(model);
  catalogue->has_model = !options.model_script.empty() || !options.model_url.empty();
  Result<Dataset> dataset = make_dataset(options);
  if (!dataset) return dataset.error();
  catalogue->dataset = *std::move(dataset);
  Result<Secrets> secrets = Secrets::open(std::move(file->secrets));
  if (!secrets) catalogue->secrets = secrets.error();
  Result<std::unique_ptr<Tools>> tools =
      make_all_tools(options, catalogue->dataset, *std::move(file), secrets ? *std::move(secrets) : Secrets());
  if (!tools) return tools.error();
  catalogue->tools = *std::move(tools);
  return catalogue;
}

Surroundings surroundings_of(const Catalogue& catalogue) {
  Surroundings around;
  around.handlers = catalogue.handlers.labels();
  around.handler_names = catalogue.handlers.here();
  around.check_schema = check_schema;
  around.check_value = check_value;
  around.tools.emplace();
  if (catalogue.tools != nullptr)
    for (const auto& [name, facts] : catalogue.tools->table()) around.tools->push_back(name);
  around.graphs.emplace();
  for (const GraphRef& graph : catalogue.graphs) around.graphs->push_back(graph->name);
  around.find_graph = [&catalogue](const std::string& name) -> GraphRef {
    for (const GraphRef& graph : catalogue.graphs)
      if (graph->name == name) return graph;
    return nullptr;
  };
  return around;
}

}  // namespace cairn

#include "workers/catalogue.hpp"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <utility>

#include "engine/embedded.hpp"
#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "storage/postgres/dsn.hpp"
#include "workers/handlers/builtin_handlers.hpp"
#include "workers/planners/planners.hpp"
#include "workers/ports/own_process.hpp"
#include "workers/ports/text_file.hpp"
#include "workers/ports/tools_file.hpp"
#include "workers/rule_book.hpp"
#include "workers/schemas/schema_check.hpp"
#include "workers/tools/corpus/meaning.hpp"
#include "workers/tools/data/tools.hpp"
#include "workers/tools/mcp/servers.hpp"
#include "workers/tools/page/tools.hpp"
#include "workers/tools/repository/tools.hpp"

namespace cairn {
namespace {

HandlerTable make_handlers(bool calls_urls) {
  HandlerTable table;
  add_builtin_handlers(table, calls_urls);
  add_seven_node(table);
  add_plan_runner(table);
  add_round_planner(table);
  add_tool_agent(table);
  add_plan_decomposer(table);
  add_plan_and_do(table);
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

Result<std::int64_t> read_limit(const std::string& name, const std::string& text, std::int64_t otherwise,
                                std::int64_t most) {
  if (text.empty()) return otherwise;
  std::int64_t limit = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (fault == std::errc{} && end == text.data() + text.size() && limit >= 1 && limit <= most) return limit;
  return Error{Code::invalid,
               "Expected " + name + " to be from 1 to " + std::to_string(most) + ", but it is \"" + text + "\"."};
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
  const Result<Json> document = read_json_file(name, "the tools file");
  if (!document) return document.error();
  return parse_tools(*document);
}

// The folder for what can be made again: CAIRN_CACHE ("off": none), $XDG_CACHE_HOME/cairn, ~/.cache/cairn; "": none.
// Absolute, as workers stand in different directories.
std::string cache_folder() {
  const std::string own = environment_variable("CAIRN_CACHE");
  const std::string shared = environment_variable("XDG_CACHE_HOME");
  const std::string home = environment_variable("HOME");
  if (own == "off") return "";
  if (!own.empty()) return std::filesystem::absolute(own).string();
  if (shared.starts_with('/')) return shared + "/cairn";
  return home.starts_with('/') ? home + "/.cache/cairn" : "";
}

// The search by words, and by meaning where embeddings are configured.
Result<SearchCorpus> make_corpora(const CatalogueOptions& options) {
  SearchCorpus words = options.corpora;
  ReadCorpus passages = options.corpus_passages;
  if (!words) {
    words = corpora_in_memory({{example_corpus, example_documents()}});
    passages = passages_in_memory({{example_corpus, example_documents()}});
  }
  Result<std::optional<EmbeddingEndpoint>> endpoint = embedding_endpoint(options.embeddings, options.models);
  if (!endpoint) return endpoint.error();
  if (!*endpoint || !passages) return words;
  return with_meaning(std::move(words), std::move(passages), **std::move(endpoint),
                      options.cache.empty() ? "" : options.cache + "/vectors");
}

// Links resolved, as the tools compare paths.
std::string whole_path(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code fault;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, fault), fault);
  return fault ? path : (whole.has_filename() ? whole : whole.parent_path()).string();
}

Result<std::vector<ToolSpec>> make_builtin_tools(const CatalogueOptions& options, const Dataset& dataset,
                                                 const BuiltinTools& builtin, const Secrets& secrets,
                                                 std::shared_ptr<LocalRuns> local) {
  std::vector<ToolSpec> specs = builtin_tools();
  const auto add = [&specs](std::vector<ToolSpec> more) {
    std::move(more.begin(), more.end(), std::back_inserter(specs));
  };
  add(repository_tools(builtin.repositories, options.cache.empty() ? "" : options.cache + "/histories"));
  add(page_tools({options.browser_pages, options.browser_screenshots, options.browser_uploads, options.browser_kept,
                  secrets, std::move(local)}));
  const Result<const QueryLanguage*> language = find_query_language(options.query_language);
  if (!language) return language.error();
  add(data_tools(dataset, **language));
  Result<SearchCorpus> corpora = make_corpora(options);
  if (!corpora) return corpora.error();
  specs.push_back(corpus_tool(*std::move(corpora), builtin.corpora));
  for (ToolSpec& spec : specs) {
    if (!is_allowed(builtin, spec.name)) spec = refused_tool(spec.name);
  }
  return specs;
}

// The places that built-in tools and http.call may reach, and what they answer from, as means.hpp has it.
std::vector<std::string> allowances(const CatalogueOptions& options, const Dataset& dataset, const ToolsFile& file) {
  std::vector<std::string> allows;
  const auto add = [&allows](const std::string& kind, const std::vector<std::string>& names) {
    for (const std::string& name : names) allows.push_back(kind + " " + name);
  };
  if (file.builtin.urls) add("url", file.builtin.urls->texts());
  for (const SecretSource& secret : file.secrets) allows.push_back("secret " + secret.name);
  for (const std::string& root : file.builtin.repositories) allows.push_back("repository " + whole_path(root));
  add("corpus", file.builtin.corpora.value_or(std::vector<std::string>{"*"}));
  std::istringstream pages(options.browser_pages);
  for (std::string page; pages >> page;) allows.push_back("page " + page);
  allows.push_back("page " + whole_path("."));
  allows.push_back("data " + (dataset.dsn ? public_dsn(*dataset.dsn) + " " + dataset.schema : "sample"));
  allows.push_back("query " + options.query_language + ", " + std::to_string(dataset.limits.rows) + " rows, " +
                   std::to_string(dataset.limits.timeout_ms) + " ms");
  return allows;
}

// A tool of the file takes the place of a built-in one with its name.
Result<std::unique_ptr<Tools>> make_all_tools(const CatalogueOptions& options, Catalogue& catalogue, ToolsFile file,
                                              Secrets secrets) {
  Result<std::vector<ToolSpec>> specs =
      make_builtin_tools(options, catalogue.dataset, file.builtin, secrets, catalogue.local_runs);
  if (!specs) return specs.error();
  std::move(file.tools.begin(), file.tools.end(), std::back_inserter(*specs));
  if (options.own) specs->insert(specs->end(), options.own->tools.begin(), options.own->tools.end());
  for (const ToolSpec& spec : *specs)
    spec.is_refused ? void(catalogue.refused_tools.insert(spec.name)) : void(catalogue.refused_tools.erase(spec.name));
  return make_tools(*std::move(specs), options.tool_threads, {std::move(secrets), std::move(file.builtin.urls)});
}

constexpr std::int64_t servers_patience_ms = 30'000;

Status add_own(HandlerTable& handlers, const std::vector<Handler>& own) {
  for (const Handler& handler : own) {
    if (handlers.find(handler.name) != nullptr)
      return Error{Code::invalid,
                   "Expected another name for a handler, but there is one named \"" + handler.name + "\"."};
    handlers.add(handler);
  }
  return Done{};
}

void add_tool(const std::string& name, const ToolFacts& facts, Surroundings& around) {
  around.tools->push_back(name);
  around.usual_queues.push_back(facts.queue);
  if (!facts.takes.empty()) around.tool_inputs.emplace(name, facts.takes);
}

void add_queues(const Graph& graph, std::vector<std::string>& queues) {
  for (const Node& node : graph.nodes)
    if (node.work() != nullptr) queues.push_back(node.work()->queue);
}

}  // namespace

CatalogueOptions catalogue_options_from_environment() {
  CatalogueOptions options;
  options.tools_file = environment_variable("CAIRN_TOOLS");
  options.models = model_settings_from_environment();
  options.embeddings = embedding_settings_from_environment();
  options.cache = cache_folder();
  options.browser_pages = environment_variable("CAIRN_BROWSER_PAGES");
  options.browser_screenshots = environment_variable("CAIRN_BROWSER_SCREENSHOTS");
  options.browser_uploads = environment_variable("CAIRN_BROWSER_UPLOADS");
  options.browser_kept = environment_variable("CAIRN_BROWSER_KEPT");
  options.dataset_dsn = environment_variable("CAIRN_DATASET_DSN");
  options.dataset_schema = environment_variable("CAIRN_DATASET_SCHEMA");
  options.query_rows = environment_variable("CAIRN_QUERY_ROWS");
  options.query_ms = environment_variable("CAIRN_QUERY_MS");
  if (const std::string language = environment_variable("CAIRN_QUERY_LANGUAGE"); !language.empty())
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
  if (options.own)
    if (const Status added = add_own(catalogue->handlers, options.own->handlers); !added) return added.error();
  Result<std::vector<GraphRef>> graphs = make_graphs(catalogue->handlers.labels());
  if (!graphs) return graphs.error();
  catalogue->graphs = *std::move(graphs);
  Result<std::unique_ptr<Model>> model = make_model(options.models);
  if (!model) return model.error();
  catalogue->has_model = *model != nullptr;
  catalogue->model = catalogue->has_model ? *std::move(model) : make_rule_model(rule_book_name, answer_by_rules);
  Result<Dataset> dataset = make_dataset(options);
  if (!dataset) return dataset.error();
  catalogue->dataset = *std::move(dataset);
  catalogue->allows = allowances(options, catalogue->dataset, *file);
  Result<Secrets> secrets = Secrets::open(std::move(file->secrets));
  if (!secrets) catalogue->secrets = secrets.error();
  if (secrets) catalogue->mcp_secrets = *secrets;
  catalogue->mcp_entries = std::move(file->servers);
  Result<std::unique_ptr<Tools>> tools =
      make_all_tools(options, *catalogue, *std::move(file), secrets ? *std::move(secrets) : Secrets());
  if (!tools) return tools.error();
  catalogue->tools = *std::move(tools);
  return catalogue;
}

Status make_ready_to_work(Catalogue& catalogue) {
  if (!catalogue.secrets) return catalogue.secrets;
  if (catalogue.mcp_entries.empty() || catalogue.mcp != nullptr) return Done{};
  Result<std::shared_ptr<McpServers>> connected =
      McpServers::connect(catalogue.mcp_entries, catalogue.mcp_secrets, servers_patience_ms);
  if (!connected) return connected.error();
  catalogue.mcp = *std::move(connected);
  add_tools(*catalogue.tools, catalogue.mcp->tools());
  catalogue.declared_work = canonical({{"handlers", Json::array()}, {"tools", catalogue.mcp->declared()}});
  return Done{};
}

bool is_built_in(const Catalogue& catalogue, const std::string& graph) {
  return std::any_of(catalogue.graphs.begin(), catalogue.graphs.end(),
                     [&graph](const GraphRef& one) { return one->name == graph; });
}

Surroundings surroundings_of(const Catalogue& catalogue) {
  Surroundings around;
  around.usual_queues.emplace_back("default");
  around.handlers = catalogue.handlers.labels();
  around.handler_names = catalogue.handlers.here();
  around.check_schema = check_schema;
  around.check_value = check_value;
  around.tools.emplace();
  if (catalogue.tools != nullptr)
    for (const auto& [name, facts] : catalogue.tools->table()) add_tool(name, facts, around);
  for (const GraphRef& graph : catalogue.graphs) add_queues(*graph, around.usual_queues);
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

// The catalogue: everything that this program brings along, wired by hand from its configuration: handlers, built-in
// graphs, tools and the model. Built once at start; safe from any thread afterwards, except the model and the tools,
// which the worker's serial executor uses one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/graph_review.hpp"
#include "storage/data/dataset.hpp"
#include "workers/handlers/handler.hpp"
#include "workers/models/embeddings.hpp"
#include "workers/models/model_settings.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"
#include "workers/ports/tools_file.hpp"
#include "workers/tools/corpus/corpus_tool.hpp"
#include "workers/tools/page/local_runs.hpp"

namespace cairn {

class McpServers;

// The handlers and tools of a program that Cairn is built into. A tool takes the place of another one with its name.
struct OwnWork {
  std::vector<Handler> handlers;
  std::vector<ToolSpec> tools;
};

struct CatalogueOptions {
  std::string tools_file;     // --tools or CAIRN_TOOLS; "": none
  ModelSettings models;       // CAIRN_MODEL_URL and so on; none: the rule book answers
  std::string cache;          // CAIRN_CACHE: a folder for what can be made again; "": none
  std::string browser_pages;  // CAIRN_BROWSER_PAGES: which URLs a browser may open, see workers/tools/page/tools.hpp
  std::string browser_screenshots;  // CAIRN_BROWSER_SCREENSHOTS
  std::string browser_uploads;      // CAIRN_BROWSER_UPLOADS
  std::string browser_kept;         // CAIRN_BROWSER_KEPT
  std::string dataset_dsn;     // CAIRN_DATASET_DSN: the database that the tools for data ask; "": the sample in ours
  std::string dataset_schema;  // CAIRN_DATASET_SCHEMA; "": the sample's
  std::string query_rows;      // CAIRN_QUERY_ROWS; "": 200
  std::string query_ms;        // CAIRN_QUERY_MS; "": 5000
  std::string query_language = "sql";  // CAIRN_QUERY_LANGUAGE
  int tool_threads = 4;
  SearchCorpus corpora;                // searched by `corpus_search`; none: the example in memory
  ReadCorpus corpus_passages;          // their passages, for a ranking by meaning; none: no such ranking
  EmbeddingSettings embeddings;        // CAIRN_EMBED_URL and so on, for that ranking
  std::shared_ptr<const OwnWork> own;  // null: none
};

CatalogueOptions catalogue_options_from_environment();

struct Catalogue {
  HandlerTable handlers;
  std::vector<GraphRef> graphs;  // built in
  std::unique_ptr<Model> model;
  bool has_model = false;  // a language model, or a script of one; else it is the rule book
  Dataset dataset;         // asked by the tools for data, which read it when they run
  std::unique_ptr<Tools> tools;
  std::set<std::string> refused_tools;  // those of its table that the tools file does not allow
  std::vector<std::string> allows;      // what its settings let tools reach, as means.hpp has it
  std::shared_ptr<LocalRuns> local_runs = std::make_shared<LocalRuns>();
  Status secrets = Done{};  // the fault of one that is missing: such a process executes no steps, but may do all else
  std::vector<McpEntry> mcp_entries;         // of the tools file
  Secrets mcp_secrets;                       // for them
  std::shared_ptr<McpServers> mcp;           // null: not connected, and their tools are not in the table
  std::optional<std::string> declared_work;  // of the session of a worker: what it says of their tools

  // Sets the database of the sample data set, unless another one is configured. Into an embedded database, which is
  // ours, its owner loads the sample at its first use; "": it is not loaded. REQUIRES: no tool has run yet.
  void use_database(const std::string& dsn, const std::string& owner_dsn);
};

// Whether the program brings along a graph of that name.
bool is_built_in(const Catalogue& catalogue, const std::string& graph);

// The knowledge of this program around a graph: its handlers, tools and built-in graphs, and the check of JSON Schemas.
// REQUIRES: the catalogue outlives it.
Surroundings surroundings_of(const Catalogue& catalogue);

// Makes a process ready to execute steps: its secrets are there, and the servers of the tools file are connected and
// have listed their tools, which are tools of the catalogue from then on. Blocks; does nothing the second time.
// REQUIRES: no other thread uses the catalogue yet. Refuses the fault of a secret, and `unavailable`: a server that has
// not listed its tools within thirty seconds.
Status make_ready_to_work(Catalogue& catalogue);

// Refuses `invalid` (also an own handler whose name is taken), `not_found` (a file) with one sentence.
Result<std::unique_ptr<Catalogue>> make_catalogue(const CatalogueOptions& options);

}  // namespace cairn

// Embedded files: text files that are part of the program. Constant data, safe from any thread.
#pragma once

#include <span>
#include <string_view>

namespace cairn {

struct EmbeddedFile {
  std::string_view name;  // relative to its folder, "/" between parts
  std::string_view text;
};

std::span<const EmbeddedFile> schema_files();          // in `schema`
std::span<const EmbeddedFile> graph_files();           // in `engine/graphs`
std::span<const EmbeddedFile> page_files();            // in `workers/tools/page/pages`
std::span<const EmbeddedFile> profile_files();         // in `workers/planners/venture_scope/profiles`
std::span<const EmbeddedFile> example_corpus_files();  // in `workers/tools/corpus/example_corpus`
std::span<const EmbeddedFile> document_schemas();      // `ops/guide/*.schema.json`
std::span<const EmbeddedFile> api_documents();         // `ops/http/*.json`
std::span<const EmbeddedFile> guide_files();           // in `ops/guide`

}  // namespace cairn

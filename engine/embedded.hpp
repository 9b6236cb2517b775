// Text files that are part of the program. Constant data, safe from any thread.
#pragma once

#include <span>
#include <string_view>

namespace cairn {

struct EmbeddedFile {
  std::string_view name;  // relative to its folder, "/" between parts
  std::string_view text;
};

std::span<const EmbeddedFile> schema_files();          // of `schema`
std::span<const EmbeddedFile> graph_files();           // of `engine/graphs`
std::span<const EmbeddedFile> page_files();            // of `workers/tools/page/pages`
std::span<const EmbeddedFile> profile_files();         // of `workers/planners/venture_scope/profiles`
std::span<const EmbeddedFile> example_corpus_files();  // of `workers/tools/corpus/example_corpus`

}  // namespace cairn

// Documents of a corpus from text and Markdown files: titled, and cut into passages of a few sentences. A folder is
// read whole or not at all. Reading blocks; safe from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/result.hpp"
#include "storage/data/corpus.hpp"

namespace cairn {

inline constexpr std::size_t document_bytes_max = 4u * 1024 * 1024;
inline constexpr std::size_t folder_bytes_max = 256u * 1024 * 1024;
inline constexpr std::size_t passage_bytes_max = 1200;  // a longer sentence is cut

// The title is the first heading, else the file's name. REQUIRES: `text` is UTF-8 without NUL.
Document document_of(std::string source, std::string_view text);

struct Folder {
  std::string name;
  std::vector<Document> documents;  // in order of their sources
};

// All .txt, .md and .markdown files below the directory, except empty and hidden ones. Refuses `not_found` (no such
// folder, a file without permission), `invalid` (a file that is not UTF-8, no documents at all), `limit` (too large, in
// all or one of them).
Result<Folder> read_documents(const std::string& directory);

// Refuses `invalid`: a name other than [a-z][a-z0-9_-]* of at most 63 bytes.
Status check_corpus_name(const std::string& name);

}  // namespace cairn

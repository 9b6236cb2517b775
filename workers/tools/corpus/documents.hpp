// Documents of a corpus from a folder's files: text, Markdown, HTML, CSV, PDF (by the program pdftotext of Debian's
// poppler-utils) and DOCX (by unzip): titled, and cut into passages of a few sentences. A file that cannot be read is
// passed over and named. Reading blocks; safe from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/result.hpp"
#include "storage/data/corpus.hpp"

namespace cairn {

inline constexpr std::size_t document_bytes_max = 4u * 1024 * 1024;  // of a document's text
inline constexpr std::size_t packed_bytes_max = 64u * 1024 * 1024;   // of a PDF or DOCX file
inline constexpr std::size_t folder_bytes_max = 256u * 1024 * 1024;
inline constexpr std::size_t passage_bytes_max = 1200;  // a longer sentence is cut

// The title is the first heading, else the file's name. REQUIRES: `text` is UTF-8 without NUL.
Document document_of(std::string source, std::string_view text);

struct Folder {
  std::string name;
  std::vector<Document> documents;  // in order of their sources
  std::vector<UnreadFile> unread;   // likewise
};

// All .txt, .md, .markdown, .html, .htm, .csv, .pdf and .docx files below the directory, except empty and hidden ones.
// A file is unread that is not UTF-8, too large, without permission or text, or whose program fails or is not there.
// Refuses `not_found` (no such folder), `invalid` (no document could be read), `limit` (too large in all).
Result<Folder> read_documents(const std::string& directory);

// Refuses `invalid`: a name other than [a-z][a-z0-9_-]* of at most 63 bytes.
Status check_corpus_name(const std::string& name);

}  // namespace cairn

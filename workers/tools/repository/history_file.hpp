// Histories kept in a folder of this user's own, so that the next process need not read them again: one file for each
// repository. A file that is damaged, of another version or of another repository counts as absent; so does a folder or
// file that another user could have written. Blocks; safe from any thread and with other processes.
//
//   file    = "cairn-history 1\n" body sha256(all before it)
//   body    = text(source) text(head) list(author) list(path) list(commit) list(change) text(subjects) text(ids)
//   text    = u64 size, bytes;  list = u64 count, elements;  author = text text;  path = text
//   commit  = i64 at, i64 committed, u64 subject, u64 id, u32 change, u32 changes, u32 author, u16 subject bytes,
//             u16 zone minutes, u16 id bytes
//   change  = u32 path, u32 from, u32 added, u32 deleted;  numbers are little endian
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "workers/ports/kept_folder.hpp"
#include "workers/tools/repository/commits.hpp"

namespace cairn {

std::string encode_history(const std::string& source, const CommitLog& log);

// Nothing if the bytes are not a whole history of that source.
std::optional<CommitLog> decode_history(const std::string& source, std::string_view bytes);

class HistoryFolder {
 public:
  // `directory`: made (0700) when something is first kept there; "": nothing is. Its files together have at most
  // `bytes_max`: those that were used longest ago go.
  HistoryFolder(std::string directory, std::size_t bytes_max);

  // `source` names the repository.
  std::optional<CommitLog> read(const std::string& source) const;

  // Replaces the file at once or not at all. A fault is no refusal: the history is read again next time.
  void write(const std::string& source, const CommitLog& log) const;

  std::string file_of(const std::string& source) const;

 private:
  KeptFolder folder_;
};

}  // namespace cairn

// The commits of a code base, whatever they are read from. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/id.hpp"
#include "engine/result.hpp"

namespace cairn {

inline constexpr std::size_t history_bytes_max = 256u * 1024 * 1024;

struct FileChange {
  std::string path;
  std::int64_t added = 0;  // 0 for a binary file
  std::int64_t deleted = 0;
};

struct CodeCommit {
  std::string id;
  std::string author;
  std::string date;     // as recorded, RFC 3339
  std::string subject;  // "" if the source has none
  TimeUs at_us = 0;
  std::vector<FileChange> files;  // a rename is a change of both its paths
};

enum class FilesOf : std::uint8_t {
  path,    // the files of each commit that lie under the path
  commit,  // all files of each commit that touches the path
};

}  // namespace cairn

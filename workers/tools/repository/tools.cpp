#include "workers/tools/repository/tools.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "workers/ports/failures.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/tools/repository/history.hpp"

namespace cairn {
namespace {

constexpr std::int64_t tool_timeout_ms = 120'000;
constexpr std::size_t name_bytes_max = 1024;
constexpr std::size_t limit_default = 10;
constexpr std::size_t limit_max = 100;

struct Wanted {
  HistoryQuery query;
  std::size_t limit = limit_default;
};

std::string shown(std::string_view name) { return readable_line(name, name_bytes_max); }

Result<std::string> text_input(const Json& inputs, const char* name) {
  const auto at = inputs.find(name);
  if (at == inputs.end() || at->is_null()) return std::string();
  if (at->is_string()) return at->get<std::string>();
  return Error{Code::invalid,
               std::string("Expected the input `") + name + "` to be a string, but it is " + excerpt(*at, 100) + "."};
}

Result<Wanted> wanted_of(const ToolCall& call, FilesOf files) {
  if (!call.inputs.is_object()) return Error{Code::invalid, "Expected the inputs to be an object, but they are not."};
  const Result<std::string> repository = text_input(call.inputs, "repository");
  if (!repository) return repository.error();
  const Result<std::string> place = text_input(call.inputs, "path");
  if (!place) return place.error();
  const Json limit = call.inputs.value("limit", Json(nullptr));
  const bool is_count = limit.is_number_integer() && limit >= 1 && limit <= limit_max;
  if (!limit.is_null() && !is_count) {
    return Error{Code::invalid, "Expected the input `limit` to be 1 to 100, but it is " + excerpt(limit, 100) + "."};
  }
  Wanted wanted;
  wanted.query = {*repository, *place, files, call.timeout_ms > 0 ? call.timeout_ms : tool_timeout_ms};
  if (is_count) wanted.limit = limit.get<std::size_t>();
  return wanted;
}

// --- authors ---------------------------------------------------------------------------------------------------------
struct AuthorCount {
  std::string author;
  std::size_t commits = 0;
};

// Most commits first; equals stay in the order of their latest commits, because the log is latest first.
std::vector<AuthorCount> authors_of(const CodeHistory& history) {
  std::vector<AuthorCount> authors;
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (const CodeCommit& commit : history.commits) {
    const auto [at, is_new] = by_name.try_emplace(commit.author, authors.size());
    if (is_new) authors.push_back({commit.author, 0});
    ++authors[at->second].commits;
  }
  std::stable_sort(authors.begin(), authors.end(),
                   [](const AuthorCount& a, const AuthorCount& b) { return a.commits > b.commits; });
  return authors;
}

double share_of(std::size_t part, std::size_t whole) {
  const double permille = static_cast<double>((part * 1000 + whole / 2) / whole);
  return permille / 1000;
}

Json share_rows(const std::vector<AuthorCount>& authors, std::size_t count, std::size_t commits) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < std::min(count, authors.size()); ++i) {
    rows.push_back({{"author", shown(authors[i].author)},
                    {"commits", authors[i].commits},
                    {"share", share_of(authors[i].commits, commits)}});
  }
  return rows;
}

std::size_t bus_factor_of(const std::vector<AuthorCount>& authors, std::size_t commits) {
  std::size_t covered = 0;
  std::size_t count = 0;
  while (count < authors.size() && 2 * covered < commits) covered += authors[count++].commits;
  return count;
}

std::string last_commit_date(const CodeHistory& history) {
  const auto latest = std::max_element(history.commits.begin(), history.commits.end(),
                                       [](const CodeCommit& a, const CodeCommit& b) { return a.at_us < b.at_us; });
  return latest == history.commits.end() ? std::string() : latest->date.substr(0, 10);
}

// --- the five --------------------------------------------------------------------------------------------------------
void add_owners(const CodeHistory& history, std::size_t limit, Json& answer) {
  const std::vector<AuthorCount> authors = authors_of(history);
  answer["owner"] = shown(authors.front().author);
  answer["owner_commits"] = authors.front().commits;
  answer["last_commit_date"] = last_commit_date(history);
  answer["shares"] = share_rows(authors, limit, history.commits.size());
}

void add_bus_factor(const CodeHistory& history, std::size_t, Json& answer) {
  const std::vector<AuthorCount> authors = authors_of(history);
  const std::size_t factor = bus_factor_of(authors, history.commits.size());
  answer["bus_factor"] = factor;
  answer["holders"] = share_rows(authors, factor, history.commits.size());
}

Json change_row(const CodeCommit& commit) {
  std::int64_t added = 0;
  std::int64_t deleted = 0;
  for (const FileChange& change : commit.files) {
    added += change.added;
    deleted += change.deleted;
  }
  return {{"commit", shown(commit.id)},
          {"author", shown(commit.author)},
          {"date", commit.date.substr(0, 10)},
          {"subject", shown(commit.subject)},
          {"files", commit.files.size()},
          {"added", added},
          {"deleted", deleted}};
}

void add_recent_changes(const CodeHistory& history, std::size_t limit, Json& answer) {
  std::vector<const CodeCommit*> latest;
  for (const CodeCommit& commit : history.commits) latest.push_back(&commit);
  std::stable_sort(latest.begin(), latest.end(),
                   [](const CodeCommit* a, const CodeCommit* b) { return a->at_us > b->at_us; });
  answer["changes"] = Json::array();
  for (std::size_t i = 0; i < std::min(limit, latest.size()); ++i) answer["changes"].push_back(change_row(*latest[i]));
}

struct FileUse {
  std::string_view path;
  std::size_t commits = 0;
  std::set<std::string_view> authors;
  std::int64_t added = 0;
  std::int64_t deleted = 0;
};

std::vector<FileUse> files_of(const CodeHistory& history) {
  std::map<std::string_view, FileUse> by_path;
  for (const CodeCommit& commit : history.commits) {
    std::set<std::string_view> seen;
    for (const FileChange& change : commit.files) {
      FileUse& file = by_path[change.path];
      file.path = change.path;
      if (seen.insert(change.path).second) ++file.commits;
      file.authors.insert(commit.author);
      file.added += change.added;
      file.deleted += change.deleted;
    }
  }
  std::vector<FileUse> files;
  for (auto& [path, file] : by_path) files.push_back(std::move(file));
  return files;
}

void add_hotspots(const CodeHistory& history, std::size_t limit, Json& answer) {
  std::vector<FileUse> files = files_of(history);
  std::stable_sort(files.begin(), files.end(), [](const FileUse& a, const FileUse& b) {
    return std::tuple(b.commits, b.added + b.deleted) < std::tuple(a.commits, a.added + a.deleted);
  });
  answer["files"] = Json::array();
  for (std::size_t i = 0; i < std::min(limit, files.size()); ++i) {
    const FileUse& file = files[i];
    answer["files"].push_back({{"path", shown(file.path)},
                               {"commits", file.commits},
                               {"authors", file.authors.size()},
                               {"added", file.added},
                               {"deleted", file.deleted}});
  }
}

using Pair = std::pair<std::string_view, std::string_view>;  // the first is under the path

// Counts each pair of the commit's files once; one of them is under the path.
void count_pairs(const CodeCommit& commit, const std::string& path, std::map<Pair, std::size_t>& together) {
  std::set<std::string_view> files;
  for (const FileChange& change : commit.files) files.insert(change.path);
  for (auto a = files.begin(); a != files.end(); ++a) {
    for (auto b = std::next(a); b != files.end(); ++b) {
      if (is_under(*a, path)) {
        ++together[{*a, *b}];
      } else if (is_under(*b, path)) {
        ++together[{*b, *a}];
      }
    }
  }
}

void add_co_changes(const CodeHistory& history, std::size_t limit, Json& answer) {
  std::map<Pair, std::size_t> together;
  std::size_t left_out = 0;
  for (const CodeCommit& commit : history.commits) {
    if (commit.files.size() > co_change_files_max) {
      ++left_out;
    } else {
      count_pairs(commit, history.path, together);
    }
  }
  std::vector<std::pair<Pair, std::size_t>> pairs(together.begin(), together.end());
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  pairs.resize(std::min(limit, pairs.size()));
  std::map<std::string_view, std::size_t> commits;
  for (const FileUse& file : files_of(history)) commits[file.path] = file.commits;
  answer["pairs"] = Json::array();
  answer["left_out"] = left_out;
  for (const auto& [pair, count] : pairs) {
    answer["pairs"].push_back({{"path", shown(pair.first)},
                               {"with", shown(pair.second)},
                               {"together", count},
                               {"commits", commits[pair.first]}});
  }
}

using AddTo = void (*)(const CodeHistory&, std::size_t limit, Json& answer);

bool is_below_any(const std::string& path, const std::vector<std::string>& roots) {
  namespace fs = std::filesystem;
  std::error_code fault;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path), fault);
  if (fault) return false;
  return std::any_of(roots.begin(), roots.end(), [&whole](const std::string& root) {
    std::error_code unknown;
    const fs::path way = whole.lexically_relative(fs::weakly_canonical(fs::absolute(root), unknown));
    return !unknown && !way.empty() && *way.begin() != "..";
  });
}

ToolAnswer answer_from_history(const ToolCall& call, FilesOf files, const std::vector<std::string>& roots, AddTo add) {
  const Result<Wanted> wanted = wanted_of(call, files);
  if (!wanted) return failure_of(wanted.error());
  const std::string& repository = wanted->query.repository;
  if (!repository.empty() && repository.front() != '/')
    return failure("invalid",
                   "Expected an absolute path of a repository, because each worker stands in a directory of its own, "
                   "but it is " +
                       shown(repository) + ".",
                   false);
  if (!repository.empty() && !is_below_any(repository, roots)) {
    return failure("refused",
                   "Expected a repository that this worker may read (\"repositories\" in the tools file), but it is " +
                       shown(repository) + ".",
                   false);
  }
  const Result<CodeHistory> history = read_history(wanted->query);
  if (!history) return failure_of(history.error());
  if (history->commits.empty()) {
    return failure("not_found", "Expected commits to " + wanted->query.repository + ", but it has none.", false);
  }
  Json answer = {{"repository", wanted->query.repository},
                 {"path", shown(history->path)},
                 {"commits", history->commits.size()},
                 {"authors", authors_of(*history).size()}};
  add(*history, wanted->limit, answer);
  return answer;
}

ToolSpec spec(std::string name, FilesOf files, const std::vector<std::string>& roots, AddTo add) {
  ToolSpec tool;
  tool.name = std::move(name);
  tool.does =
      NativeTool([files, roots, add](const ToolCall& call) { return answer_from_history(call, files, roots, add); });
  tool.timeout_ms = tool_timeout_ms;
  return tool;
}

}  // namespace

std::vector<ToolSpec> repository_tools(std::vector<std::string> roots) {
  return {spec("owners", FilesOf::path, roots, add_owners), spec("bus_factor", FilesOf::path, roots, add_bus_factor),
          spec("recent_changes", FilesOf::path, roots, add_recent_changes),
          spec("hotspots", FilesOf::path, roots, add_hotspots),
          spec("co_changes", FilesOf::commit, roots, add_co_changes)};
}

}  // namespace cairn

#include "workers/tools/repository/history.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "storage/clock.hpp"
#include "workers/tools/repository/git_log.hpp"

namespace cairn {
namespace {

constexpr std::string_view numstat_header = "commit\tauthor\tdate\tadded\tdeleted\tpath";

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(mark, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

char plain(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '_' || c == ' ' ? '-' : c;
}

bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return plain(x) == plain(y); });
}

// The number of the path's leading components that end with the place's; 0: none do.
std::size_t depth_of_match(const std::vector<std::string_view>& path, const std::vector<std::string_view>& place,
                           std::size_t path_count) {
  for (std::size_t end = place.size(); end <= path_count; ++end) {
    const auto from = path.begin() + static_cast<std::ptrdiff_t>(end - place.size());
    if (std::equal(place.begin(), place.end(), from, is_same_name)) return end;
  }
  return 0;
}

std::string joined(const std::vector<std::string_view>& components, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; ++i) path.append(i == 0 ? "" : "/").append(components[i]);
  return path;
}

struct Match {
  std::size_t depth = 0;
  std::string path;
  void take_better(std::size_t other_depth, std::string other) {
    if (other_depth == 0 || (depth != 0 && std::tie(depth, path) <= std::tie(other_depth, other))) return;
    depth = other_depth;
    path = std::move(other);
  }
};

// --- the numstat file ------------------------------------------------------------------------------------------------
std::optional<TimeUs> time_of(std::string_view date) {
  if (const std::optional<TimeUs> at = parse_time(date)) return at;
  return parse_time(std::string(date) + "T00:00:00Z");
}

std::optional<std::int64_t> lines_of(std::string_view text) {
  if (text == "-") return 0;
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && end == text.data() + text.size() && value >= 0 ? std::optional(value) : std::nullopt;
}

Error bad_row(std::size_t row, const std::string& says) {
  return Error{Code::invalid, "Expected row " + std::to_string(row) + " of the numstat file to " + says};
}

struct NumstatRows {
  std::vector<CodeCommit> commits;
  std::map<std::string, std::size_t, std::less<>> by_id;

  CodeCommit& commit(std::string_view id) {
    const auto [at, is_new] = by_id.try_emplace(std::string(id), commits.size());
    if (is_new) commits.emplace_back().id = id;
    return commits[at->second];
  }
};

Status add_row(std::string_view line, std::size_t row, NumstatRows& rows) {
  const std::vector<std::string_view> fields = split(line, '\t');
  if (fields.size() != 6) {
    return bad_row(row, "have 6 fields with tabs between, but it has " + std::to_string(fields.size()) + ".");
  }
  const std::optional<TimeUs> at = time_of(fields[2]);
  if (!at) return bad_row(row, "have a date, but it has " + std::string(fields[2]) + ".");
  const std::optional<std::int64_t> added = lines_of(fields[3]);
  const std::optional<std::int64_t> deleted = lines_of(fields[4]);
  if (!added || !deleted) return bad_row(row, "count lines, but it does not.");
  CodeCommit& commit = rows.commit(fields[0]);
  commit.author = fields[1];
  commit.date = fields[2];
  commit.at_us = *at;
  const std::vector<std::string> paths = renamed_paths(fields[5]);
  for (std::size_t i = 0; i + 1 < paths.size(); ++i) commit.files.push_back({paths[i], 0, 0});
  commit.files.push_back({paths.back(), *added, *deleted});
  return Done{};
}

Result<std::string> read_text(const std::string& name) {
  std::ifstream file(name, std::ios::binary | std::ios::ate);
  if (!file) return Error{Code::not_found, "Expected a repository at " + name + ", but the file cannot be read."};
  const std::streamoff size = file.tellg();
  if (size < 0 || static_cast<std::size_t>(size) > history_bytes_max) {
    return Error{Code::limit, "Expected at most " + std::to_string(history_bytes_max) + " bytes at " + name +
                                  ", but there are " + std::to_string(size) + "."};
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  file.read(text.data(), size);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::vector<std::string> paths_of(const std::vector<CodeCommit>& commits) {
  std::set<std::string> paths;
  for (const CodeCommit& commit : commits) {
    for (const FileChange& change : commit.files) paths.insert(change.path);
  }
  return {paths.begin(), paths.end()};
}

// Drops what the query does not ask for.
void keep_under(std::vector<CodeCommit>& commits, const std::string& path, FilesOf files) {
  const auto outside = [&path](const FileChange& change) { return !is_under(change.path, path); };
  std::erase_if(commits, [&](CodeCommit& commit) {
    if (std::all_of(commit.files.begin(), commit.files.end(), outside)) return true;
    if (files == FilesOf::path) std::erase_if(commit.files, outside);
    return false;
  });
}

// --- both sources ---------------------------------------------------------------------------------------------------
Result<std::string> resolve(const std::vector<std::string>& paths, const HistoryQuery& query) {
  const std::string place = normal_place(query.place);
  if (place.empty()) return place;
  std::string path = find_place(paths, place);
  if (!path.empty()) return path;
  return Error{Code::not_found, "Expected a directory or file named \"" + place + "\" in the repository " +
                                    query.repository + ", but it has none."};
}

Result<CodeHistory> read_numstat(const HistoryQuery& query) {
  Result<std::string> text = read_text(query.repository);
  if (!text) return text.error();
  Result<std::vector<CodeCommit>> commits = parse_numstat(*text);
  if (!commits) return commits.error();
  Result<std::string> path = resolve(paths_of(*commits), query);
  if (!path) return path.error();
  keep_under(*commits, *path, query.files);
  return CodeHistory{std::move(*path), std::move(*commits)};
}

// The query's time is for both calls of git together.
Result<CodeHistory> read_git(const HistoryQuery& query) {
  const TimeUs until = steady_us() + query.timeout_ms * 1000;
  std::string path;
  if (!normal_place(query.place).empty()) {
    const Result<std::vector<std::string>> files = git_files(query.repository, query.timeout_ms);
    if (!files) return files.error();
    const Result<std::string> found = resolve(*files, query);
    if (!found) return found.error();
    path = *found;
  }
  const std::int64_t left_ms = std::max<std::int64_t>((until - steady_us()) / 1000, 1);
  Result<std::vector<CodeCommit>> commits = git_commits(query.repository, path, query.files, left_ms);
  if (!commits) return commits.error();
  keep_under(*commits, path, query.files);
  return CodeHistory{std::move(path), std::move(*commits)};
}

}  // namespace

Result<CodeHistory> read_history(const HistoryQuery& query) {
  const bool has_nul = query.repository.find('\0') != std::string::npos || query.place.find('\0') != std::string::npos;
  if (query.repository.empty() || query.repository.front() == '-' || has_nul) {
    return Error{Code::invalid, "Expected the path of a repository, but got \"" + query.repository + "\"."};
  }
  std::error_code fault;
  const std::filesystem::file_status status = std::filesystem::status(query.repository, fault);
  if (std::filesystem::is_directory(status)) return read_git(query);
  if (std::filesystem::is_regular_file(status)) return read_numstat(query);
  return Error{Code::not_found, "Expected a git repository or a numstat file at " + query.repository +
                                    ", but there is neither a directory nor a file."};
}

std::string normal_place(std::string_view place) {
  while (place.starts_with("./")) place.remove_prefix(2);
  while (place.starts_with('/')) place.remove_prefix(1);
  while (place.ends_with('/')) place.remove_suffix(1);
  return place == "." ? std::string() : std::string(place);
}

bool is_under(std::string_view path, std::string_view directory) {
  if (directory.empty() || path == directory) return true;
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

std::string find_place(const std::vector<std::string>& paths, std::string_view place) {
  const std::vector<std::string_view> wanted = split(place, '/');
  Match directory;
  Match file;
  for (const std::string& path : paths) {
    const std::vector<std::string_view> components = split(path, '/');
    const std::size_t depth = depth_of_match(components, wanted, components.size());
    if (depth == 0) continue;
    (depth < components.size() ? directory : file).take_better(depth, joined(components, depth));
  }
  return directory.depth != 0 ? directory.path : file.path;
}

std::vector<std::string> renamed_paths(std::string_view path) {
  constexpr std::string_view arrow = " => ";
  const std::size_t at = path.find(arrow);
  if (at == std::string_view::npos) return {std::string(path)};
  const std::size_t open = path.rfind('{', at);
  const std::size_t close = path.find('}', at);
  if (open == std::string_view::npos || close == std::string_view::npos) {
    return {std::string(path.substr(0, at)), std::string(path.substr(at + arrow.size()))};
  }
  const auto whole = [&](std::string_view middle) {
    std::string_view after = path.substr(close + 1);
    if (middle.empty() && after.starts_with('/')) after.remove_prefix(1);  // "a/{b => }/c" is a/c
    return std::string(path.substr(0, open)).append(middle).append(after);
  };
  const std::size_t to = at + arrow.size();
  return {whole(path.substr(open + 1, at - open - 1)), whole(path.substr(to, close - to))};
}

Result<std::vector<CodeCommit>> parse_numstat(std::string_view text) {
  NumstatRows rows;
  std::size_t row = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++row;
    if (row == 1 && line != numstat_header) {
      return bad_row(1, "name the columns commit author date added deleted path, but it does not.");
    }
    if (row == 1 || line.empty()) continue;
    if (Status added = add_row(line, row, rows); !added) return std::move(added).error();
  }
  if (row == 0) return bad_row(1, "name the columns, but the file is empty.");
  return std::move(rows.commits);
}

}  // namespace cairn

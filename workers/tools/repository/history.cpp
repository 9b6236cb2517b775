#include "workers/tools/repository/history.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "engine/text.hpp"
#include "storage/clock.hpp"
#include "workers/tools/repository/git_log.hpp"
#include "workers/tools/repository/people.hpp"

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

char plain(char c) { return c == '_' || c == ' ' ? '-' : lowered(c); }

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

struct Found {
  Match directory;
  Match file;
};

Found match_place(const std::vector<std::string>& paths, std::string_view place) {
  const std::vector<std::string_view> wanted = split(place, '/');
  Found found;
  for (const std::string& path : paths) {
    const std::vector<std::string_view> components = split(path, '/');
    const std::size_t depth = depth_of_match(components, wanted, components.size());
    if (depth == 0) continue;
    (depth < components.size() ? found.directory : found.file).take_better(depth, joined(components, depth));
  }
  return found;
}

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
  commit.committed_us = *at;
  const std::vector<std::string> paths = renamed_paths(fields[5]);
  commit.files.push_back({paths.back(), paths.size() > 1 ? paths.front() : "", *added, *deleted});
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

// --- the place -------------------------------------------------------------------------------------------------------
struct Place {
  std::string path;
  bool is_directory = true;
};

Result<Place> resolve(const std::vector<std::string>& paths, const HistoryQuery& query) {
  const std::string place = normal_place(query.place);
  if (place.empty() && !query.is_file) return Place{};
  const std::string path = place.empty() ? "" : query.is_file ? find_file(paths, place) : find_place(paths, place);
  if (!path.empty()) return Place{path, !std::binary_search(paths.begin(), paths.end(), path)};
  return Error{Code::not_found, std::string("Expected a ") + (query.is_file ? "file" : "directory or file") +
                                    " named \"" + place + "\" in the repository " + query.repository +
                                    ", but it has none."};
}

// --- the people ------------------------------------------------------------------------------------------------------
struct Authors {
  std::vector<Person> people;
  std::vector<std::uint32_t> person_of;  // by the number of an author
  std::vector<bool> is_asked_for;        // likewise
};

// Authors of one name are one person.
Result<Authors> authors_of(const CommitLog& log, const std::vector<std::string>& names, const HistoryQuery& query) {
  Authors authors;
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  bool is_anyone = query.author.empty();
  for (std::size_t i = 0; i < log.authors.size(); ++i) {
    const std::string& email = log.authors[i].email;
    const auto [at, is_new] = by_name.try_emplace(names[i], static_cast<std::uint32_t>(authors.people.size()));
    if (is_new) authors.people.push_back({names[i], false});
    Person& person = authors.people[at->second];
    person.is_bot = person.is_bot || is_bot(names[i], email);
    authors.person_of.push_back(at->second);
    const bool is_asked_for = query.author.empty() || is_called(names[i], email, query.author) ||
                              is_called(log.authors[i].name, email, query.author);
    authors.is_asked_for.push_back(is_asked_for);
    is_anyone = is_anyone || is_asked_for;
  }
  if (is_anyone) return authors;
  return Error{Code::not_found, "Expected an author called \"" + query.author + "\" in the repository " +
                                    query.repository + ", but it has none."};
}

// --- the commits -----------------------------------------------------------------------------------------------------
// Walks a log from the latest commit back and follows renames: what a file was called before it is in the place counts
// as in the place, and by its name of today, from there on.
class Walk {
 public:
  Walk(const HistoryQuery& query, const Authors& authors, CodeHistory& history)
      : query_(query), authors_(authors), history_(history), log_(*history.log) {
    today_.resize(log_.paths.size());
    std::iota(today_.begin(), today_.end(), 0U);
    is_inside_.reserve(log_.paths.size());
    for (const std::string& path : log_.paths) is_inside_.push_back(is_under(path, history.path));
  }

  void run() {
    for (const CommitLog::Commit& commit : log_.commits) {
      const TimeUs at_us = commit.at_s * 1'000'000;
      history_.newest_us = std::max(history_.newest_us, at_us);
      add(commit, at_us);
      follow(commit);
    }
  }

 private:
  bool is_in(const CommitLog::Change& change) const {
    return is_inside_[change.path] || (change.from != no_path && is_inside_[change.from]);
  }

  void add(const CommitLog::Commit& commit, TimeUs at_us) {
    const std::span<const CommitLog::Change> changes(log_.changes.data() + commit.change_at, commit.changes);
    if (std::none_of(changes.begin(), changes.end(), [this](const auto& change) { return is_in(change); })) return;
    history_.latest_us = std::max(history_.latest_us, at_us);
    if (!authors_.is_asked_for[commit.author] || at_us < query_.since_us || at_us >= query_.until_us) return;
    PlaceCommit added{&commit, authors_.person_of[commit.author], static_cast<std::uint32_t>(history_.changes.size())};
    for (const CommitLog::Change& change : changes) {
      const bool is_inside = is_in(change);
      if (query_.files == FilesOf::path && !is_inside) continue;
      const std::uint32_t path = is_inside && !is_inside_[change.path] ? change.from : change.path;
      history_.changes.push_back({today_[path], change.added, change.deleted, is_inside});
    }
    added.changes = static_cast<std::uint32_t>(history_.changes.size()) - added.change_at;
    history_.commits.push_back(added);
  }

  void follow(const CommitLog::Commit& commit) {
    for (std::uint32_t i = 0; i < commit.changes; ++i) {
      const CommitLog::Change& change = log_.changes[commit.change_at + i];
      if (change.from == no_path || !is_inside_[change.path]) continue;
      today_[change.from] = today_[change.path];
      is_inside_[change.from] = true;
    }
  }

  const HistoryQuery& query_;
  const Authors& authors_;
  CodeHistory& history_;
  const CommitLog& log_;
  std::vector<std::uint32_t> today_;
  std::vector<bool> is_inside_;
};

Result<CodeHistory> history_of(const HistoryQuery& query, CodeHistory history, const std::vector<std::string>& names) {
  Result<Authors> authors = authors_of(*history.log, names, query);
  if (!authors) return authors.error();
  Walk(query, *authors, history).run();
  history.people = std::move(authors->people);
  return history;
}

// --- both sources ----------------------------------------------------------------------------------------------------
std::vector<std::string> raw_names(const CommitLog& log) {
  std::vector<std::string> names;
  for (const CommitLog::Author& author : log.authors) names.push_back(author.name);
  return names;
}

Result<CodeHistory> read_numstat(const HistoryQuery& query) {
  Result<std::string> text = read_text(query.repository);
  if (!text) return text.error();
  Result<std::vector<CodeCommit>> commits = parse_numstat(*text);
  if (!commits) return commits.error();
  CommitLogWriter writer;
  for (const CodeCommit& commit : *commits) writer.add(commit);
  writer.sort();
  CodeHistory history;
  history.log = std::make_shared<const CommitLog>(writer.take(""));
  std::vector<std::string> paths = history.log->paths;
  std::sort(paths.begin(), paths.end());
  Result<Place> place = resolve(paths, query);
  if (!place) return place.error();
  history.path = std::move(place->path);
  history.is_directory = place->is_directory;
  const std::vector<std::string> names = raw_names(*history.log);
  return history_of(query, std::move(history), names);
}

// The name of today of a place that is gone, by the renames of the log; "" if none of them leads to one of the files.
std::string moved_to(const CommitLog& log, const std::vector<std::string>& files, const HistoryQuery& query) {
  std::vector<std::uint32_t> today(log.paths.size());
  std::iota(today.begin(), today.end(), 0U);
  std::map<std::string, std::string> names;  // of before, and of today
  for (const CommitLog::Commit& commit : log.commits)
    for (std::uint32_t i = 0; i < commit.changes; ++i) {
      const CommitLog::Change& change = log.changes[commit.change_at + i];
      if (change.from == no_path) continue;
      today[change.from] = today[change.path];
      const std::string& now = log.paths[today[change.path]];
      if (std::binary_search(files.begin(), files.end(), now)) names.try_emplace(log.paths[change.from], now);
    }
  std::vector<std::string> before;
  for (const auto& [name, now] : names) before.push_back(name);
  const std::string place = normal_place(query.place);
  const std::string was = query.is_file ? find_file(before, place) : find_place(before, place);
  if (was.empty() || names.contains(was)) return was.empty() ? "" : names.at(was);
  std::map<std::string, int> directories;  // by the files that went from there with the rest of their path
  for (const auto& [name, now] : names) {
    const std::string rest = is_under(name, was) ? name.substr(was.size()) : "";
    if (!rest.empty() && now.ends_with(rest)) ++directories[now.substr(0, now.size() - rest.size())];
  }
  const auto most = std::max_element(directories.begin(), directories.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == directories.end() ? "" : most->first;
}

// The query's time is for all calls of git together.
Result<CodeHistory> read_git(const HistoryQuery& query, HistoryCache& cache) {
  const TimeUs until = steady_us() + query.timeout_ms * 1000;
  const auto left_ms = [until] { return std::max<std::int64_t>((until - steady_us()) / 1000, 1); };
  const Result<GitState> state = git_state(query.repository, left_ms());
  if (!state) return state.error();
  Place place;
  if (query.is_file || !normal_place(query.place).empty()) {
    Result<std::vector<std::string>> files = git_files(query.repository, left_ms());
    if (!files) return files.error();
    std::sort(files->begin(), files->end());
    Result<Place> found = resolve(*files, query);
    if (!found) {
      Error error = found.error();
      const auto log = cache.read(query.repository, *state, left_ms());
      const std::string now = log ? moved_to(**log, *files, query) : "";
      if (!now.empty()) error.message += " It is called \"" + now + "\" now.";
      return error;
    }
    place = *std::move(found);
  }
  Result<std::shared_ptr<const CommitLog>> log = cache.read(query.repository, *state, left_ms());
  if (!log) return log.error();
  const Result<std::vector<std::string>> names = git_names(query.repository, (*log)->authors, left_ms());
  if (!names) return names.error();
  CodeHistory history;
  history.path = std::move(place.path);
  history.is_directory = place.is_directory;
  history.is_git = true;
  history.is_shallow = state->is_shallow;
  history.log = *std::move(log);
  return history_of(query, std::move(history), *names);
}

}  // namespace

Result<CodeHistory> read_history(const HistoryQuery& query, HistoryCache* cache) {
  const bool has_nul = query.repository.find('\0') != std::string::npos || query.place.find('\0') != std::string::npos;
  if (query.repository.empty() || query.repository.front() == '-' || has_nul) {
    return Error{Code::invalid, "Expected the path of a repository, but got \"" + query.repository + "\"."};
  }
  std::error_code fault;
  const std::filesystem::file_status status = std::filesystem::status(query.repository, fault);
  HistoryCache of_this_call;
  if (std::filesystem::is_directory(status)) return read_git(query, cache != nullptr ? *cache : of_this_call);
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
  const Found found = match_place(paths, place);
  return found.directory.depth != 0 ? found.directory.path : found.file.path;
}

std::string find_file(const std::vector<std::string>& paths, std::string_view place) {
  return match_place(paths, place).file.path;
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

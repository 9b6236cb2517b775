#include "workers/tools/repository/tools.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "storage/clock.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/tools/repository/code_owners.hpp"
#include "workers/tools/repository/history.hpp"
#include "workers/tools/repository/ownership.hpp"
#include "workers/tools/repository/people.hpp"
#include "workers/tools/repository/period.hpp"

namespace cairn {
namespace {

constexpr std::int64_t tool_timeout_ms = 120'000;
constexpr std::size_t name_bytes_max = 1024;
constexpr std::size_t limit_default = 10;
constexpr std::size_t limit_max = 100;
constexpr std::size_t declared_owners_max = 50;
constexpr std::size_t id_bytes_shown = 12;

// The state that the tools of one worker share.
struct Setup {
  explicit Setup(std::vector<std::string> allowed, const std::string& cache_directory)
      : roots(std::move(allowed)), histories(cache_directory) {}
  const std::vector<std::string> roots;
  HistoryCache histories;
};

// The differences of the tools in what they take.
struct Taken {
  FilesOf files = FilesOf::path;
  bool has_measure = false;
};

struct Wanted {
  HistoryQuery query;
  std::size_t limit = limit_default;
  std::optional<Measure> measure;  // none: as the source is
  std::optional<bool> with_bots;   // none: as the tool does
  TimeUs until_us = 0;             // steady: the end of the call's time
  TimeUs now_us = 0;
};

std::string shown(std::string_view name) { return readable_line(name, name_bytes_max); }

TimeUs wall_clock_us() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
}

// --- inputs ----------------------------------------------------------------------------------------------------------
Error unfit(const char* name, const std::string& expected, const Json& value) {
  return Error{Code::invalid, std::string("Expected the input `") + name + "` to be " + expected + ", but it is " +
                                  excerpt(value, 100) + "."};
}

Result<std::string> text_input(const Json& inputs, const char* name) {
  const auto at = inputs.find(name);
  if (at == inputs.end() || at->is_null()) return std::string();
  if (at->is_string()) return at->get<std::string>();
  return unfit(name, "a string", *at);
}

Result<std::optional<Period>> period_input(const Json& inputs, const char* name, TimeUs now_us) {
  const Result<std::string> text = text_input(inputs, name);
  if (!text) return text.error();
  if (text->empty()) return std::optional<Period>();
  if (const std::optional<Period> period = read_period(*text, now_us)) return period;
  return unfit(name, "a day (2024-05-31), month (2024-05), year (2024) or time back from now (\"3 months\")", *text);
}

Status read_period_inputs(const Json& inputs, Wanted& wanted) {
  const Result<std::optional<Period>> since = period_input(inputs, "since", wanted.now_us);
  if (!since) return since.error();
  const Result<std::optional<Period>> until = period_input(inputs, "until", wanted.now_us);
  if (!until) return until.error();
  if (*since) wanted.query.since_us = (*since)->begin_us;
  if (*until) wanted.query.until_us = (*until)->end_us;
  if (wanted.query.since_us < wanted.query.until_us) return Done{};
  return Error{Code::invalid, "Expected `since` to be before `until`, but it is not."};
}

Status read_limit_input(const Json& inputs, Wanted& wanted) {
  const Json limit = inputs.value("limit", Json(nullptr));
  const bool is_count = limit.is_number_integer() && limit >= 1 && limit <= limit_max;
  if (!limit.is_null() && !is_count) return unfit("limit", "1 to 100", limit);
  if (is_count) wanted.limit = limit.get<std::size_t>();
  return Done{};
}

Status read_choices(const Json& inputs, bool has_measure, Wanted& wanted) {
  const Json bots = inputs.value("bots", Json(nullptr));
  if (!bots.is_null() && !bots.is_boolean()) return unfit("bots", "true or false", bots);
  if (bots.is_boolean()) wanted.with_bots = bots.get<bool>();
  const Result<std::string> measure = text_input(inputs, "measure");
  if (!measure) return measure.error();
  if (measure->empty() || !has_measure) return Done{};
  wanted.measure = find_measure(*measure);
  return wanted.measure ? Status(Done{}) : Status(unfit("measure", "\"recent\" or \"commits\"", *measure));
}

Result<Wanted> wanted_of(const ToolCall& call, Taken taken) {
  const Json& inputs = call.inputs;
  if (!inputs.is_object()) return Error{Code::invalid, "Expected the inputs to be an object, but they are not."};
  Wanted wanted;
  wanted.now_us = wall_clock_us();
  wanted.query.timeout_ms = call.timeout_ms > 0 ? call.timeout_ms : tool_timeout_ms;
  wanted.query.files = taken.files;
  wanted.until_us = steady_us() + wanted.query.timeout_ms * 1000;
  for (const auto& [name, text] : {std::pair<const char*, std::string*>{"repository", &wanted.query.repository},
                                   {"path", &wanted.query.place},
                                   {"author", &wanted.query.author}}) {
    Result<std::string> value = text_input(inputs, name);
    if (!value) return value.error();
    *text = *std::move(value);
  }
  for (const Status& read : {read_limit_input(inputs, wanted), read_period_inputs(inputs, wanted),
                             read_choices(inputs, taken.has_measure, wanted)})
    if (!read) return read.error();
  return wanted;
}

// --- which repositories ----------------------------------------------------------------------------------------------
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

Result<Done, Failure> check_repository(const std::string& repository, const std::vector<std::string>& roots) {
  if (!repository.empty() && repository.front() != '/')
    return failure("invalid",
                   "Expected an absolute path of a repository, because each worker stands in a directory of its own, "
                   "but it is " +
                       shown(repository) + ".",
                   false);
  if (repository.empty() || is_below_any(repository, roots)) return Done{};
  return failure("refused",
                 "Expected a repository that this worker may read (\"repositories\" in the tools file), but it is " +
                     shown(repository) + ".",
                 false);
}

// --- authors ---------------------------------------------------------------------------------------------------------
double share_of(double part, double whole) { return whole > 0 ? std::floor(part * 1000 / whole + 0.5) / 1000 : 0; }

struct Asked {
  const CodeHistory& history;
  const Wanted& wanted;
  TimeUs as_of_us = 0;  // of the newest commit, but not of one that claims to be of the future

  const std::string& name_of(std::uint32_t person) const { return history.people[person].name; }
  std::span<const PlaceChange> changes_of(const PlaceCommit& commit) const {
    return {history.changes.data() + commit.change_at, commit.changes};
  }
  std::size_t rows(std::size_t count) const { return std::min(wanted.limit, count); }
  Measure measure() const { return wanted.measure.value_or(history.is_git ? Measure::recent : Measure::commits); }
};

Json share_rows(const Asked& asked, const Shares& shares, std::size_t count) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < std::min(count, shares.people.size()); ++i) {
    const Share& share = shares.people[i];
    rows.push_back({{"author", shown(asked.name_of(share.person))},
                    {"commits", share.commits},
                    {"share", share_of(share.work, shares.work)},
                    {"last", commit_day(*share.latest)}});
  }
  return rows;
}

std::string last_commit_date(const Shares& shares) {
  const auto latest = std::max_element(shares.people.begin(), shares.people.end(),
                                       [](const Share& a, const Share& b) { return a.latest->at_s < b.latest->at_s; });
  return latest == shares.people.end() ? std::string() : commit_day(*latest->latest);
}

// --- the five over commits -------------------------------------------------------------------------------------------
Shares shares_for(const Asked& asked, Json& answer) {
  Shares shares = shares_of(asked.history, asked.measure(), asked.as_of_us, asked.wanted.with_bots.value_or(false));
  answer["commits"] = shares.commits;
  answer["authors"] = shares.people.size();
  answer["measure"] = to_string(asked.measure());
  answer["as_of"] = commit_day(asked.as_of_us);
  if (asked.measure() == Measure::recent) answer["half_life_days"] = half_life_days;
  if (shares.bot_commits > 0) answer["bot_commits"] = shares.bot_commits;
  return shares;
}

// A fault in reading it leaves it out: the answer stands without it.
void add_declared_owners(const Asked& asked, Json& answer) {
  if (!asked.history.is_git) return;
  for (const char* place : code_owners_places) {
    const std::int64_t left_ms = std::max<std::int64_t>((asked.wanted.until_us - steady_us()) / 1000, 1);
    const Result<std::optional<std::string>> text =
        git_text(asked.wanted.query.repository, place, code_owners_bytes_max, left_ms);
    if (!text) return;
    if (!*text) continue;
    std::vector<std::string> owners = declared_owners(**text, asked.history.path, asked.history.is_directory);
    if (owners.empty()) return;
    owners.resize(std::min(owners.size(), declared_owners_max));
    for (std::string& owner : owners) owner = shown(owner);
    answer["declared_owners"] = std::move(owners);
    answer["declared_in"] = place;
    return;
  }
}

void add_owners(const Asked& asked, Json& answer) {
  const Shares shares = shares_for(asked, answer);
  add_declared_owners(asked, answer);
  if (shares.people.empty()) return;
  answer["owner"] = shown(asked.name_of(shares.people.front().person));
  answer["owner_commits"] = shares.people.front().commits;
  answer["last_commit_date"] = last_commit_date(shares);
  answer["shares"] = share_rows(asked, shares, asked.wanted.limit);
}

void add_bus_factor(const Asked& asked, Json& answer) {
  const Shares shares = shares_for(asked, answer);
  if (shares.people.empty()) return;
  const std::size_t factor = bus_factor_of(shares);
  answer["bus_factor"] = factor;
  answer["holders"] = share_rows(asked, shares, factor);
}

Json change_row(const Asked& asked, const PlaceCommit& commit) {
  std::int64_t added = 0;
  std::int64_t deleted = 0;
  for (const PlaceChange& change : asked.changes_of(commit)) {
    added += change.added;
    deleted += change.deleted;
  }
  const CommitLog& log = *asked.history.log;
  return {{"commit", shown(log.id_of(*commit.commit).substr(0, id_bytes_shown))},
          {"author", shown(asked.name_of(commit.person))},
          {"date", commit_day(*commit.commit)},
          {"subject", shown(log.subject_of(*commit.commit))},
          {"files", commit.changes},
          {"added", added},
          {"deleted", deleted}};
}

void add_recent_changes(const Asked& asked, Json& answer) {
  std::vector<const PlaceCommit*> latest;
  for (const PlaceCommit& commit : asked.history.commits) latest.push_back(&commit);
  std::stable_sort(latest.begin(), latest.end(),
                   [](const PlaceCommit* a, const PlaceCommit* b) { return a->commit->at_s > b->commit->at_s; });
  answer["changes"] = Json::array();
  for (std::size_t i = 0; i < asked.rows(latest.size()); ++i)
    answer["changes"].push_back(change_row(asked, *latest[i]));
}

struct FileUse {
  std::uint32_t path = 0;
  std::size_t commits = 0;
  std::set<std::uint32_t> people;
  std::int64_t added = 0;
  std::int64_t deleted = 0;
};

// By the number of their path.
std::map<std::uint32_t, FileUse> files_of(const Asked& asked) {
  std::map<std::uint32_t, FileUse> by_path;
  for (const PlaceCommit& commit : asked.history.commits) {
    std::set<std::uint32_t> seen;
    for (const PlaceChange& change : asked.changes_of(commit)) {
      FileUse& file = by_path[change.path];
      file.path = change.path;
      if (seen.insert(change.path).second) ++file.commits;
      file.people.insert(commit.person);
      file.added += change.added;
      file.deleted += change.deleted;
    }
  }
  return by_path;
}

void add_hotspots(const Asked& asked, Json& answer) {
  const std::vector<std::string>& paths = asked.history.log->paths;
  std::vector<FileUse> files;
  for (auto& [path, file] : files_of(asked)) files.push_back(std::move(file));
  std::sort(files.begin(), files.end(), [&](const FileUse& a, const FileUse& b) {
    return std::tuple(b.commits, b.added + b.deleted, std::string_view(paths[a.path])) <
           std::tuple(a.commits, a.added + a.deleted, std::string_view(paths[b.path]));
  });
  answer["files"] = Json::array();
  for (std::size_t i = 0; i < asked.rows(files.size()); ++i) {
    const FileUse& file = files[i];
    answer["files"].push_back({{"path", shown(paths[file.path])},
                               {"commits", file.commits},
                               {"authors", file.people.size()},
                               {"added", file.added},
                               {"deleted", file.deleted}});
  }
}

using Pair = std::pair<std::uint32_t, std::uint32_t>;  // the first is in the place

// Counts each pair of the commit's files once; one of them is in the place.
void count_pairs(const Asked& asked, const PlaceCommit& commit, std::map<Pair, std::size_t>& together) {
  const std::vector<std::string>& paths = asked.history.log->paths;
  std::map<std::string_view, PlaceChange> files;
  for (const PlaceChange& change : asked.changes_of(commit)) {
    PlaceChange& file = files.try_emplace(paths[change.path], change).first->second;
    file.is_inside = file.is_inside || change.is_inside;
  }
  for (auto a = files.begin(); a != files.end(); ++a) {
    for (auto b = std::next(a); b != files.end(); ++b) {
      if (a->second.is_inside) {
        ++together[{a->second.path, b->second.path}];
      } else if (b->second.is_inside) {
        ++together[{b->second.path, a->second.path}];
      }
    }
  }
}

void add_co_changes(const Asked& asked, Json& answer) {
  const std::vector<std::string>& paths = asked.history.log->paths;
  std::map<Pair, std::size_t> together;
  std::size_t left_out = 0;
  for (const PlaceCommit& commit : asked.history.commits) {
    if (commit.changes > co_change_files_max) {
      ++left_out;
    } else {
      count_pairs(asked, commit, together);
    }
  }
  std::vector<std::pair<Pair, std::size_t>> pairs(together.begin(), together.end());
  const auto key = [&](const auto& pair) {
    return std::pair<std::string_view, std::string_view>(paths[pair.first.first], paths[pair.first.second]);
  };
  const auto is_before = [&](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : key(a) < key(b);
  };
  const std::size_t count = asked.rows(pairs.size());
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(count), pairs.end(), is_before);
  const std::map<std::uint32_t, FileUse> uses = files_of(asked);
  answer["pairs"] = Json::array();
  answer["left_out"] = left_out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [pair, times] = pairs[i];
    answer["pairs"].push_back({{"path", shown(paths[pair.first])},
                               {"with", shown(paths[pair.second])},
                               {"together", times},
                               {"commits", uses.at(pair.first).commits}});
  }
}

using AddTo = void (*)(const Asked&, Json& answer);

struct HistoryTool {
  const char* name;
  Taken taken;
  AddTo add;
};

void add_what_was_asked(const Wanted& wanted, Json& answer) {
  const HistoryQuery& query = wanted.query;
  if (query.since_us > 0) answer["since"] = commit_day(query.since_us);
  if (query.until_us != never_us) answer["until"] = commit_day(query.until_us - 1);
  if (!query.author.empty()) answer["author"] = shown(query.author);
}

void leave_out_bots(CodeHistory& history, Json& answer) {
  const std::size_t before = history.commits.size();
  std::erase_if(history.commits, [&](const PlaceCommit& commit) { return history.people[commit.person].is_bot; });
  if (history.commits.size() < before) answer["bot_commits"] = before - history.commits.size();
}

std::size_t people_in(const CodeHistory& history) {
  std::set<std::uint32_t> people;
  for (const PlaceCommit& commit : history.commits) people.insert(commit.person);
  return people.size();
}

ToolAnswer answer_from_history(const ToolCall& call, const HistoryTool& tool, Setup& setup) {
  const Result<Wanted> wanted = wanted_of(call, tool.taken);
  if (!wanted) return failure_of(wanted.error());
  if (Result<Done, Failure> may = check_repository(wanted->query.repository, setup.roots); !may)
    return std::move(may).error();
  Result<CodeHistory> history = read_history(wanted->query, &setup.histories);
  if (!history) return failure_of(history.error());
  if (history->latest_us == 0 && history->commits.empty()) {
    return failure("not_found", "Expected commits to " + wanted->query.repository + ", but it has none.", false);
  }
  Json answer = {{"repository", wanted->query.repository}, {"path", shown(history->path)}};
  add_what_was_asked(*wanted, answer);
  if (history->is_shallow) answer["history_is_cut"] = true;
  if (wanted->with_bots == std::optional(false) && !tool.taken.has_measure) leave_out_bots(*history, answer);
  answer["commits"] = history->commits.size();
  answer["authors"] = people_in(*history);
  if (history->commits.empty()) {
    answer["last_commit_date"] = commit_day(history->latest_us);
    return answer;
  }
  tool.add({*history, *wanted, std::min(history->newest_us, wanted->now_us)}, answer);
  if (answer.at("commits") == 0) answer["last_commit_date"] = commit_day(history->latest_us);
  return answer;
}

// --- blame -----------------------------------------------------------------------------------------------------------
constexpr std::size_t blamed_bytes_max = 8u * 1024 * 1024;

Result<std::string> file_for_blame(const Wanted& wanted, const std::string& place) {
  const auto left_ms = [&] { return std::max<std::int64_t>((wanted.until_us - steady_us()) / 1000, 1); };
  std::error_code fault;
  if (std::filesystem::is_regular_file(wanted.query.repository, fault))
    return Error{Code::unsupported, "Expected a git repository, because a numstat file has no lines to blame."};
  const Result<std::vector<std::string>> files = git_files(wanted.query.repository, left_ms());
  if (!files) return files.error();
  std::string path = place.empty() ? "" : find_file(*files, place);
  if (path.empty()) {
    return Error{Code::not_found, "Expected a file named \"" + place + "\" in the repository " +
                                      wanted.query.repository + ", but it has none."};
  }
  const Result<std::optional<std::string>> text = git_text(wanted.query.repository, path, blamed_bytes_max, left_ms());
  if (!text) return text.error();
  if (*text) return path;
  return Error{Code::limit, "Expected a file of at most " + std::to_string(blamed_bytes_max) + " bytes, but " + path +
                                " has more, or is none."};
}

struct FileLines {
  std::vector<BlamedLines> authors;  // most lines first
  std::size_t lines = 0;
};

// By the mailmap of the repository.
Result<FileLines> lines_by_author(const Wanted& wanted, const std::string& path) {
  const auto left_ms = [&] { return std::max<std::int64_t>((wanted.until_us - steady_us()) / 1000, 1); };
  const Result<GitState> state = git_state(wanted.query.repository, left_ms());
  if (!state) return state.error();
  const Result<std::vector<BlamedLines>> blamed = git_blame(wanted.query.repository, state->head, path, left_ms());
  if (!blamed) return blamed.error();
  std::vector<CommitLog::Author> authors;
  for (const BlamedLines& one : *blamed) authors.push_back({one.author, one.email});
  const Result<std::vector<std::string>> names = git_names(wanted.query.repository, authors, left_ms());
  if (!names) return names.error();
  std::map<std::string, BlamedLines> by_name;
  FileLines file;
  for (std::size_t i = 0; i < blamed->size(); ++i) {
    BlamedLines& author = by_name[(*names)[i]];
    author.author = (*names)[i];
    author.lines += (*blamed)[i].lines;
    author.at_s = std::max(author.at_s, (*blamed)[i].at_s);
    file.lines += (*blamed)[i].lines;
  }
  for (auto& [name, author] : by_name) file.authors.push_back(std::move(author));
  std::stable_sort(file.authors.begin(), file.authors.end(), [](const BlamedLines& a, const BlamedLines& b) {
    return std::tuple(a.lines, a.at_s) > std::tuple(b.lines, b.at_s);
  });
  return file;
}

ToolAnswer blame(const ToolCall& call, const Setup& setup) {
  const Result<Wanted> wanted = wanted_of(call, {});
  if (!wanted) return failure_of(wanted.error());
  const std::string& repository = wanted->query.repository;
  if (Result<Done, Failure> may = check_repository(repository, setup.roots); !may) return std::move(may).error();
  if (repository.empty() || (repository + wanted->query.place).find('\0') != std::string::npos)
    return failure("invalid", "Expected the path of a repository, but got \"" + shown(repository) + "\".", false);
  const Result<std::string> path = file_for_blame(*wanted, normal_place(wanted->query.place));
  if (!path) return failure_of(path.error());
  const Result<FileLines> file = lines_by_author(*wanted, *path);
  if (!file) return failure_of(file.error());
  Json shares = Json::array();
  for (std::size_t i = 0; i < std::min(wanted->limit, file->authors.size()); ++i) {
    const BlamedLines& author = file->authors[i];
    shares.push_back({{"author", shown(author.author)},
                      {"lines", author.lines},
                      {"share", share_of(static_cast<double>(author.lines), static_cast<double>(file->lines))},
                      {"last", commit_day(author.at_s * 1'000'000)}});
  }
  Json answer = {{"repository", repository},
                 {"path", shown(*path)},
                 {"lines", file->lines},
                 {"authors", file->authors.size()},
                 {"shares", std::move(shares)}};
  if (!file->authors.empty()) answer["owner"] = shown(file->authors.front().author);
  return answer;
}

ToolSpec spec(std::string name, NativeTool does) {
  ToolSpec tool;
  tool.name = std::move(name);
  tool.does = std::move(does);
  tool.timeout_ms = tool_timeout_ms;
  tool.reach = {"repository", "repository"};
  return tool;
}

}  // namespace

std::vector<ToolSpec> repository_tools(std::vector<std::string> roots, const std::string& cache_directory) {
  // Shared, as a tool is a function that is copied.
  const auto setup = std::make_shared<Setup>(std::move(roots), cache_directory);
  std::vector<ToolSpec> tools;
  for (const HistoryTool& tool : {HistoryTool{"owners", {FilesOf::path, true}, add_owners},
                                  {"bus_factor", {FilesOf::path, true}, add_bus_factor},
                                  {"recent_changes", {FilesOf::path, false}, add_recent_changes},
                                  {"hotspots", {FilesOf::path, false}, add_hotspots},
                                  {"co_changes", {FilesOf::commit, false}, add_co_changes}}) {
    tools.push_back(spec(tool.name, NativeTool([setup, tool](const ToolCall& call) {
                           return answer_from_history(call, tool, *setup);
                         })));
  }
  ToolSpec blamed = spec("blame", NativeTool([setup](const ToolCall& call) { return blame(call, *setup); }));
  blamed.attempts = 1;  // a file with too long a history takes as long the second time
  blamed.fallback = "owners";
  tools.push_back(std::move(blamed));
  return tools;
}

}  // namespace cairn

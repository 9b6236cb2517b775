#include "ops/trials/surroundings.hpp"

#include <boost/asio.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "ops/bench/rig/server.hpp"
#include "ops/trials/local_server.hpp"
#include "storage/postgres/connection.hpp"
#include "workers/ports/text_file.hpp"
#include "workers/ports/tool_process.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

// --- repositories ----------------------------------------------------------------------------------------------------
std::optional<std::int64_t> seconds_of_day(const Json& date) {
  if (!date.is_string()) return std::nullopt;
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  if (std::sscanf(date.get_ref<const std::string&>().c_str(), "%4d-%2u-%2u", &year, &month, &day) != 3)
    return std::nullopt;
  const std::chrono::year_month_day read{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!read.ok()) return std::nullopt;
  const std::chrono::sys_seconds noon = std::chrono::sys_days(read) + std::chrono::hours(12);
  return noon.time_since_epoch().count();
}

std::string data_of(const std::string& text) { return "data " + std::to_string(text.size()) + "\n" + text + "\n"; }

// A text, or as many lines as a number says, which differ from commit to commit.
std::string text_of_file(const Json& file, std::size_t commit) {
  if (file.is_string()) return file.get<std::string>();
  std::string text;
  for (std::int64_t line = 1; line <= file.get<std::int64_t>(); ++line)
    text += "line " + std::to_string(line) + " of commit " + std::to_string(commit) + "\n";
  return text;
}

// The commits in the language of `git fast-import`.
Result<std::string> import_stream(const Json& commits) {
  std::string stream;
  std::size_t number = 0;
  for (const Json& commit : commits) {
    ++number;
    const auto seconds = commit.is_object() ? seconds_of_day(commit.value("date", Json())) : std::nullopt;
    const bool has_author = commit.is_object() && commit.value("author", Json()).is_string();
    if (!seconds || !has_author || !commit.value("files", Json()).is_object())
      return Error{Code::invalid,
                   "Expected a commit with author, date and files, but got " + excerpt(commit, 200) + "."};
    stream += "commit refs/heads/main\ncommitter " + commit["author"].get<std::string>() + " " +
              std::to_string(*seconds) + " +0000\n" +
              data_of(commit.value("message", "commit " + std::to_string(number)));
    for (const auto& [path, file] : commit["files"].items()) {
      if (!file.is_null() && !file.is_string() && !file.is_number_integer())
        return Error{Code::invalid, "Expected a text, a number of lines or null for " + path + ", but got another."};
      stream +=
          file.is_null() ? "D " + path + "\n" : "M 100644 inline " + path + "\n" + data_of(text_of_file(file, number));
    }
  }
  return stream + "done\n";
}

Status run_git(std::vector<std::string> command, std::string input) {
  boost::asio::io_context io;
  std::optional<ProcessEnd> end;
  boost::asio::co_spawn(io, run_process(std::move(command), std::move(input), {}),
                        [&end](const std::exception_ptr& fault, ProcessEnd ended) {
                          if (!fault) end = std::move(ended);
                        });
  io.run();
  if (end && end->kind == ProcessEnd::Kind::exited && end->number == 0) return Done{};
  return Error{Code::unavailable,
               "Expected git to make a repository, but it says: " + (end ? end->err : "nothing") + "."};
}

Status make_repository(const std::string& folder, const Json& commits) {
  const Result<std::string> stream = import_stream(commits);
  if (!stream) return stream.error();
  if (Status made = run_git({"git", "init", "--quiet", "--initial-branch=main", folder}, ""); !made) return made;
  return run_git({"git", "-C", folder, "fast-import", "--quiet", "--done"}, *stream);
}

// --- pages -----------------------------------------------------------------------------------------------------------
LocalAnswer page_answer(const fs::path& folder, const LocalRequest& request) {
  const std::string path = request.target.substr(0, request.target.find_first_of("?#"));
  const std::string name = path.empty() ? "" : path.substr(1);
  const bool is_plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string::npos;
  if (!is_plain || !name.ends_with(".html")) return {404, "text/html", "<p>There is no such page.</p>"};
  Result<std::string> text = read_text_file((folder / name).string(), "the page");
  if (!text) return {404, "text/html", "<p>There is no such page.</p>"};
  return {200, "text/html; charset=utf-8", *std::move(text)};
}

fs::path temporary_folder() {
  std::string name = (fs::temp_directory_path() / "cairn-trials-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
  return name;
}

}  // namespace

struct TrialSurroundings::Parts {
  explicit Parts(std::string of_tasks, ReachServer reach)
      : folder(std::move(of_tasks)), server(std::move(reach)), made(temporary_folder()) {}
  ~Parts() {
    std::error_code ignored;
    fs::remove_all(made, ignored);
  }

  FreshDatabase& fresh_database(const std::string& dsn) {
    if (!database) {
      database.emplace(dsn);
      if (const Result<bool> login = load_sample(database->dsn()); !login)
        throw PostgresError("", login.error().message);
    }
    return *database;
  }

  std::string folder;
  ReachServer server;
  fs::path made;
  std::set<std::string> repositories;
  std::set<std::string> schemas;
  std::optional<FreshDatabase> database;
  std::unique_ptr<LocalServer> pages;
};

TrialSurroundings::TrialSurroundings(std::string folder, ReachServer server)
    : parts_(std::make_unique<Parts>(std::move(folder), std::move(server))) {}

TrialSurroundings::~TrialSurroundings() = default;

Result<std::string> TrialSurroundings::repository(const std::string& planner, const std::string& name,
                                                  const Json& commits) {
  const std::string folder = (parts_->made / (planner + "_" + name)).string();
  if (!parts_->repositories.insert(folder).second) return folder;
  if (const Status is_made = make_repository(folder, commits); !is_made) return is_made.error();
  return folder;
}

Result<Dataset> TrialSurroundings::database(const std::string& name) {
  const std::string path = parts_->folder + "/databases/" + name + ".sql";
  const Result<std::string> text = read_text_file(path, "the database " + name);
  if (!text) return text.error();
  const Result<std::string> dsn = parts_->server();
  if (!dsn) return dsn.error();
  try {
    FreshDatabase& fresh = parts_->fresh_database(*dsn);
    if (parts_->schemas.insert(name).second) {
      Administration& admin = fresh.administration();
      admin.execute("create schema " + name + "; set search_path to " + name);
      admin.execute(*text);
      admin.execute(std::string("grant usage on schema ") + name + " to " + sample_login);
      admin.execute(std::string("grant select on all tables in schema ") + name + " to " + sample_login);
      admin.execute("analyze");
    }
    Dataset dataset;
    dataset.dsn = fresh.dsn();
    dataset.login = sample_login;
    dataset.schema = name;
    return dataset;
  } catch (const PostgresError& fault) {
    const bool is_text = fault.sqlstate().starts_with("42") || fault.sqlstate().starts_with("22");
    return Error{is_text ? Code::invalid : Code::unavailable, "Expected to load " + path + ", but: " + fault.what()};
  }
}

std::string TrialSurroundings::pages() {
  if (!parts_->pages)
    parts_->pages =
        std::make_unique<LocalServer>([folder = fs::path(parts_->folder) / "pages"](const LocalRequest& request) {
          return page_answer(folder, request);
        });
  return parts_->pages->url();
}

}  // namespace cairn

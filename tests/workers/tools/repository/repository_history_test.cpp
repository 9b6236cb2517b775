// Histories of repositories: read once and kept, over periods, by authors, through renames, with shares of recent work.
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/workers/tools/repository/repository_folder.hpp"
#include "workers/tools/repository/code_owners.hpp"
#include "workers/tools/repository/history_cache.hpp"
#include "workers/tools/repository/ownership.hpp"
#include "workers/tools/repository/people.hpp"
#include "workers/tools/repository/period.hpp"
#include "workers/tools/repository/tools.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

// A repository, and a folder for what is kept of it.
class RepositoryHistory : public testing::RepositoryFolder {
 protected:
  // `author`: NAME, whose address follows from it, or "NAME <ADDRESS>".
  void commit(const std::string& author, const std::string& date = "2025-01-01T10:00:00Z") {
    const bool has_address = author.find('<') != std::string::npos;
    const std::string whole = has_address ? author : author + " <" + author + "@example.org>";
    ::setenv("GIT_COMMITTER_DATE", date.c_str(), 1);
    git("add -A");
    git("commit --no-gpg-sign -m 'by " + author.substr(0, 3) + "' --author='" + whole + "' --date=" + date);
    ::unsetenv("GIT_COMMITTER_DATE");
  }

  // `count` commits to the file, each of one line more.
  void commits(int count, const std::string& file, const std::string& author, const std::string& date) {
    for (int i = 0; i < count; ++i) {
      const fs::path path = root_ / file;
      fs::create_directories(path.parent_path());
      std::ofstream(path, std::ios::app) << author << i << "\n";
      commit(author, date);
    }
  }

  ToolAnswer call(const std::string& tool, Json inputs) {
    if (!inputs.contains("repository")) inputs["repository"] = root_.string();
    for (const ToolSpec& spec : repository_tools({"/"})) {
      ToolCall request;
      request.tool = tool;
      request.inputs = inputs;
      if (spec.name == tool) return std::get<NativeTool>(spec.does)(request);
    }
    return Failure{"not_found", "no such tool", false, {}};
  }

  Json answer(const std::string& tool, const Json& inputs) {
    ToolAnswer said = call(tool, inputs);
    if (said) return *std::move(said);
    ADD_FAILURE() << tool << ": " << said.error().message;
    return Json::object();
  }

  std::string refusal(const std::string& tool, const Json& inputs) {
    const ToolAnswer said = call(tool, inputs);
    return said ? "no failure" : said.error().message;
  }

  std::size_t commits_of(HistoryCache& cache) {
    const Result<GitState> state = git_state(root_.string(), 60'000);
    if (!state) throw std::runtime_error(state.error().message);
    const Result<std::shared_ptr<const CommitLog>> log = cache.read(root_.string(), *state, 60'000);
    if (!log) throw std::runtime_error(log.error().message);
    EXPECT_EQ((*log)->head, state->head);
    return (*log)->commits.size();
  }

  std::string kept_file() {
    for (const fs::directory_entry& entry : fs::directory_iterator(kept_)) return entry.path().string();
    return "";
  }

  const std::string kept_ = (top_ / "kept").string();
};

// --- inputs ----------------------------------------------------------------------------------------------------------
constexpr const char* three_years =
    "c5\tbob\t2025-06-01T10:00:00Z\t1\t1\tcore/a.c\n"
    "c4\tann\t2024-03-04T10:00:00Z\t2\t0\tcore/b.c\n"
    "c3\tann\t2024-03-03T10:00:00Z\t5\t0\tcore/a.c\n"
    "c2\tann\t2023-12-31T23:59:59Z\t1\t0\tcore/a.c\n"
    "c1\tbob\t2023-01-01T10:00:00Z\t9\t0\tcore/a.c\n";

TEST_F(RepositoryHistory, N1_tools_take_a_period_and_an_author) {
  const std::string file = numstat(three_years);
  const auto ids = [&](Json more) {
    more["repository"] = file;
    std::string text;
    const Json found = answer("recent_changes", more);
    for (const Json& change : found.at("changes")) text += change["commit"].get<std::string>();
    return text;
  };
  EXPECT_EQ(ids({{"since", "2024"}}), "c5c4c3");
  EXPECT_EQ(ids({{"since", "2024"}, {"until", "2024"}}), "c4c3");
  EXPECT_EQ(ids({{"since", "2024-03-04"}, {"until", "2024-03-04"}}), "c4");
  EXPECT_EQ(ids({{"until", "2023"}}), "c2c1");
  EXPECT_EQ(ids({{"author", "Bob"}, {"since", nullptr}}), "c5c1");
  EXPECT_EQ(ids({{"author", "ann"}, {"limit", 1}}), "c4");
  const Json owners = answer("owners", {{"repository", file}, {"path", "core"}, {"since", "2023"}, {"until", "2024"}});
  EXPECT_EQ(owners["owner"], "ann");
  EXPECT_EQ(owners["since"], "2023-01-01");
  EXPECT_EQ(owners["until"], "2024-12-31");
  EXPECT_EQ(answer("hotspots", {{"repository", file}, {"since", "2024-03-04"}})["files"].size(), 2U);
}

TEST_F(RepositoryHistory, a_period_without_commits_is_an_answer_and_says_when_the_latest_was) {
  const std::string file = numstat(three_years);
  for (const char* tool : {"owners", "bus_factor", "recent_changes", "hotspots", "co_changes"}) {
    const Json found = answer(tool, {{"repository", file}, {"path", "core"}, {"since", "2025-07"}});
    EXPECT_EQ(found["commits"], 0) << tool;
    EXPECT_EQ(found["last_commit_date"], "2025-06-01") << tool;
  }
}

TEST_F(RepositoryHistory, F11_bad_inputs_are_sentences) {
  const std::string file = numstat(three_years);
  EXPECT_EQ(refusal("owners", {{"repository", file}, {"since", "soon"}}),
            "Expected the input `since` to be a day (2024-05-31), month (2024-05), year (2024) or time back from now "
            "(\"3 months\"), but it is \"soon\".");
  EXPECT_EQ(refusal("owners", {{"repository", file}, {"until", 7}}),
            "Expected the input `until` to be a string, but it is 7.");
  EXPECT_EQ(refusal("owners", {{"repository", file}, {"since", "2025"}, {"until", "2024"}}),
            "Expected `since` to be before `until`, but it is not.");
  EXPECT_EQ(refusal("owners", {{"repository", file}, {"measure", "luck"}}),
            "Expected the input `measure` to be \"recent\" or \"commits\", but it is \"luck\".");
  EXPECT_EQ(refusal("owners", {{"repository", file}, {"bots", "yes"}}),
            "Expected the input `bots` to be true or false, but it is \"yes\".");
  EXPECT_EQ(refusal("owners", {{"repository", file}, {"author", "zoe"}}),
            "Expected an author called \"zoe\" in the repository " + file + ", but it has none.");
}

TEST(ReadPeriod, reads_days_months_quarters_years_and_times_back_from_now) {
  const TimeUs now_us = *parse_time("2026-03-31T15:00:00Z");
  const std::vector<std::array<std::string, 3>> cases = {
      {"2024", "2024-01-01T00", "2025-01-01T00"},         {"2024-02", "2024-02-01T00", "2024-03-01T00"},
      {"2024-12", "2024-12-01T00", "2025-01-01T00"},      {"2024-Q4", "2024-10-01T00", "2025-01-01T00"},
      {"2024-02-29", "2024-02-29T00", "2024-03-01T00"},   {"2024-05-01T10:00:00Z", "2024-05-01T10", "2024-05-01T10"},
      {"1 month", "2026-02-28T15", "2026-03-31T15"},      {"3 months ago", "2025-12-31T15", "2026-03-31T15"},
      {"2 weeks", "2026-03-17T15", "2026-03-31T15"},      {"10 days", "2026-03-21T15", "2026-03-31T15"},
      {"1 Year", "2025-03-31T15", "2026-03-31T15"},       {"this week", "2026-03-30T00", "2026-04-06T00"},
      {"last week", "2026-03-23T00", "2026-03-30T00"},    {"this month", "2026-03-01T00", "2026-04-01T00"},
      {"last quarter", "2025-10-01T00", "2026-01-01T00"}, {"last year", "2025-01-01T00", "2026-01-01T00"},
      {"today", "2026-03-31T00", "2026-04-01T00"},        {"yesterday", "2026-03-30T00", "2026-03-31T00"},
      {"March", "2026-03-01T00", "2026-04-01T00"},        {"april", "2025-04-01T00", "2025-05-01T00"}};
  for (const auto& [text, begin, end] : cases) {
    const std::optional<Period> period = read_period(text, now_us);
    ASSERT_TRUE(period) << text;
    EXPECT_EQ(time_text(period->begin_us).substr(0, 13), begin) << text;
    EXPECT_EQ(time_text(period->end_us).substr(0, 13), end) << text;
  }
  for (const char* text : {"", "soon", "2024-13", "2024-02-30", "24", "0 days", "-3 months", "3", "1969", "20245",
                           "2024-Q5", "3 moons", "next week", "99999999999 days"})
    EXPECT_FALSE(read_period(text, now_us)) << text;
}

// --- read once -------------------------------------------------------------------------------------------------------
TEST_F(RepositoryHistory, N1_a_history_is_read_once_and_then_only_what_is_new) {
  git("init -b main");
  commits(5, "core/a.c", "Ann", "2025-01-01T10:00:00Z");
  HistoryCache cache(kept_);
  EXPECT_EQ(commits_of(cache), 5U);
  EXPECT_EQ(commits_of(cache), 5U);
  EXPECT_EQ(cache.commits_read(), 5U);
  commits(2, "core/a.c", "Bob", "2025-02-01T10:00:00Z");
  EXPECT_EQ(commits_of(cache), 7U);
  EXPECT_EQ(cache.commits_read(), 7U);
  git("reset --hard HEAD~2");
  commits(1, "core/b.c", "Zoe", "2025-02-01T10:00:00Z");
  EXPECT_EQ(commits_of(cache), 6U) << "another branch: what both have is taken over";
  EXPECT_EQ(cache.commits_read(), 8U);
  HistoryCache next_process(kept_);
  EXPECT_EQ(commits_of(next_process), 6U);
  EXPECT_EQ(next_process.commits_read(), 0U);
}

TEST_F(RepositoryHistory, a_history_in_parts_is_the_history_in_one) {
  git("init -b main");
  commits(4, "core/a.c", "Ann", "2025-01-01T10:00:00Z");
  git("mv core/a.c core/b.c");
  commits(3, "core/b.c", "Bob", "2025-01-01T10:00:00Z");
  HistoryCacheLimits in_parts;
  in_parts.commits_of_a_part = 2;
  HistoryCache parts("", in_parts);
  HistoryCache whole;
  const Result<GitState> state = git_state(root_.string(), 60'000);
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(**parts.read(root_.string(), *state, 60'000) == **whole.read(root_.string(), *state, 60'000));
}

TEST_F(RepositoryHistory, the_kept_file_is_of_its_owner_alone_and_holds_the_same) {
  git("init -b main");
  commits(3, "core/odd name.c", "Ann", "2025-01-01T10:00:00Z");
  HistoryCache cache(kept_);
  commits_of(cache);
  EXPECT_EQ(fs::status(kept_).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(kept_file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const Result<GitState> state = git_state(root_.string(), 60'000);
  const std::optional<CommitLog> kept = HistoryFolder(kept_, history_bytes_max).read(state->directory);
  ASSERT_TRUE(kept);
  EXPECT_TRUE(*kept == **cache.read(root_.string(), *state, 60'000));
  const std::string bytes = encode_history(state->directory, *kept);
  EXPECT_FALSE(decode_history("/another/repository", bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(decode_history(state->directory, std::string_view(bytes).substr(0, size))) << size;
}

TEST_F(RepositoryHistory, a_kept_file_that_is_damaged_or_not_ours_is_read_again) {
  git("init -b main");
  commits(3, "core/a.c", "Ann", "2025-01-01T10:00:00Z");
  const auto is_read_again = [this] {
    HistoryCache cache(kept_);
    EXPECT_EQ(commits_of(cache), 3U);
    return cache.commits_read() == 3;
  };
  EXPECT_TRUE(is_read_again());
  EXPECT_FALSE(is_read_again());
  const std::string file = kept_file();
  {
    std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(60);
    damaged.put('X');
  }
  EXPECT_TRUE(is_read_again()) << "damaged";
  EXPECT_FALSE(is_read_again()) << "and mended";
  fs::resize_file(file, 100);
  EXPECT_TRUE(is_read_again()) << "cut";
  fs::permissions(file, fs::perms::owner_all | fs::perms::others_write);
  EXPECT_TRUE(is_read_again()) << "others may write it";
  fs::rename(file, top_ / "elsewhere");
  fs::create_symlink(top_ / "elsewhere", file);
  EXPECT_TRUE(is_read_again()) << "a link";
  fs::permissions(kept_, fs::perms::all);
  EXPECT_TRUE(is_read_again()) << "a folder that others may write to";
}

TEST_F(RepositoryHistory, N1_what_was_read_in_time_stays_when_git_fails_later) {
  git("init -b main");
  commits(6, "core/a.c", "Ann", "2025-01-01T10:00:00Z");
  // A `git` that is gone after its second part of commits.
  const fs::path bin = top_ / "bin";
  fs::create_directory(bin);
  const std::string path = std::getenv("PATH");
  const std::string count = (top_ / "parts").string();
  std::ofstream(bin / "git") << "#!/bin/sh\nPATH='" << path << "'\nexport PATH\ncase \"$*\" in *--no-walk*) echo >>"
                             << count << "; if [ $(wc -l <" << count << ") = 2 ]; then rm " << (bin / "git").string()
                             << "; fi ;; esac\nexec git \"$@\"\n";
  fs::permissions(bin / "git", fs::perms::owner_all);
  HistoryCacheLimits limits;
  limits.commits_of_a_part = 2;
  HistoryCache cache(kept_, limits);
  const Result<GitState> state = git_state(root_.string(), 60'000);
  ASSERT_TRUE(state.ok());
  ::setenv("PATH", bin.c_str(), 1);
  const Result<std::shared_ptr<const CommitLog>> log = cache.read(root_.string(), *state, 60'000);
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, Code::unavailable) << "it may be tried again";
  EXPECT_NE(log.error().message.find("2 of its 6 commits are left"), std::string::npos) << log.error().message;
  HistoryCache next_process(kept_, limits);
  EXPECT_EQ(commits_of(next_process), 6U);
  EXPECT_EQ(next_process.commits_read(), 2U) << "the rest";
  EXPECT_EQ(commits_of(cache), 6U);
  EXPECT_EQ(cache.commits_read(), 6U) << "no commit twice";
}

TEST_F(RepositoryHistory, memory_and_folder_hold_no_more_than_their_bounds) {
  git("init -b main");
  commits(3, "core/a.c", "Ann", "2025-01-01T10:00:00Z");
  HistoryCacheLimits no_memory;
  no_memory.memory_bytes_max = 1;
  HistoryCache cache(kept_, no_memory);
  commits_of(cache);
  EXPECT_EQ(commits_of(cache), 3U);
  EXPECT_EQ(cache.commits_read(), 3U) << "from the folder";
  const std::size_t one = fs::file_size(kept_file());
  git("clone . ../other");
  HistoryCacheLimits room_for_one;
  room_for_one.folder_bytes_max = one + one / 2;
  HistoryCache small(kept_, room_for_one);
  root_ = top_ / "other";
  EXPECT_EQ(commits_of(small), 3U);
  const auto files = std::distance(fs::directory_iterator(kept_), fs::directory_iterator());
  EXPECT_EQ(files, 1) << "the one that was used longest ago has gone";
}

TEST_F(RepositoryHistory, a_shallow_clone_says_that_its_history_is_cut_and_is_not_kept) {
  git("init -b main");
  commits(3, "core/a.c", "Ann", "2025-01-01T10:00:00Z");
  git("clone --depth 1 file://" + root_.string() + " ../cut");
  root_ = top_ / "cut";
  EXPECT_EQ(answer("owners", Json::object())["history_is_cut"], true);
  HistoryCache cache(kept_);
  commits_of(cache);
  EXPECT_FALSE(fs::exists(kept_));
}

// --- whose ----------------------------------------------------------------------------------------------------------
TEST_F(RepositoryHistory, recent_work_counts_more_than_work_of_long_ago) {
  git("init -b main");
  commits(8, "core/a.c", "Ann", "2020-01-01T10:00:00Z");
  commits(3, "core/a.c", "Bob", "2025-01-01T10:00:00Z");
  const Json recent = answer("owners", {{"path", "core"}});
  EXPECT_EQ(recent["measure"], "recent");
  EXPECT_EQ(recent["owner"], "Bob");
  EXPECT_EQ(recent["owner_commits"], 3);
  EXPECT_EQ(recent["as_of"], "2025-01-01");
  EXPECT_EQ(recent["shares"][1]["last"], "2020-01-01");
  EXPECT_EQ(answer("bus_factor", {{"path", "core"}})["holders"][0]["author"], "Bob");
  const Json counted = answer("owners", {{"path", "core"}, {"measure", "commits"}});
  EXPECT_EQ(counted["owner"], "Ann");
  EXPECT_EQ(counted["shares"][0]["share"], 0.727);
  EXPECT_EQ(answer("owners", {{"repository", numstat(three_years)}})["measure"], "commits");
  EXPECT_EQ(answer("owners", {{"repository", numstat(three_years)}, {"measure", "recent"}})["owner"], "bob");
}

TEST(WorkOf, halves_in_180_days_and_grows_with_the_logarithm_of_the_lines) {
  EXPECT_DOUBLE_EQ(work_of(0, 0), 1);
  EXPECT_DOUBLE_EQ(work_of(0, 999), 2);
  EXPECT_DOUBLE_EQ(work_of(0, 1'000'000), 2);
  EXPECT_DOUBLE_EQ(work_of(180, 0), 0.5);
  EXPECT_DOUBLE_EQ(work_of(360, 999), 0.5);
  EXPECT_DOUBLE_EQ(work_of(-5, 0), 1) << "a commit of the future is one of today";
}

TEST_F(RepositoryHistory, programs_own_nothing_unless_they_are_asked_for) {
  git("init -b main");
  commits(2, "core/a.c", "Ann", "2025-01-01T10:00:00Z");
  commits(4, "core/a.c", "dependabot[bot]", "2025-01-02T10:00:00Z");
  const Json owners = answer("owners", {{"path", "core"}});
  EXPECT_EQ(owners["owner"], "Ann");
  EXPECT_EQ(owners["commits"], 2);
  EXPECT_EQ(owners["bot_commits"], 4);
  EXPECT_EQ(answer("owners", {{"path", "core"}, {"bots", true}})["owner"], "dependabot[bot]");
  EXPECT_EQ(answer("recent_changes", {{"path", "core"}})["commits"], 6);
  EXPECT_EQ(answer("recent_changes", {{"path", "core"}, {"bots", false}})["commits"], 2);
  const Json by_bots_alone = answer("owners", {{"author", "dependabot[bot]"}});
  EXPECT_EQ(by_bots_alone["commits"], 0);
  EXPECT_EQ(by_bots_alone["last_commit_date"], "2025-01-02");
}

TEST(IsBot, by_rules_on_names_and_addresses) {
  const std::vector<std::pair<std::string, std::string>> bots = {
      {"dependabot[bot]", ""}, {"Renovate Bot", ""},
      {"snyk-bot", ""},        {"x", "49699333+dependabot[bot]@users.noreply.github.com"},
      {"GitHub-Actions", ""},  {"Someone", "release.bot@x.org"}};
  for (const auto& [name, email] : bots) EXPECT_TRUE(is_bot(name, email)) << name;
  const std::vector<std::pair<std::string, std::string>> people = {
      {"Marie Talbot", "talbot@x.org"}, {"Abbot", ""}, {"Bot Smith", ""}, {"Ann", "12+ann@users.noreply.github.com"}};
  for (const auto& [name, email] : people) EXPECT_FALSE(is_bot(name, email)) << name;
}

TEST(IsCalled, by_whole_words_of_the_name_or_the_address) {
  EXPECT_TRUE(is_called("Ann Lee", "al@x.org", "ann"));
  EXPECT_TRUE(is_called("Ann Lee", "al@x.org", "Lee"));
  EXPECT_TRUE(is_called("Ann Lee", "al@x.org", "AL@x.org"));
  EXPECT_TRUE(is_called("Ann Lee", "12+annlee@users.noreply.github.com", "annlee"));
  EXPECT_FALSE(is_called("Joanna Lee", "jo@x.org", "ann"));
  EXPECT_FALSE(is_called("Ann Lee", "al@x.org", ""));
}

TEST_F(RepositoryHistory, work_before_a_rename_counts_for_the_name_of_today) {
  git("init -b main");
  commits(3, "old/a.c", "Ann", "2025-01-01T10:00:00Z");
  commits(1, "other/b.c", "Zoe", "2025-01-02T10:00:00Z");
  git("mv old engine");
  commit("Bob", "2025-01-03T10:00:00Z");
  commits(1, "old/new.c", "Zoe", "2025-01-04T10:00:00Z");
  const Json owners = answer("owners", {{"path", "engine"}});
  EXPECT_EQ(owners["commits"], 4);
  EXPECT_EQ(owners["owner"], "Ann");
  const Json files = answer("hotspots", {{"path", "engine"}})["files"];
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0]["path"], "engine/a.c");
  EXPECT_EQ(files[0]["commits"], 4);
  EXPECT_EQ(answer("owners", {{"path", "old"}})["owner"], "Ann") << "and what was there";
}

TEST_F(RepositoryHistory, issue_20_6_a_name_that_is_gone_leads_to_the_one_of_today) {
  git("init -b main");
  commits(1, "old/a.c", "Ann", "2025-01-01T10:00:00Z");
  commits(1, "old/b.c", "Ann", "2025-01-01T10:00:00Z");
  git("mv old middle");
  commit("Bob", "2025-01-02T10:00:00Z");
  git("mv middle engine");
  commit("Bob", "2025-01-03T10:00:00Z");
  const auto refused = [this](const std::string& name) { return refusal("owners", {{"path", name}}); };
  const std::string none = "\" in the repository " + root_.string() + ", but it has none.";
  EXPECT_EQ(refused("old"), "Expected a directory or file named \"old" + none + " It is called \"engine\" now.");
  EXPECT_EQ(refused("old/a.c"),
            "Expected a directory or file named \"old/a.c" + none + " It is called \"engine/a.c\" now.");
  EXPECT_EQ(refused("older"), "Expected a directory or file named \"older" + none);
}

TEST_F(RepositoryHistory, a_mailmap_holds_at_once_whatever_is_kept) {
  git("init -b main");
  commits(2, "core/a.c", "Ann <ann@home.org>", "2025-01-01T10:00:00Z");
  commits(1, "core/a.c", "A. Lee <ann@work.org>", "2025-01-01T10:00:00Z");
  const auto tools = repository_tools({"/"}, kept_);
  ToolCall request;
  request.inputs = {{"repository", root_.string()}, {"measure", "commits"}};
  const NativeTool& owners = std::get<NativeTool>(tools.front().does);
  EXPECT_EQ((*owners(request))["owner_commits"], 2);
  write(".mailmap", "Ann Lee <ann@home.org>\nAnn Lee <ann@home.org> <ann@work.org>\n");
  EXPECT_EQ((*owners(request))["owner_commits"], 3);
  EXPECT_EQ((*owners(request))["owner"], "Ann Lee");
}

TEST_F(RepositoryHistory, declared_owners_stand_beside_those_by_work) {
  git("init -b main");
  write(".github/CODEOWNERS", "* @everyone\n/core/ @core-team ann@example.org # they\n");
  commits(1, "core/a.c", "Ann", "2025-01-01T10:00:00Z");
  const Json owners = answer("owners", {{"path", "core"}});
  EXPECT_EQ(owners["declared_owners"], (Json{"@core-team", "ann@example.org"}));
  EXPECT_EQ(owners["declared_in"], ".github/CODEOWNERS");
  EXPECT_EQ(answer("owners", Json::object())["declared_owners"], Json::array({"@everyone"}));
}

TEST(CodeOwners, patterns_are_those_that_github_reads) {
  struct Case {
    const char* pattern;
    const char* path;
    bool is_directory;
    bool covered;
  };
  const std::vector<Case> cases = {{"*", "a/b.c", false, true},
                                   {"*.js", "a/b.js", false, true},
                                   {"*.js", "a/b.ts", false, false},
                                   {"/docs/", "docs/a/b", false, true},
                                   {"/docs/", "x/docs/a", false, false},
                                   {"docs/", "x/docs/a", false, true},
                                   {"docs/", "docs", false, false},
                                   {"docs/", "docs", true, true},
                                   {"docs/*", "docs/a", false, true},
                                   {"docs/*", "docs/a/b", false, false},
                                   {"docs/*", "docs/a", true, false},
                                   {"apps/", "apps/x/y", true, true},
                                   {"/build/logs/", "build/logs", true, true},
                                   {"/build/logs/", "x/build/logs", true, false},
                                   {"**/logs", "a/b/logs/c", false, true},
                                   {"a/**/z", "a/b/c/z", false, true},
                                   {"a/**/z", "a/z", false, true},
                                   {"/a?c", "abc", false, true},
                                   {"a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, false}};
  for (const Case& one : cases)
    EXPECT_EQ(covers(one.pattern, one.path, one.is_directory), one.covered) << one.pattern << " " << one.path;
  const char* text = "# first\n[Section]\n* @all\n\n/a/ @a\n/a/open\n\"odd\n/sp\\ ace/ @space\n";
  EXPECT_EQ(declared_owners(text, "a/x", false), std::vector<std::string>{"@a"});
  EXPECT_TRUE(declared_owners(text, "a/open", false).empty()) << "the last rule that matches, without owners";
  EXPECT_EQ(declared_owners(text, "sp ace/x", false), std::vector<std::string>{"@space"});
}

// --- blame -----------------------------------------------------------------------------------------------------------
TEST_F(RepositoryHistory, blame_names_the_authors_of_the_lines_of_today) {
  git("init -b main");
  commits(3, "core/a.c", "Ann", "2025-01-01T10:00:00Z");
  commits(2, "core/a.c", "Bob", "2025-02-01T10:00:00Z");
  write(".mailmap", "Bobby <Bob@example.org>\n");
  const Json found = answer("blame", {{"path", "a.c"}});
  EXPECT_EQ(found["path"], "core/a.c");
  EXPECT_EQ(found["lines"], 5);
  EXPECT_EQ(found["owner"], "Ann");
  EXPECT_EQ(found["shares"][0], (Json{{"author", "Ann"}, {"lines", 3}, {"share", 0.6}, {"last", "2025-01-01"}}));
  EXPECT_EQ(found["shares"][1]["author"], "Bobby");
  Json below = answer("blame", {{"repository", (root_ / "core").string()}, {"path", "core/a.c"}, {"limit", 1}});
  EXPECT_EQ(below["shares"].size(), 1U) << "from any folder of the repository";
  EXPECT_EQ(refusal("blame", {{"path", "core"}}),
            "Expected a file named \"core\" in the repository " + root_.string() + ", but it has none.");
}

TEST_F(RepositoryHistory, S3_12_blame_that_fails_falls_back_on_the_owners) {
  for (const ToolSpec& spec : repository_tools({"/"})) EXPECT_EQ(spec.fallback, spec.name == "blame" ? "owners" : "");
}

TEST_F(RepositoryHistory, no_call_of_git_runs_a_program_that_the_repository_names_or_reads_its_files) {
  git("init -b main");
  const std::string trap = write("trap.sh", "#!/bin/sh\ntouch " + (top_ / "sprung").string() + "\ncat\n");
  fs::permissions(trap, fs::perms::owner_all);
  commits(2, "core/a.c", "Ann", "2025-01-01T10:00:00Z");
  write(".gitattributes", "*.c diff=trap filter=trap\n");
  write("CODEOWNERS", "* @ann\n");
  write(".git/hooks/post-checkout", "#!/bin/sh\nexec " + trap + "\n");
  commit("Ann");
  for (const std::string setting :
       {"diff.external", "diff.trap.textconv", "diff.trap.command", "filter.trap.clean", "filter.trap.smudge",
        "filter.trap.process", "core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "gpg.program",
        "core.gitProxy", "pager.blame", "pager.log", "sequence.editor", "credential.helper"})
    git("config " + setting + " " + trap);
  for (const std::string setting :
       {"blame.ignoreRevsFile /dev/zero", "mailmap.file /dev/zero", "core.attributesFile /dev/zero",
        "diff.orderFile /dev/zero", "log.showSignature true", "core.hooksPath .git/hooks"})
    git("config " + setting);
  for (const char* tool : {"owners", "bus_factor", "recent_changes", "hotspots", "co_changes", "blame"})
    EXPECT_EQ(answer(tool, {{"path", "core/a.c"}})["authors"], 1) << tool;
  EXPECT_EQ(answer("owners", {{"path", "core"}})["declared_owners"], Json::array({"@ann"}));
  EXPECT_FALSE(fs::exists(top_ / "sprung"));
}

}  // namespace
}  // namespace cairn

// Tidy rule of plans: a statement of a claim's or a commit's way that reads jobs, runs or events has its plan tested
// (tests/storage/postgres/plans_test.cpp), or stands here with the reason why it may read a whole table.
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "tests/tidy/sources.hpp"

namespace cairn::testing {
namespace {

using StatementNames = std::set<std::string>;

constexpr std::string_view plans_path = "tests/storage/postgres/plans_test.cpp";
constexpr std::string_view statements_folder = "schema/statements/";

// The folders of schema/statements in which what claims, commits and sessions send stands.
const StatementNames ways = {"claim", "commit", "keys", "queues", "sessions"};

const std::map<std::string, std::string_view> may_read_all = {
    {"permit_queue", "once, when a queue gets limits by which its jobs count"},
    {"queues", "a sum over all jobs, for people and metrics"},
    {"held_by", "when a session begins or ends: no index has the holder, so that a held row moves on without one"},
    {"held_counts", "for people: no index has the holder"},
    {"look_at_held", "a sweep, seconds apart: no index has the holder"},
    {"forget_holds", "once, when a backup is restored"},
};

StatementNames names_in(const std::string& text, const std::regex& one) {
  StatementNames names;
  for (std::sregex_iterator at(text.begin(), text.end(), one), end; at != end; ++at) names.insert(at->str(1));
  return names;
}

// The keys of its map of hot statements.
StatementNames planned_in(const std::string& text) { return names_in(text, std::regex("\\n    \\{\"(\\w+)\", \\{")); }

// True of a comment as well: its statement is then named too often, not too seldom.
bool reads_rows_of_runs(const Sources& sources, const std::string& text) {
  static const std::regex table("cairn\\.(job|run|event)\\b"), part("-- part (\\w+)");
  if (std::regex_search(text, table)) return true;
  for (const std::string& name : names_in(text, part)) {
    const Source* const found = find_source(sources, std::string(statements_folder) + "parts/" + name + ".sql");
    if (found != nullptr && reads_rows_of_runs(sources, text_of(*found))) return true;
  }
  return false;
}

StatementNames reading_rows_of_runs(const Sources& sources) {
  static const std::regex path("schema/statements/(\\w+)/(\\w+)\\.sql");
  StatementNames names;
  std::smatch of;
  for (const Source& one : sources)
    if (std::regex_match(one.path, of, path) && ways.contains(of.str(1)) && reads_rows_of_runs(sources, text_of(one)))
      names.insert(of.str(2));
  return names;
}

TEST(Tidy, what_claims_and_commits_read_of_jobs_runs_and_events_has_its_plan_tested) {
  EXPECT_EQ(planned_in("{\n    {\"one\", {\"job_pkey\"}},\n    {\"two\", {}},\n};"), (StatementNames{"one", "two"}));
  const Sources example = {source("schema/statements/claim/one.sql", "select from cairn.job j"),
                           source("schema/statements/keys/two.sql", "select (\n-- part three\n)"),
                           source("schema/statements/parts/three.sql", "select from cairn.run r"),
                           source("schema/statements/keys/four.sql", "select from cairn.job_not_this"),
                           source("schema/statements/bench/five.sql", "select from cairn.event")};
  EXPECT_EQ(reading_rows_of_runs(example), (StatementNames{"one", "two"}));

  const Source* const plans = find_source(all_sources(), std::string(plans_path));
  ASSERT_NE(plans, nullptr);
  const StatementNames planned = planned_in(text_of(*plans)), reading = reading_rows_of_runs(all_sources());
  for (const std::string& name : reading)
    EXPECT_NE(planned.contains(name), may_read_all.contains(name))
        << name << ": expected it in the map of hot statements in " << plans_path << ", or in may_read_all above";
  for (const auto& [name, reason] : may_read_all) EXPECT_TRUE(reading.contains(name)) << name << " reads none of it";
}

}  // namespace
}  // namespace cairn::testing

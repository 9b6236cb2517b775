// Tidy rules of migrations: the release before works on while a newer one migrates, and goes on afterwards. So a
// migration only adds (schema/README.md, "Two releases side by side"), and none keeps a table in use locked for longer
// than a catalogue entry takes to write.
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/tidy/sources.hpp"

namespace cairn::testing {
namespace {

std::string without_comments(const std::string& line) {
  bool is_text = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\'') is_text = !is_text;
    if (!is_text && line.compare(at, 2, "--") == 0) return line.substr(0, at);
  }
  return line;
}

// In one line each; bodies between $$ and texts between quotes hold no ends of statements.
std::vector<std::string> statements_in(const Source& source) {
  std::vector<std::string> statements;
  std::string current;
  bool is_text = false, is_body = false;
  for (const std::string& line : source.lines) {
    const std::string code = without_comments(line) + " ";
    for (std::size_t at = 0; at < code.size(); ++at) {
      if (!is_body && code[at] == '\'') is_text = !is_text;
      if (!is_text && code.compare(at, 2, "$$") == 0) is_body = !is_body;
      if (code[at] != ';' || is_text || is_body) {
        current += code[at];
        continue;
      }
      statements.push_back(std::regex_replace(current, std::regex("^ +| +$"), ""));
      current.clear();
    }
  }
  if (current.find_first_not_of(' ') != std::string::npos) statements.push_back(current + "(without its end)");
  return statements;
}

struct Refused {
  std::regex pattern;
  std::string says;
};

const std::vector<Refused>& refused_everywhere() {
  static const std::vector<Refused> all = {
      {std::regex("^drop |\\bdrop (column|constraint|default|not null|expression)\\b"), "takes something away"},
      {std::regex("\\brename\\b"), "takes a name away"},
      {std::regex("\\balter (column )?\\w+ (set data )?type\\b"), "writes the table again"},
      {std::regex("\\bset not null\\b|^alter table .*\\badd (?!column )"), "refuses what the release before writes"},
      {std::regex("^(update|delete|truncate|lock|cluster|vacuum|reindex)\\b"), "holds rows or a table in use"},
      {std::regex("^create (or replace )?(trigger|rule)\\b"), "changes what a statement of the release before does"},
  };
  return all;
}

// The columns that an ALTER TABLE adds, each with what follows its name.
std::vector<std::string> added_columns(const std::string& statement) {
  std::vector<std::string> columns;
  static const std::regex added("\\badd column [^,(]*(\\([^)]*\\)[^,(]*)*");
  for (std::sregex_iterator at(statement.begin(), statement.end(), added), end; at != end; ++at)
    columns.push_back(at->str());
  return columns;
}

bool is_filled_by_the_catalogue(const std::string& column) {
  static const std::regex constant("\\bdefault ('[^']*'|-?[0-9]+|true|false|now\\(\\))");
  return std::regex_search(column, constant);
}

void check_columns(const std::string& statement, std::vector<std::string>& says) {
  for (const std::string& column : added_columns(statement)) {
    const bool has_default = column.find(" default ") != std::string::npos;
    if (has_default && !is_filled_by_the_catalogue(column)) says.push_back("writes the table again");
    if (!has_default && column.find(" not null") != std::string::npos)
      says.push_back("refuses what the release before writes");
  }
}

// An index on a table of the same migration has nothing to read; any other one is built while the table is written, by
// a migration of its own, because that cannot be done in a transaction.
void check_index(const std::string& statement, const std::set<std::string>& made, std::size_t count,
                 std::vector<std::string>& says) {
  static const std::regex index("^create (unique )?index (concurrently )?(if not exists )?\\w+ on (cairn\\.\\w+) ");
  std::smatch found;
  if (!std::regex_search(statement, found, index)) return says.push_back("is an index in another form");
  if (made.contains(found.str(4))) return;
  if (!found[2].matched) return says.push_back("keeps writers out while an index is built");
  if (!found[3].matched || found[1].matched || count != 1) says.push_back("cannot be tried again");
}

// "0008 keeps writers out ...": the migration's number and the fault.
std::set<std::string> faults_of_migration(const Source& file) {
  const std::string number = file.path.substr(file.path.rfind('/') + 1, 4);
  const std::vector<std::string> statements = statements_in(file);
  std::set<std::string> made;
  std::vector<std::string> says;
  for (const std::string& statement : statements) {
    std::smatch table;
    static const std::regex creation("^create (unlogged )?table (cairn\\.\\w+) ");
    if (std::regex_search(statement, table, creation)) made.insert(table.str(2));
    if (statement.starts_with("do ") || statement.starts_with("comment ")) continue;
    for (const Refused& one : refused_everywhere())
      if (std::regex_search(statement, one.pattern)) says.push_back(one.says);
    if (statement.starts_with("alter table ")) check_columns(statement, says);
    if (statement.find("index") != std::string::npos && statement.starts_with("create ") &&
        !statement.starts_with("create table"))
      check_index(statement, made, statements.size(), says);
  }
  std::set<std::string> faults;
  for (const std::string& one : says) faults.insert(number + " " + one);
  return faults;
}

Source migration(const std::string& text) { return source("schema/migrations/0099_next.sql", text); }

TEST(Tidy, a_migration_only_adds) {
  for (const char* text : {
           "drop table cairn.home;",
           "alter table cairn.run drop column reason;",
           "alter table cairn.run rename column reason to why;",
           "alter table cairn.run alter column head type int;",
           "alter table cairn.run alter column parent set not null;",
           "alter table cairn.run add constraint one check (head > 0);",
           "alter table cairn.run add column size bigint not null;",
           "alter table cairn.run add column drawn uuid not null default gen_random_uuid();",
           "alter table cairn.run add column a int, add column b int not null;",
           "update cairn.run set reason = '';",
           "create index run_reason on cairn.run (reason);",
           "create index concurrently run_reason on cairn.run (reason);",
           "create index concurrently if not exists a on cairn.run (reason);\ncreate table cairn.b (n int);",
       })
    EXPECT_EQ(faults_of_migration(migration(text)).size(), 1u) << text;
  for (const char* text : {
           "create table cairn.b (n int not null, m text);\ncreate index b_m on cairn.b (m);",
           "-- drop; nothing\nalter table cairn.run add column size bigint not null default 0, add column why text;",
           "create index concurrently if not exists run_reason on cairn.run (reason);",
           "comment on column cairn.run.head is 'drop; it';",
           "alter table cairn.blob alter column put_at set default (extract(epoch from now()))::bigint;",
           "do $$ begin grant select on cairn.b to cairn_app; end $$;",
       })
    EXPECT_TRUE(faults_of_migration(migration(text)).empty()) << text;
}

// Shipped before the rule. The time for which they keep the writers of the first release out is in
// ops/bench/RESULTS.md (case migrate).
TEST(Tidy, shipped_migrations_keep_the_rule_but_for_these) {
  const std::set<std::string> known = {
      "0005 keeps writers out while an index is built",  // of `run`
      "0006 refuses what the release before writes",     // checkpoints without a key, which release 1 never wrote
      "0008 takes something away",                       // job_due, made again
      "0008 keeps writers out while an index is built",  // of `job`: what is open
      "0009 takes something away",                       // checks
      "0010 takes something away",                       // job_due, made again
      "0010 keeps writers out while an index is built",  // of `job`
      "0013 keeps writers out while an index is built",  // of `checkpoint`
      "0014 holds rows or a table in use",               // rows of called runs
      "0014 keeps writers out while an index is built",  // of `run`
  };
  std::set<std::string> found;
  for (const Source& file : all_sources())
    if (file.path.starts_with("schema/migrations/")) found.merge(faults_of_migration(file));
  EXPECT_EQ(found, known);
}

}  // namespace
}  // namespace cairn::testing

// Tidy rule of placements: a statement is about one shard, and goes to the node that has it. The few that ask each node
// of a cluster cost as many round trips as there are nodes, so each of them stands here with its reason.
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "tests/tidy/sources.hpp"

namespace cairn::testing {
namespace {

constexpr std::string_view all_runs = "a list of runs, wherever they are";
constexpr std::string_view a_sum = "a sum over all runs";
constexpr std::string_view the_oldest = "the oldest job of a queue, wherever it is";
constexpr std::string_view limits = "limits of a queue hold across nodes";
constexpr std::string_view spent = "what limits counted once, wherever it is";
constexpr std::string_view a_change = "a change of a queue's limits, by hand";
constexpr std::string_view a_session = "what a session left, wherever it is";
constexpr std::string_view whose_runs = "runs that these refer to, wherever they are";
constexpr std::string_view the_feed = "the feed is of all runs";

// By the statement; a caller whose statement is not written there, by its file.
const std::map<std::string, std::string_view> asked_of_each_node = {
    {"runs", all_runs},
    {"runs_of_graph", all_runs},
    {"window_of_runs", all_runs},
    {"window_of_graph", all_runs},
    {"runs_tagged", all_runs},
    {"runs_tagged_lately", all_runs},
    {"runs_between", all_runs},
    {"loose_ends", all_runs},
    {"questions", all_runs},
    {"questions_after", all_runs},
    {"erased", all_runs},
    {"archive_candidates", all_runs},
    {"archive_candidates_tagged", all_runs},
    {"archive_due", all_runs},
    {"count_runs", a_sum},
    {"queues", a_sum},
    {"held_counts", a_sum},
    {"oldest_jobs", the_oldest},
    {"runs_coming_from", whose_runs},
    {"kept_for_open_runs", whose_runs},
    {"erase_heirs", whose_runs},
    {"queue_rates", limits},
    {"key_uses", limits},
    {"budget_uses", limits},
    {"budget_uses_of_keys", limits},
    {"forget_key", limits},
    {"retire_permits", limits},
    {"storage/postgres/claims/claim_rooms.cpp", limits},  // retire_permits, queue_rates, budget_uses at once
    {"storage/postgres/store/limit_table.cpp", spent},    // a page of one node at a time
    {"leave_homes", a_session},
    {"drop_progress", a_session},
    {"held_by", a_session},
    {"look_at_held", a_session},
    {"end_stalled", a_session},
    {"feed_standing", the_feed},
    {"feed_waiting", the_feed},
    {"feed_places", the_feed},
    {"storage/feed/feed.cpp", the_feed},
};

// Loops that ask each shard, which is as many round trips as there are shards, by their functions.
const std::map<std::string, std::string_view> asked_of_each_shard = {
    {"put_limits", a_change},
    {"find_keys", a_change},
    {"count_all_held", a_change},
};

// The statements that the source sends to each node; its path for those that are not named in the call. An AskEachNode
// (claims/limit_uses.hpp) passes names on: they are found where it is called.
std::set<std::string> sent_to_each_node(const Source& source) {
  static const std::regex call("(query_each|query_each_widely|one_shard_of_each|ask_each)\\(((?:[^,()]|\\(\\))*)[,)]");
  static const std::regex passed_on(
      "(std::string_view name, const PgParameters& parameters\\) \\{\\s*return \\w+\\.)query_each\\(name, "
      "parameters\\)");
  static const std::regex name("\"(\\w+)\"");
  std::set<std::string> found;
  const std::string text = std::regex_replace(text_of(source), passed_on, "$1");
  for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) {
    const std::string first = at->str(2);
    std::sregex_iterator named(first.begin(), first.end(), name);
    if (named == end) found.insert(source.path);
    for (; named != end; ++named) found.insert(named->str(1));
  }
  return found;
}

// The functions, which begin at the left edge, of loops over all shards.
std::set<std::string> asking_each_shard(const Source& source) {
  static const std::regex loop("^ +for \\(Shard \\w+ = 0; "), function("^\\w.*?(\\w+)\\([^)]*(\\)|,$).*");
  std::set<std::string> found;
  std::string inside;
  std::smatch of;
  for (const std::string& line : source.lines) {
    if (std::regex_match(line, of, function)) inside = of.str(1);
    if (std::regex_search(line, loop)) found.insert(inside);
  }
  return found;
}

TEST(Tidy, what_asks_each_node_of_a_cluster_is_named_with_its_reason) {
  using Names = std::set<std::string>;
  const auto in = [](const std::string& text) { return sent_to_each_node(source("storage/example.cpp", text)); };
  EXPECT_EQ(in("placements.query_each(\"one\", parameters);"), Names{"one"});
  EXPECT_EQ(in("placements->query_each_widely(\n    \"one\");"), Names{"one"});
  EXPECT_EQ(in("query_each(filter.graph.empty() ? \"one\" : \"two\", filtered(filter))"), (Names{"one", "two"}));
  EXPECT_EQ(in("query_each(name, parameters)"), Names{"storage/example.cpp"});
  EXPECT_EQ(in("for (const Shard shard : placements_.one_shard_of_each()) {"), Names{"storage/example.cpp"});
  EXPECT_EQ(in("for (const PgResult& part : ask_each(\"one\", parameters))"), Names{"one"});
  EXPECT_EQ(
      in("[&](std::string_view name, const PgParameters& parameters) {\n  return all.query_each(name, parameters);"),
      Names{});
  EXPECT_EQ(in("placements.query(shard, \"one\")"), Names{});

  Names found, listed;
  for (const Source& one : all_sources())
    if (is_cpp(one) && folder_of(one) != "tests" && !one.path.starts_with("storage/postgres/placements."))
      found.merge(sent_to_each_node(one));
  for (const auto& [name, reason] : asked_of_each_node) listed.insert(name);
  EXPECT_EQ(found, listed);
}

TEST(Tidy, what_asks_each_shard_of_a_database_is_named_with_its_reason) {
  using Names = std::set<std::string>;
  EXPECT_EQ(asking_each_shard(source("storage/postgres/example.cpp",
                                     "int Table::one(int n) {\n  return n;\n}\n"
                                     "void Table::two(const std::string& queue,\n               int n) {\n"
                                     "  for (Shard shard = 0; shard < shards_; ++shard)\n    ask(shard);\n}\n")),
            Names{"two"});

  Names found, listed;
  for (const Source& one : all_sources())
    if (is_cpp(one) && one.path.starts_with("storage/postgres/") &&
        !one.path.starts_with("storage/postgres/placements."))
      found.merge(asking_each_shard(one));
  for (const auto& [name, reason] : asked_of_each_shard) listed.insert(name);
  EXPECT_EQ(found, listed);
}

}  // namespace
}  // namespace cairn::testing

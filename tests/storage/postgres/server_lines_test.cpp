#include "storage/postgres/server_lines.hpp"

#include <gtest/gtest.h>

#include "storage/postgres/connection_pool.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::test {
namespace {

TEST(ServerLines, another_timeline_is_said_once) {
  ServerLines lines;
  EXPECT_FALSE(lines.note("a", {7, 1}));
  EXPECT_FALSE(lines.note("a", {7, 1}));
  EXPECT_FALSE(lines.note("a", {7, 0})) << "a replica writes on none";
  const std::optional<std::string> says = lines.note("a", {7, 2});
  ASSERT_TRUE(says);
  EXPECT_NE(says->find("on timeline 2 of system 7 now, and was on timeline 1 of system 7"), std::string::npos) << *says;
  EXPECT_FALSE(lines.note("a", {7, 2}));
  EXPECT_TRUE(lines.note("a", {7, 1})) << "the old one answers again";
  EXPECT_TRUE(lines.note("a", {8, 1})) << "another server";
}

TEST(ServerLines, the_nodes_of_a_cluster_have_each_their_own) {
  ServerLines lines;
  EXPECT_FALSE(lines.note("a", {7, 1}));
  EXPECT_FALSE(lines.note("b", {8, 3}));
  EXPECT_FALSE(lines.note("a", {7, 1}));
}

// It is asked next to the identity; without the right the database is used all the same.
TEST(ServerLines, a_login_that_may_not_ask_for_it_is_connected) {
  const std::string dsn = new_database(1);
  ask(dsn, "create role without_lines login in role cairn_app");
  ask(dsn, "revoke execute on function pg_control_system() from public");
  PostgresPool pool({with_user(dsn, "without_lines")}, 1);
  pool.expect_identity(ask_text(dsn, "select id from cairn.identity"));
  EXPECT_EQ(pool.query("identity").rows(), 1);
  EXPECT_EQ(pool.query("identity").rows(), 1);
}

}  // namespace
}  // namespace cairn::test

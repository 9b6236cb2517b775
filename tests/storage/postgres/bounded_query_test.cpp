// Queries by others over the sample data set: what they may read, and that they can do nothing else.
#include "storage/postgres/bounded_query.hpp"

#include <gtest/gtest.h>

#include "storage/data/dataset_values.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

std::string database() {
  static const std::string dsn = [] {
    const std::string made = test::new_database(1);
    const Result<bool> loaded = load_sample(made);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return made;
  }();
  return dsn;
}

Dataset sample() {
  Dataset dataset;
  dataset.dsn = database();
  dataset.login = sample_login;
  return dataset;
}

Result<QueryRows> run(const std::string& text, const QueryLimits& limits = {}) {
  return run_bounded({database(), sample_login, sample_schema, text, 0}, limits);
}

Error refusal(const std::string& text, const QueryLimits& limits = {}) {
  const Result<QueryRows> rows = run(text, limits);
  EXPECT_FALSE(rows.ok()) << text;
  return rows.ok() ? Error{} : rows.error();
}

// All that a hostile query could have changed, in one line.
std::string fingerprint() {
  return test::ask_text(database(),
                        "select concat((select count(*) from sample_shop.orders), ' ', (select sum(net_amount) from "
                        "sample_shop.orders), ' ', (select count(*) from pg_class), ' ', (select count(*) from "
                        "pg_largeobject_metadata), ' ', (select count(*) from pg_roles), ' ', (select count(*) from "
                        "cairn.run))");
}

TEST(BoundedQuery, rows_come_with_names_and_types) {
  const Result<QueryRows> rows =
      run("select name, net_price, product_id = 1 as first, null as nothing from products order by product_id; ");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->columns.size(), 4u);
  EXPECT_EQ(rows->columns[1].name, "net_price");
  EXPECT_EQ(rows->columns[1].type, "number");
  EXPECT_EQ(rows->rows[0], Json::array({"Trail Lamp", 49.9, true, nullptr}));
  EXPECT_EQ(rows->rows.size(), 16u);
  EXPECT_FALSE(rows->more);
}

TEST(BoundedQuery, a_query_cannot_write_whatever_it_tries) {
  const std::string before = fingerprint();
  for (const char* hostile : {"select 1; drop table orders",
                              "select 1; reset role; drop table orders",
                              "drop table orders",
                              "insert into orders values (0)",
                              "update orders set quantity = 0",
                              "delete from orders",
                              "truncate orders",
                              "with gone as (delete from orders returning *) select * from gone",
                              "create table mine (a int)",
                              "select * into mine from orders",
                              "create temporary table mine (a int)",
                              "begin",
                              "commit",
                              "rollback",
                              "vacuum",
                              "do $$ begin execute 'drop table orders'; end $$",
                              "call anything()",
                              "listen x",
                              "prepare p as select 1",
                              "set default_transaction_read_only = off",
                              "explain analyze delete from orders",
                              "lock table orders",
                              "grant select on orders to public",
                              "alter role cairn_data superuser",
                              "select 1) as q(c1); drop table orders --",
                              "select * from orders for update",
                              "alter system set fsync = off"}) {
    const Error error = refusal(hostile);
    EXPECT_TRUE(error.code == Code::invalid || error.code == Code::closed) << hostile << ": " << error.message;
    EXPECT_FALSE(error.message.empty());
  }
  EXPECT_EQ(fingerprint(), before);
}

TEST(BoundedQuery, a_query_cannot_become_somebody_else) {
  for (const char* hostile :
       {"reset role", "set role postgres", "set role cairn", "set session authorization default",
        "reset session authorization", "select set_config('role', 'cairn', true)",
        "select set_config('session_authorization', 'cairn', false)",
        "select set_config('role', 'none', true), query_to_xml('select * from cairn.run', true, true, '')",
        "select query_to_xml('drop table orders', true, true, '')",
        "select set_config('transaction_read_only', 'off', true), query_to_xml('delete from orders', true, true, "
        "'')"}) {
    const Error error = refusal(hostile);
    EXPECT_FALSE(error.message.empty()) << hostile;
  }
  const Result<QueryRows> who = run("select current_user::text, session_user::text");
  ASSERT_TRUE(who.ok());
  EXPECT_EQ(who->rows[0], Json::array({"cairn_data", "cairn_data"}));
}

TEST(BoundedQuery, a_query_reads_the_data_set_and_nothing_else) {
  for (const char* hostile :
       {"select * from cairn.run", "select * from cairn.event", "select * from cairn.blob", "table cairn.worker",
        "select pg_read_file('/etc/passwd')", "select pg_read_binary_file('/etc/passwd')", "select pg_ls_dir('.')",
        "select lo_import('/etc/passwd')", "select lo_export(1, '/tmp/x')", "copy orders to program 'id'",
        "copy orders to '/tmp/orders'", "copy (select 1) to stdout", "select * from pg_authid",
        "select dblink('dbname=cairn', 'select 1')", "select * from dblink_connect('x')", "select pg_reload_conf()",
        "select pg_stat_file('/etc/passwd')", "select pg_switch_wal()"}) {
    const Error error = refusal(hostile);
    EXPECT_TRUE(error.code == Code::invalid || error.code == Code::closed) << hostile << ": " << error.message;
  }
}

TEST(BoundedQuery, what_a_function_leaves_is_rolled_back) {
  const std::string before = fingerprint();
  (void)run("select lo_creat(-1)");
  (void)run("select set_config('transaction_read_only', 'off', true), lo_creat(-1)");
  (void)run("select pg_advisory_lock(42)");
  EXPECT_EQ(fingerprint(), before);
  EXPECT_EQ(test::ask_number(database(), "(select pg_try_advisory_lock(42)::int)"), 1) << "a lock outlives its query";
}

TEST(BoundedQuery, a_query_cannot_run_long) {
  QueryLimits limits;
  limits.timeout_ms = 150;
  for (const char* slow : {"select pg_sleep(60)", "select count(*) from orders a, orders b, orders c, orders d",
                           "select set_config('statement_timeout', '0', false), pg_sleep(60)",
                           "with recursive r as (select 1 as n union all select n + 1 from r) select max(n) from r"}) {
    const Error error = refusal(slow, limits);
    EXPECT_EQ(error.code, Code::limit) << slow << ": " << error.message;
  }
}

// The query of a page is one statement, the rows before it another.
TEST(BoundedQuery, H13_a_page_is_limited_in_time_whatever_the_rows_before_it_set) {
  QueryLimits limits;
  limits.timeout_ms = 300;
  const std::string slow =
      "select set_config('statement_timeout', '0', false), case when n > 3 then pg_sleep(60)::text else '' end "
      "from generate_series(1, 9) n";
  const Result<QueryRows> rows = run_bounded({database(), sample_login, sample_schema, slow, 2}, limits);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, Code::limit);
  EXPECT_NE(rows.error().message.find("statement timeout"), std::string::npos) << rows.error().message;
}

TEST(BoundedQuery, a_query_returns_with_a_bound) {
  QueryLimits limits;
  limits.rows = 3;
  limits.value_chars = 10;
  const Result<QueryRows> many = run("select generate_series(1, 1000000000)", limits);
  ASSERT_TRUE(many.ok()) << many.error().message;
  EXPECT_EQ(many->rows.size(), 3u);
  EXPECT_TRUE(many->more);
  const Result<QueryRows> exact = run("select generate_series(1, 3)", limits);
  EXPECT_EQ(exact->rows.size(), 3u);
  EXPECT_FALSE(exact->more);
  const Result<QueryRows> wide = run("select repeat('ö', 50000000)", limits);
  ASSERT_TRUE(wide.ok()) << wide.error().message;
  EXPECT_EQ(wide->rows[0][0], "öööööööööö…");
  limits.columns = 2;
  EXPECT_EQ(refusal("select 1, 2, 3", limits).code, Code::limit);
}

TEST(BoundedQuery, a_page_leaves_out_what_stands_before_it) {
  const Result<QueryRows> page = run_bounded(
      {database(), sample_login, sample_schema, "select order_id from orders order by order_id", 20}, {.rows = 2});
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->rows, Json::parse("[[21], [22]]"));
  EXPECT_TRUE(page->more);
}

TEST(BoundedQuery, a_login_that_may_do_anything_is_refused) {
  const Result<QueryRows> rows = run_bounded({database(), "", sample_schema, "select 1", 0}, {});
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().code, Code::closed);
  test::ask(database(), "create role file_reader login in role pg_read_server_files");
  EXPECT_EQ(run_bounded({database(), "file_reader", sample_schema, "select 1", 0}, {}).error().code, Code::closed);
  test::ask(database(), "drop role file_reader");
}

// H12: as decision 0011 says.
TEST(BoundedQuery, H12_a_login_that_owns_anything_or_has_anything_of_cairn_is_refused) {
  const auto code = [](const std::string& login) {
    const Result<QueryRows> rows = run_bounded({database(), login, sample_schema, "select 1", 0}, {});
    return rows ? std::string("taken") : std::string(to_string(rows.error().code));
  };
  test::ask(database(), "create role h12_data login");
  test::ask(database(), "grant usage on schema sample_shop to h12_data");
  EXPECT_EQ(code("h12_data"), "taken");
  const std::pair<const char*, const char*> ways[] = {
      {"grant cairn_app to h12_data", "revoke cairn_app from h12_data"},
      {"grant cairn_read to h12_data", "revoke cairn_read from h12_data"},
      {"grant cairn_archive to h12_data", "revoke cairn_archive from h12_data"},
      {"grant usage on schema cairn to h12_data", "revoke usage on schema cairn from h12_data"},
      {"grant create on schema cairn to h12_data", "revoke create on schema cairn from h12_data"},
      {"alter schema cairn owner to h12_data", "alter schema cairn owner to current_user"},
      {"alter table cairn.blob owner to h12_data", "alter table cairn.blob owner to current_user"},
      {"alter table sample_shop.orders owner to h12_data", "alter table sample_shop.orders owner to current_user"},
      {"alter schema sample_shop owner to h12_data", "alter schema sample_shop owner to current_user"},
      {"do $$ begin execute format('alter database %I owner to h12_data', current_database()); end $$",
       "do $$ begin execute format('alter database %I owner to %I', current_database(), current_user); end $$"},
      {"alter role h12_data createrole", "alter role h12_data nocreaterole"},
      {"alter role h12_data createdb", "alter role h12_data nocreatedb"},
      {"alter role h12_data replication", "alter role h12_data noreplication"},
      {"alter role h12_data bypassrls", "alter role h12_data nobypassrls"},
      {"do $$ begin execute format('grant %I to h12_data', current_user); end $$",
       "do $$ begin execute format('revoke %I from h12_data', current_user); end $$"}};
  for (const auto& [give, take] : ways) {
    test::ask(database(), give);
    EXPECT_EQ(code("h12_data"), "closed") << give;
    test::ask(database(), take);
    EXPECT_EQ(code("h12_data"), "taken") << take;
  }
  test::ask(database(), "drop owned by h12_data");
  test::ask(database(), "drop role h12_data");
}

TEST(BoundedQuery, a_login_of_somebodys_own_that_may_write_cannot_do_so_here) {
  test::ask(database(), "create role shopkeeper login");
  test::ask(database(), "grant all on schema sample_shop to shopkeeper");
  test::ask(database(), "grant all on all tables in schema sample_shop to shopkeeper");
  const std::string before = fingerprint();
  for (const char* hostile :
       {"delete from orders", "select query_to_xml('delete from orders', true, true, '')",
        "select set_config('transaction_read_only', 'off', true), query_to_xml('delete from orders', true, true, '')",
        "select set_config('default_transaction_read_only', 'off', false), query_to_xml('delete from orders', true, "
        "true, '')"}) {
    EXPECT_FALSE(run_bounded({database(), "shopkeeper", sample_schema, hostile, 0}, {}).ok()) << hostile;
  }
  EXPECT_EQ(fingerprint(), before);
}

TEST(BoundedQuery, a_schema_is_a_plain_name_and_a_server_must_answer) {
  EXPECT_EQ(run_bounded({database(), sample_login, "x -c role=postgres", "select 1", 0}, {}).error().code,
            Code::invalid);
  EXPECT_EQ(run_bounded({"host=/nowhere", "", sample_schema, "select 1", 0}, {}).error().code, Code::unavailable);
}

// --- the sample ------------------------------------------------------------------------------------------------------
TEST(SampleDataset, is_loaded_once_and_never_over_somebodys_schema) {
  const std::string dsn = test::new_database(1);
  Dataset dataset = sample();
  dataset.dsn = dsn;
  EXPECT_EQ(read_catalog(dataset).error().code, Code::not_found) << "nothing is loaded unasked";
  const Result<bool> first = load_sample(dsn);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE(*first);
  EXPECT_FALSE(*load_sample(dsn));
  EXPECT_EQ(
      test::ask_number(dsn,
                       "select sum(reltuples)::bigint from pg_class where relnamespace = 'sample_shop'::regnamespace "
                       "and relkind = 'r'"),
      test::ask_number(
          dsn,
          "select (select count(*) from sample_shop.shops) + (select count(*) from sample_shop.products) + "
          "(select count(*) from sample_shop.orders)"))
      << "the counts of rows that are shown are right at once";
  const std::string other = test::new_database(1);
  test::ask(other, "create schema sample_shop");
  EXPECT_EQ(load_sample(other).error().code, Code::conflict);
}

TEST(SampleDataset, is_loaded_at_first_use_where_the_database_is_ours) {
  Dataset dataset = sample();
  dataset.dsn = dataset.load_dsn = test::new_database(1);
  const Result<DataCatalog> catalog = read_catalog(dataset);
  ASSERT_TRUE(catalog.ok()) << catalog.error().message;
  EXPECT_EQ(catalog->links.size(), 2u);
  EXPECT_EQ(catalog->columns.front().table, "orders");
  EXPECT_TRUE(catalog->columns.front().is_key);
  EXPECT_NE(catalog->columns.front().table_about.find("ordered"), std::string::npos);
}

TEST(SampleDataset, values_are_found_whatever_they_are_quoted_with) {
  const Dataset dataset = sample();
  ValueSearch search;
  search.equal = {"berlin", "x' or '1'='1"};
  const Result<FoundValues> found = find_values(dataset, *read_catalog(dataset), search);
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->values.size(), 1u);
  EXPECT_EQ(found->values[0].column, "city");
  EXPECT_EQ(found->values[0].value, "Berlin");
}

}  // namespace
}  // namespace cairn

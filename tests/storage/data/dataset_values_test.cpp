// Places of values in small tables, in large ones and in views, and those that the time does not suffice for.
#include "storage/data/dataset_values.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <utility>

#include "storage/postgres/administration.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

// 50,000 rows: three common towns, a rare one that only an index finds, and a note that no statistics know.
const Dataset& data() {
  static const Dataset dataset = [] {
    Dataset made;
    made.dsn = test::new_database(1);
    Administration(*made.dsn, "test", no_limit).execute(R"sql(
      create schema towns;
      create table towns.visit (visit_id int primary key, town text, code text, note text);
      insert into towns.visit select g, (array['Oslo', 'Lyon', 'Graz'])[1 + g % 3], 'C' || g, 'note ' || g
        from generate_series(1, 50000) g;
      create index on towns.visit (code);
      create table towns.guide (guide_id int primary key, name text, spoken character varying(20));
      insert into towns.guide values (1, 'Oslo', 'Norse'), (2, 'Oslo Fjord', 'French'), (3, 'Lyon and Graz', 'French');
      create view towns.lyonese as select visit_id, town as place from towns.visit where town = 'Lyon';
      do $$ begin create role finder login; exception when duplicate_object then end $$;
      grant usage on schema towns to finder;
      grant select on all tables in schema towns to finder;
      analyze;
    )sql");
    made.login = "finder";
    made.schema = "towns";
    return made;
  }();
  return dataset;
}

FoundValues found(const ValueSearch& search, std::int64_t timeout_ms = 20'000) {
  Dataset dataset = data();
  const Result<DataCatalog> catalog = read_catalog(dataset);
  EXPECT_TRUE(catalog.ok()) << catalog.error().message;
  dataset.limits.timeout_ms = timeout_ms;
  const Result<FoundValues> values = find_values(dataset, *catalog, search);
  EXPECT_TRUE(values.ok()) << values.error().message;
  return values ? *values : FoundValues{};
}

std::string places(const FoundValues& values) {
  std::vector<std::string> lines;
  for (const DataValue& value : values.values)
    lines.push_back(value.table + "." + value.column + (value.is_equal ? " = " : " ~ ") + value.value);
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

// A database of its own with one schema, which `finder` may read.
Dataset data_in(const std::string& schema) {
  Dataset made;
  made.dsn = test::new_database(1);
  made.login = "finder";
  made.schema = schema;
  Administration(*made.dsn, "test", no_limit)
      .execute("do $$ begin create role finder login; exception when duplicate_object then end $$; create schema " +
               schema + "; grant usage on schema " + schema + " to finder");
  return made;
}

TEST(DatasetValues, stand_in_small_tables_large_ones_and_views) {
  EXPECT_EQ(places(found({{"lyon"}, {}, {}})), "lyonese.place = Lyon; visit.town = Lyon");
  EXPECT_EQ(places(found({{"french"}, {}, {}})), "guide.spoken = French");
  EXPECT_EQ(places(found({{}, {"Fjord"}, {}})), "guide.name ~ Oslo Fjord");
}

TEST(DatasetValues, that_equal_a_word_go_before_those_that_hold_it) {
  EXPECT_EQ(places(found({{"Oslo"}, {"Oslo"}, {}})), "guide.name = Oslo; visit.town = Oslo");
}

TEST(DatasetValues, of_a_large_table_are_looked_up_in_its_indexes_and_else_only_sampled) {
  const FoundValues coded = found({{"c41234"}, {}, {"visit"}});
  EXPECT_EQ(places(coded), "visit.code = C41234");
  EXPECT_EQ(coded.sampled, std::vector<std::string>{"visit"});
  EXPECT_TRUE(found({{"French"}, {}, {"guide"}}).sampled.empty()) << "a small table is read whole";
}

TEST(DatasetValues, issue_20_2_tables_that_the_time_does_not_suffice_for_are_named) {
  const FoundValues none = found({{"Lyon"}, {"Lyon"}, {}}, 0);
  EXPECT_TRUE(none.values.empty());
  EXPECT_EQ(none.not_searched, (std::vector<std::string>{"guide", "lyonese", "visit"}));
}

TEST(DatasetValues, one_slow_view_keeps_no_other_table_from_being_searched) {
  Dataset dataset = data_in("slow");
  Administration(*dataset.dsn, "test", no_limit)
      .execute(
          "create table slow.a_town (name text); insert into slow.a_town values ('Oslo'); "
          "create view slow.b_view as select 'x' || pg_sleep(60)::text as word; "
          "create table slow.c_town (name text); insert into slow.c_town values ('Oslo'); "
          "grant select on all tables in schema slow to finder; analyze slow.a_town, slow.c_town");
  const Result<DataCatalog> catalog = read_catalog(dataset);
  ASSERT_TRUE(catalog) << catalog.error().message;
  dataset.limits.timeout_ms = 5'000;
  const Result<FoundValues> values = find_values(dataset, *catalog, {{"oslo"}, {}, {"a_town", "b_view", "c_town"}});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(places(*values), "a_town.name = Oslo; c_town.name = Oslo");
  EXPECT_EQ(values->not_searched, std::vector<std::string>{"b_view"});
}

TEST(DatasetValues, issue_20_2_what_is_left_out_of_too_many_places_is_told) {
  Dataset dataset = data_in("wide");
  std::string columns;
  std::string texts;
  ValueSearch search;
  for (int i = 0; i < 20; ++i) search.within.push_back("word" + std::to_string(10 + i));
  std::string all;
  for (const std::string& word : search.within) all += word + " ";
  for (int i = 0; i < 110; ++i) {
    columns += (i == 0 ? "" : ", ") + ("c" + std::to_string(i) + " text");
    texts += (i == 0 ? "'" : ", '") + all + "'";
  }
  Administration(*dataset.dsn, "test", no_limit)
      .execute("create table wide.t (" + columns + "); insert into wide.t values (" + texts +
               "); grant select on wide.t to finder; analyze wide.t");
  const Result<DataCatalog> catalog = read_catalog(dataset);
  ASSERT_TRUE(catalog) << catalog.error().message;
  dataset.limits.timeout_ms = 60'000;
  const Result<FoundValues> values = find_values(dataset, *catalog, search);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->values.size(), 2'000U) << "of 2,200";
  EXPECT_TRUE(values->more);
  EXPECT_TRUE(values->not_searched.empty());
  search.within.resize(2);
  EXPECT_FALSE(find_values(dataset, *catalog, search)->more);
}

// 16 tables of 1,400 columns; a page has 20,000.
TEST(DatasetCatalog, issue_20_2_beyond_a_page_is_read_on) {
  Dataset dataset = data_in("broad");
  dataset.limits.timeout_ms = 120'000;
  Administration(*dataset.dsn, "test", no_limit).execute(R"sql(
    do $$ begin
      for t in 1..16 loop
        execute format('create table broad.t%s (%s)', t, (select string_agg('c' || c || ' int', ',') from
                       generate_series(1, 1400) c));
        execute format('grant select on broad.t%s to finder', t);
      end loop;
    end $$)sql");
  const Result<DataCatalog> catalog = read_catalog(dataset);
  ASSERT_TRUE(catalog) << catalog.error().message;
  EXPECT_EQ(catalog->columns.size(), 16U * 1'400);
  EXPECT_FALSE(catalog->more);
  std::set<std::pair<std::string, std::string>> names;
  for (const DataColumn& column : catalog->columns) names.emplace(column.table, column.name);
  EXPECT_EQ(names.size(), catalog->columns.size()) << "each once";
}

// Measuring a table that was never analysed needs a lock on it, and another session does not give it.
TEST(DatasetCatalog, issue_20_2_what_was_read_until_the_limit_of_time_is_a_part_and_says_so) {
  Dataset dataset = data_in("held");
  dataset.limits.timeout_ms = 1'500;
  Administration holder(*dataset.dsn, "test", no_limit);
  holder.execute(R"sql(
    create table held.a (x int, y int, w int); create table held.z (x int);
    insert into held.a values (1, 2, 3); analyze held.a;
    grant select on all tables in schema held to finder;)sql");
  holder.begin();
  holder.execute("lock table held.z in access exclusive mode");
  const Result<DataCatalog> part = read_catalog(dataset);
  holder.roll_back();
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_TRUE(part->out_of_time);
  EXPECT_TRUE(part->more);
  ASSERT_EQ(part->columns.size(), 3U);
  EXPECT_EQ(part->columns[1].name, "y");
  const Result<DataCatalog> whole = read_catalog(dataset);
  ASSERT_TRUE(whole);
  EXPECT_FALSE(whole->more);
  EXPECT_EQ(whole->columns.size(), 4U);
}

}  // namespace
}  // namespace cairn

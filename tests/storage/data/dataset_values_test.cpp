// Places of values in small tables, in large ones and in views, and those that the time does not suffice for.
#include "storage/data/dataset_values.hpp"

#include <algorithm>
#include <gtest/gtest.h>

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
      create role finder login;
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

}  // namespace
}  // namespace cairn

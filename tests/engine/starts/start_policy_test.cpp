// The policies that a graph may have for its starts, and those that are refused.
#include "engine/start_policy.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

StartPolicy policy_of(const Json& graph) {
  const Result<std::optional<StartPolicy>> policy = parse_start_policy(graph);
  EXPECT_TRUE(policy && *policy) << graph;
  return **policy;
}

std::string refusal_of(const Json& graph) {
  const Result<std::optional<StartPolicy>> policy = parse_start_policy(graph);
  EXPECT_FALSE(policy) << graph;
  return policy ? "" : policy.error().message;
}

TEST(StartPolicy, reads_each_of_the_three) {
  EXPECT_EQ(policy_of({{"singleton", {{"key", "/a/b"}, {"when", "queue"}}}}),
            (StartPolicy{"/a/b", SingletonStarts{SingletonStarts::When::queue}}));
  EXPECT_EQ(policy_of({{"singleton", Json::object()}}),
            (StartPolicy{"", SingletonStarts{SingletonStarts::When::skip}}));
  EXPECT_EQ(policy_of({{"debounce", {{"key", "tag.doc"}, {"quiet", "500ms"}, {"at_most", "1m"}}}}),
            (StartPolicy{"tag.doc", DebouncedStarts{500'000, 60'000'000}}));
  EXPECT_EQ(policy_of({{"batch", {{"key", "/t"}, {"size", 100}, {"after", "2h"}}}}),
            (StartPolicy{"/t", BatchedStarts{100, 7'200'000'000}}));
  EXPECT_FALSE(*parse_start_policy(Json::object()));
}

TEST(StartPolicy, refuses_what_is_none_in_one_sentence) {
  const std::pair<Json, const char*> cases[] = {
      {{{"singleton", {{"when", "never"}}}},
       "Expected skip, cancel or queue as when of a singleton, but found \"never\"."},
      {{{"singleton", {{"key", "customer"}}}},
       "Expected a pointer like /customer or a tag like tag.customer as key of a singleton, but found \"customer\"."},
      {{{"singleton", {{"key", "/a~2"}}}},
       "Expected a pointer like /customer or a tag like tag.customer as key of a singleton, but found \"/a~2\"."},
      {{{"singleton", {{"who", "/a"}}}},
       "Expected the graph's singleton to have only the keys key and when, but it has \"who\"."},
      {{{"singleton", {{"key", nullptr}}}}, "Expected a value of key in the graph's singleton, but it is null."},
      {{{"singleton", "skip"}}, "Expected a singleton as an object, but found another value."},
      {{{"debounce", {{"key", "/a"}}}}, "Expected the duration quiet of a debounce, but found null."},
      {{{"debounce", {{"quiet", "0s"}}}},
       "Expected a duration of at most 30 days like 500ms, 10s, 5m or 1h as quiet of a debounce, but found \"0s\"."},
      {{{"debounce", {{"quiet", "31d"}}}},
       "Expected a duration of at most 30 days like 500ms, 10s, 5m or 1h as quiet of a debounce, but found \"31d\"."},
      {{{"debounce", {{"quiet", "99999999999999999999d"}}}},
       "Expected a duration of at most 30 days like 500ms, 10s, 5m or 1h as quiet of a debounce, but found "
       "\"99999999999999999999d\"."},
      {{{"debounce", {{"quiet", "10s"}, {"at_most", "1s"}}}},
       "Expected an at_most that is no shorter than quiet of a debounce, but found \"1s\"."},
      {{{"batch", {{"after", "1s"}}}}, "Expected a size of a batch, but found null."},
      {{{"batch", {{"size", 0}, {"after", "1s"}}}},
       "Expected a whole number from 1 to 10000 as size of a batch, but found 0."},
      {{{"batch", {{"size", 5}}}}, "Expected the duration after of a batch, but found null."},
      {{{"batch", {{"size", 5}, {"after", "1s"}}}, {"debounce", {{"quiet", "1s"}}}},
       "Expected one of singleton, debounce and batch, but found debounce and batch."},
  };
  for (const auto& [graph, says] : cases) EXPECT_EQ(refusal_of(graph), says);
}

}  // namespace
}  // namespace cairn

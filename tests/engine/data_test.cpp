// Channels as they are composed of patches.
#include <gtest/gtest.h>
#include <random>

#include "engine/graph.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/state.hpp"

namespace cairn {
namespace {

GraphRef reducing_graph() {
  const Json graph = Json::parse(R"({"name":"g","start":"z","limits":{"steps":1},"nodes":{"z":{"end":"done"}},
    "channels":{"list":{"reducer":"append"},"sum":{"reducer":"sum"}}})");
  Result<GraphRef> parsed = parse_graph(graph, "v", {});
  EXPECT_TRUE(parsed);
  return *parsed;
}

// Patches that later ones supersede are not even read, and the result is the same.
TEST(Data, composing_at_once_is_composing_one_by_one) {
  const GraphRef graph = reducing_graph();
  std::mt19937 random(1);
  const Json values = {1, "a,b\":{}", Json::array({"]", 2}), {{"}", "\\\""}}, nullptr, "", -1.5};
  for (int round = 0; round < 300; ++round) {
    Data at_once, one_by_one;
    const int patches = round % 10 == 0 ? 200 : 6;  // so many are read before anybody asks
    for (int patch = 0; patch < patches; ++patch) {
      Json channels = Json::object();
      for (const char* name : {"x", "y", "z", "quo\"te"})
        if (random() % 3 == 0) channels[name] = values[random() % values.size()];
      if (random() % 4 == 0) channels["list"] = {patch};
      if (random() % 4 == 0) channels["sum"] = patch;
      const std::string text = random() % 5 == 0 ? channels.dump(1) : canonical(channels);
      at_once.add(text, *graph);
      one_by_one.add(text, *graph);
      one_by_one.composed(*graph);
    }
    EXPECT_EQ(at_once.composed(*graph), one_by_one.composed(*graph)) << round;
  }
}

}  // namespace
}  // namespace cairn

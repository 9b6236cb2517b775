// The list of tools that a model saw stands on record.
#include <gtest/gtest.h>

#include "tests/workers/tools/mcp/mcp_desk.hpp"
#include "workers/handlers/model_call.hpp"

namespace cairn {
namespace {

using testing::McpDesk;
using testing::SmallServer;

Json record_of(const Json& functions) {
  ModelRequest request;
  request.messages = Json::array({{{"role", "user"}, {"content", "Say hello."}}});
  request.tools = functions;
  return Json::parse(model_called(request, ModelAnswer(ModelReply{})).fields);
}

TEST(McpRecord, has_the_functions_that_a_model_was_offered) {
  McpDesk desk{SmallServer()};
  const Json all = desk.outputs("mcp.list", {{"tools", Json::array({"s.*"})}});
  const Json one = desk.outputs("mcp.list", {{"tools", Json::array({"s.echo"})}});
  EXPECT_EQ(record_of(all["tools"])["request"]["tools"], all["tools"]);
  EXPECT_NE(record_of(all["tools"]), record_of(one["tools"]));
  EXPECT_NE(all["hash"], one["hash"]);
  EXPECT_EQ(record_of(all["tools"])["tools_hash"], all["hash"]) << "the same list has the same hash";
  EXPECT_FALSE(record_of(nullptr).contains("tools_hash"));
}

}  // namespace
}  // namespace cairn

// Cairn's own ten tools, for the runs of all graphs: each is one request to the API. Pure functions, safe from any
// thread.
#pragma once

#include <span>
#include <string_view>

#include "ops/http/transport/message.hpp"
#include "ops/requests/access.hpp"

namespace cairn {

struct OperatorTool {
  std::string_view name;
  std::string_view description;
  ApiRole role;               // without it the tool is not there
  std::string_view inputs;    // the properties of its arguments, as JSON
  std::string_view required;  // their names, as JSON
  // Its annotations.
  bool is_read_only;
  bool is_destructive;
  bool is_idempotent;
  ApiRequest (*request)(const Json& arguments);  // REQUIRES: they fit
  std::string_view list;                         // the name of the answer if that is a list; "": an object
};

std::span<const OperatorTool> operator_tools();
const OperatorTool* operator_tool(std::string_view name);  // null: there is none

Json input_schema(const OperatorTool& tool);
// As tools/list shows it.
Json tool_json(const OperatorTool& tool);

// The answer's value: a list gets its name, and the cursor of the next page as "next". REQUIRES: it is no refusal.
Json answer_value(const OperatorTool& tool, const ApiResponse& response);

// The cursor in the header Link; "": there is no next page.
std::string next_cursor(const ApiResponse& response);

}  // namespace cairn

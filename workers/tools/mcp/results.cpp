#include "workers/tools/mcp/results.hpp"

#include <algorithm>

#include "workers/ports/failures.hpp"
#include "workers/ports/tools.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn::mcp {
namespace {

constexpr std::size_t error_bytes_max = 2'000;

bool is_text_block(const Json& block) {
  return block.is_object() && block.value("type", Json()) == "text" && block.value("text", Json()).is_string();
}

std::string texts_of(const Json& content) {
  std::string text;
  for (const Json& block : content) {
    if (!is_text_block(block)) continue;
    if (!text.empty()) text += '\n';
    text += block["text"].get_ref<const std::string&>();
  }
  return text;
}

Failure bad_result(const std::string& tool, const std::string& but) {
  return failure("bad_output", "Expected a result of the protocol from " + tool_named(tool) + ", but " + but, false);
}

ToolAnswer structured(const std::string& tool, const Json& content, const Json& schema) {
  if (!schema.is_null())
    if (const Status fits = check_value(schema, content); !fits)
      return failure("bad_output",
                     "Expected what " + tool_named(tool) + " declares as its output, but: " + fits.error().message,
                     false);
  if (content.is_object()) return content;
  return Json{{"value", content}};
}

}  // namespace

ToolAnswer outputs_of(const std::string& tool, const Json& result, const Json& output_schema) {
  if (!result.is_object()) return bad_result(tool, "it is " + excerpt(result, 60) + ".");
  const Json content = result.value("content", Json::array());
  const bool is_content = content.is_array() && std::all_of(content.begin(), content.end(), [](const Json& block) {
                            return block.is_object() && block.value("type", Json()).is_string();
                          });
  if (!is_content) return bad_result(tool, "its content is " + excerpt(content, 200) + ".");
  if (result.value("isError", Json()) == true) {
    const std::string says = readable_line(texts_of(content), error_bytes_max);
    return failure("error", says.empty() ? "It failed without a text." : says, false);
  }
  const auto found = result.find("structuredContent");
  if (found != result.end() && !found->is_null()) return structured(tool, *found, output_schema);
  if (std::all_of(content.begin(), content.end(), is_text_block)) return Json{{"text", texts_of(content)}};
  return Json{{"content", content}};
}

Failure failure_of_error(const std::string& tool, const Reply& reply) {
  const int code = reply.code();
  const bool is_wrong_request =
      code == -32700 || (code <= -32600 && code >= -32602) || (code <= -32020 && code > -32100);
  return failure(code == -32602 ? "invalid" : "error",
                 "Expected a result from " + tool_named(tool) + ", but its server says: " + reply.message(),
                 !is_wrong_request);
}

std::string progress_text(const Json& params) {
  const Json message = params.value("message", Json());
  const Json progress = params.value("progress", Json());
  const Json total = params.value("total", Json());
  std::string count = progress.is_number() ? progress.dump() : "";
  if (!count.empty() && total.is_number()) count += " of " + total.dump();
  if (!message.is_string()) return count;
  const std::string text = readable_line(message.get<std::string>(), 500);
  return count.empty() ? text : text + " (" + count + ")";
}

}  // namespace cairn::mcp

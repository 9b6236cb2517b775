#include "ops/http/transport/entity_tag.hpp"

namespace cairn {

bool has_tag(const ApiRequest& request, const std::string& tag) {
  const std::string named = request.header("if-none-match");
  return named == "*" || named.find("\"" + tag + "\"") != std::string::npos;
}

ApiResponse tagged_response(const ApiRequest& request, const std::string& tag, ApiResponse response) {
  if (has_tag(request, tag)) response = {304, "", ""};
  response.headers.emplace_back("ETag", "\"" + tag + "\"");
  response.headers.emplace_back("Cache-Control", "no-cache");
  return response;
}

}  // namespace cairn

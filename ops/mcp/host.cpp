#include "ops/mcp/host.hpp"

#include "ops/mcp/rpc.hpp"

namespace cairn {
namespace {

ApiRequest api_request(const std::string& method, std::vector<std::string> segments) {
  ApiRequest request;
  request.method = method;
  request.segments = {"api", "v1"};
  request.segments.insert(request.segments.end(), segments.begin(), segments.end());
  return request;
}

}  // namespace

ApiRequest api_get(std::vector<std::string> segments, std::vector<std::pair<std::string, std::string>> query) {
  ApiRequest request = api_request("GET", std::move(segments));
  request.query = std::move(query);
  return request;
}

ApiRequest api_post(std::vector<std::string> segments, const Json& body) {
  ApiRequest request = api_request("POST", std::move(segments));
  request.headers = {{"content-type", "application/json"}};
  request.body = canonical(body);
  return request;
}

std::string refusal_of(const ApiResponse& response) {
  if (response.status < http_status::refusals_begin) return "";
  const Json body = Json::parse(response.body, nullptr, false);
  const bool is_error = body.is_object() && body.contains("error") && body["error"].is_object();
  return is_error ? body["error"].value("message", "")
                  : "Expected an answer, but found status " + std::to_string(response.status) + ".";
}

}  // namespace cairn

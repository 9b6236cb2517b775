#include "ops/http/message.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

namespace cairn {
namespace {

unsigned status_of(Code code) {
  switch (code) {
    case Code::invalid:
      return 400;
    case Code::not_found:
      return 404;
    case Code::conflict:
    case Code::stale:
    case Code::limit:
    case Code::closed:
      return 409;
    case Code::unavailable:
      return 503;
    case Code::unsupported:
      return 501;
    case Code::corrupt:
      return 500;
  }
  return 500;
}

}  // namespace

std::string ApiRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

Result<ApiRequest> request_of(const std::string& method, const std::string& target) {
  const auto url = boost::urls::parse_origin_form(target);
  if (!url) return Error{Code::invalid, "Expected a path with a query or none, but found another target."};
  ApiRequest request;
  request.method = method;
  for (const auto& segment : url->segments()) request.segments.emplace_back(segment);
  for (const auto& parameter : url->params()) request.query.emplace_back(parameter.key, parameter.value);
  return request;
}

ApiResponse json_response(const Json& document, unsigned status) { return {status, canonical(document) + "\n"}; }

ApiResponse error_response(unsigned status, std::string_view code, const std::string& message) {
  const Json document = {{"error", {{"code", code}, {"message", message}}}};
  ApiResponse response{status, document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

ApiResponse error_response(const Error& error) {
  return error_response(status_of(error.code), to_string(error.code), error.message);
}

}  // namespace cairn

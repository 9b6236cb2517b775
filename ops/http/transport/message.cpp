#include "ops/http/transport/message.hpp"

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <boost/url/encode.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <boost/url/url.hpp>
#include <boost/url/url_view.hpp>

#include "workers/ports/untrusted_text.hpp"

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

bool is_text(const std::string& decoded) { return is_utf8(decoded) && decoded.find('\0') == std::string::npos; }

// Decoding may leave any bytes; only text is accepted.
Status check_texts(const ApiRequest& request) {
  bool are_texts = std::all_of(request.segments.begin(), request.segments.end(), is_text);
  for (const auto& [name, value] : request.query) are_texts = are_texts && is_text(name) && is_text(value);
  if (are_texts) return Done{};
  return Error{Code::invalid, "Expected a path and a query of UTF-8 without NUL, but found other bytes in them."};
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
  const bool has_query = !url->encoded_query().empty();  // "?" alone is none
  if (has_query)
    for (const auto& parameter : url->params()) request.query.emplace_back(parameter.key, parameter.value);
  if (const Status texts = check_texts(request); !texts) return texts.error();
  return request;
}

std::string query_of(const std::vector<std::pair<std::string, std::string>>& parameters) {
  // Boost's own appending leaves '+' as it is, which its parsing takes for a space.
  const auto encoded = [](const std::string& text) { return boost::urls::encode(text, boost::urls::unreserved_chars); };
  std::string query;
  for (const auto& [name, value] : parameters)
    query += (query.empty() ? "?" : "&") + encoded(name) + "=" + encoded(value);
  return query;
}

void answer_again(ApiRequest& request, const ApiLater& later) {
  request.has_waited = true;
  request.started = later.started;
}

ApiResponse answer_after(const ApiLater& later, ApiResponse answered) {
  constexpr unsigned refusals_begin = 400;
  return answered.status >= refusals_begin && later.otherwise ? *later.otherwise : std::move(answered);
}

ApiResponse json_response(const Json& document, unsigned status) { return {status, canonical(document) + "\n"}; }

ApiResponse created_response(const Json& document, const std::string& kind, const std::string& name) {
  ApiResponse response = json_response(document, 201);
  boost::urls::url path("/api/v1");
  path.segments().push_back(kind);
  path.segments().push_back(name);
  response.headers.emplace_back("Location", path.buffer());
  return response;
}

ApiResponse error_response(unsigned status, std::string_view code, const std::string& message, const Json& more) {
  Json document = {{"error", {{"code", code}, {"message", message}}}};
  document["error"].update(more);
  ApiResponse response{status, document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

ApiResponse error_response(const Error& error) {
  return error_response(status_of(error.code), to_string(error.code), error.message);
}

bool names_type(std::string_view list, std::string_view type) { return list.find(type) != std::string_view::npos; }

ApiResponse problem_response(ApiResponse response) {
  if (response.status < 400 || !Json::accept(response.body)) return response;
  Json document = Json::parse(response.body);
  document["type"] = "about:blank";  // no more than the status says; error.code says more
  document["title"] = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(response.status));
  document["status"] = response.status;
  document["detail"] = document["error"]["message"];
  response.body = canonical(document) + "\n";
  response.type = problem_type;
  return response;
}

ApiResponse later_response(unsigned status, std::int64_t seconds, const std::string& message) {
  ApiResponse response = error_response(status, to_string(Code::limit), message);
  std::erase_if(response.headers, [](const auto& header) { return header.first == "Retry-After"; });
  response.headers.emplace_back("Retry-After", std::to_string(seconds));
  return response;
}

}  // namespace cairn

#include "ops/http/transport/framing.hpp"

#include <boost/beast/core/error.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <string>

#include "engine/text.hpp"

namespace cairn {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

}  // namespace

ApiResponse fault_response(const error_code& fault, const RequestBounds& at_most) {
  if (fault == beast::error::timeout)
    return error_response(408, "limit",
                          "Expected the whole request within " + std::to_string(at_most.time.count()) +
                              " s, but only a part of it has come.");
  if (fault == http::error::body_limit)
    return error_response(413, "limit",
                          "Expected a body of at most " + std::to_string(at_most.body) + " bytes, but it is more.");
  if (fault == http::error::header_limit || fault == http::error::buffer_overflow)
    return error_response(431, "limit",
                          "Expected a header of at most " + std::to_string(at_most.header) + " bytes, but it is more.");
  return error_response(400, "invalid", "Expected a request as HTTP/1.1 has it, but it is none: " + fault.message());
}

ApiStatus check_framing(const RequestMessage& message) {
  const auto times = [&message](http::field name) { return message.count(name); };
  if (times(http::field::host) > 1) return error_response(400, "invalid", "Expected one Host, but found several.");
  if (times(http::field::transfer_encoding) == 0) return Done{};
  if (times(http::field::content_length) > 0)
    return error_response(400, "invalid", "Expected a Content-Length or a Transfer-Encoding, but found both.");
  if (times(http::field::transfer_encoding) > 1 || message.version() < 11)
    return error_response(400, "invalid", "Expected one Transfer-Encoding, in HTTP/1.1, but found another use of it.");
  if (!beast::iequals(message[http::field::transfer_encoding], "chunked"))
    return error_response(501, "unsupported", "Expected the Transfer-Encoding chunked, but found another.");
  return Done{};
}

bool is_malformed(const error_code& fault) {
  return fault.category() == http::make_error_code(http::error::bad_chunk).category() &&
         fault != http::error::end_of_stream && fault != http::error::partial_message;
}

Result<ApiRequest> read_head(const RequestMessage& message) {
  Result<ApiRequest> request = request_of(std::string(message.method_string()), std::string(message.target()));
  if (!request) return request;
  for (const auto& field : message) {
    request->headers.emplace(lowered(std::string_view(field.name_string())), field.value());
  }
  return request;
}

}  // namespace cairn

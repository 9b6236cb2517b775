#include "ops/http/console/console_response.hpp"

#include <algorithm>

#include "ops/http/console/console_files.hpp"
#include "ops/http/transport/compression.hpp"
#include "ops/http/transport/entity_tag.hpp"
#include "storage/digest.hpp"

namespace cairn {
namespace {

constexpr std::string_view page_name = "index.html";

// Nothing is loaded from elsewhere, no page of elsewhere frames this one, and nothing in it that is text becomes a
// script or a style.
constexpr std::string_view console_policy =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

const ConsoleFile* console_file(std::string_view name) {
  const auto files = console_files();
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const ConsoleFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

ApiResponse guarded_response(ApiResponse response) {
  response.headers.emplace_back("Content-Security-Policy", console_policy);
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  return response;
}

// The form that the client accepts.
ApiResponse response_with(const ConsoleFile& file, const ApiRequest& request) {
  const bool is_packed = !file.packed.empty() && accepts_gzip(request.header("accept-encoding"));
  ApiResponse response{200, std::string(is_packed ? file.packed : file.plain), std::string(file.type)};
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (is_packed) response.headers.emplace_back("Content-Encoding", "gzip");
  return guarded_response(std::move(response));
}

}  // namespace

ApiResponse console_page_response(const ApiRequest& request) {
  const ConsoleFile* page = console_file(page_name);
  if (page == nullptr) page = &console_missing().front();
  ApiResponse response = tagged_response(request, hex(sha256(page->plain)), response_with(*page, request));
  return response.status == 304 ? guarded_response(std::move(response)) : response;
}

Result<ApiResponse> console_file_response(const ApiRequest& request, std::string_view name) {
  const ConsoleFile* file = name == page_name ? nullptr : console_file(name);
  if (file == nullptr)
    return Error{Code::not_found, "Expected a file that this program's console loads, but there is no such one."};
  ApiResponse response = response_with(*file, request);
  response.headers.emplace_back("ETag", "\"" + std::string(file->name) + "\"");
  response.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  return response;
}

}  // namespace cairn

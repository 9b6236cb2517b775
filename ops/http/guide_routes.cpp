#include "ops/http/guide_routes.hpp"

#include "ops/http/bodies/bodies.hpp"
#include "ops/http/console/console_response.hpp"
#include "ops/service/guide_pages.hpp"

namespace cairn {

RouteReply show_llms(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  return ApiResponse{200, llms_text("/guide/"), "text/plain; charset=utf-8"};
}

RouteReply show_guide(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  const std::vector<std::string>& segments = call.request.segments;  // guide, perhaps a folder, a file
  std::optional<ServedFile> file = guide_file(segments.size() == 2 ? call.name : segments[1] + "/" + call.name);
  if (!file)
    return Error{Code::not_found, "Expected the name of a guide, as /llms.txt has it, but there is no such one."};
  return ApiResponse{200, std::move(file->text), std::move(file->type)};
}

RouteReply show_console(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  return console_page_response(call.request);
}

RouteReply show_console_file(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  Result<ApiResponse> file = console_file_response(call.request, call.name);
  if (!file) return file.error();
  return *std::move(file);
}

}  // namespace cairn

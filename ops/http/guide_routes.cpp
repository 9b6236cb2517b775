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
  const std::optional<std::string> page = guide_page(call.name);
  if (!page)
    return Error{Code::not_found, "Expected the name of a guide, as /llms.txt has it, but there is no such one."};
  return ApiResponse{200, *page, "text/markdown; charset=utf-8"};
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

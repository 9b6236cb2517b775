#include "ops/http/description_route.hpp"

#include "engine/embedded.hpp"
#include "ops/http/bodies/bodies.hpp"
#include "ops/http/transport/entity_tag.hpp"
#include "storage/digest.hpp"

namespace cairn {

std::string_view api_description() { return api_documents().front().text; }

RouteReply show_description(RouteCall& call) {
  if (const Status known = only_query(call.request, {}); !known) return known.error();
  static const std::string tag = hex(sha256(api_description()));
  return tagged_response(call.request, tag, {200, std::string(api_description())});
}

}  // namespace cairn

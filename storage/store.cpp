#include "storage/store.hpp"

namespace cairn {

Error no_such_run(const std::string& id) { return {Code::not_found, "Expected run " + id + ", but there is none."}; }

std::vector<Past> Store::pasts(std::span<const PastRequest> requests, std::int32_t limit) {
  std::vector<Past> pasts;
  pasts.reserve(requests.size());
  for (const PastRequest& request : requests) {
    Past& past = pasts.emplace_back();
    if (request.fold_version) past.snapshot = snapshot(request.run, *request.fold_version, never_us);
    past.events = events(request.run, past.snapshot ? past.snapshot->seq : request.after_seq, limit);
  }
  return pasts;
}

}  // namespace cairn

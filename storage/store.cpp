#include "storage/store.hpp"

namespace cairn {

Error no_such_run(const std::string& id) { return {Code::not_found, "Expected run " + id + ", but there is none."}; }

std::vector<StoredHistory> Store::histories(std::span<const HistoryRequest> requests, std::int32_t limit) {
  std::vector<StoredHistory> histories;
  histories.reserve(requests.size());
  for (const HistoryRequest& request : requests) {
    StoredHistory& history = histories.emplace_back();
    if (request.fold_version) history.snapshot = snapshot(request.run, *request.fold_version, never_us);
    history.events = events(request.run, history.snapshot ? history.snapshot->seq : request.after_seq, limit);
  }
  return histories;
}

}  // namespace cairn

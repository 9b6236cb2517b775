#include "ops/answers/run_use.hpp"

#include "ops/answers/run_json.hpp"

namespace cairn {

Result<RunUse> use_of(Client& client, const RunId& run) {
  RunUse use;
  const Result<RunState> state = client.state(run);
  if (!state) return state.error();
  use.add(*state);
  for (std::int64_t after = 0;;) {
    const Result<std::vector<Event>> page = client.events(run, after, events_page);
    if (!page) return page.error();
    for (const Event& event : *page) use.add(event);
    if (page->size() < static_cast<std::size_t>(events_page)) return use;
    after = page->back().seq;
  }
}

}  // namespace cairn

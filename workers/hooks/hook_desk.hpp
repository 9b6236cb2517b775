// The desk of hooks, which carries out what people ask for: add, edit, pause, resume, remove, test, send again, pass
// over. Each change is on record with its actor. Not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "workers/hooks/hook_feed.hpp"

namespace cairn {

class HookDesk {
 public:
  HookDesk(HookCalls calls, HookFeed feed) : calls_(std::move(calls)), feed_(std::move(feed)) {}

  // Events that are committed from the return on become notices. Refuses `invalid` (the name), `conflict` (it is
  // taken, or the hook was removed meanwhile), and as Feed::add; then there is no hook. Throws StoreUnavailable,
  // PostgresError, as all functions here; what was asked may then have happened, and can be asked for again.
  Status add(const std::string& name, const HookDefinition& hook, const std::string& actor);
  // Sets these fields of its JSON; null: as if it had not been given. Notices that wait are sent by the new definition,
  // which it returns. Refuses `not_found`, `invalid`, `conflict` (on, graph or tags, which say which events are read,
  // would be others), `stale` (it was edited meanwhile).
  Result<HookDefinition> edit(const std::string& name, const Json& fields, const std::string& actor);
  // Nothing is sent until it goes on; what happens meanwhile is sent then. Refuse `not_found`.
  Status pause(const std::string& name, const std::string& reason, const std::string& actor);
  Status resume(const std::string& name, const std::string& actor);
  // Ends as well a removal that was begun before.
  Status remove(const std::string& name, const std::string& actor);

  // Has a sample sent, by whichever process sends for the hook; returns the id of its event. Refuses `not_found`.
  Result<std::string> test(const std::string& name, const std::string& actor);
  // The notice of that id is sent again; "": all that are parked. Returns how many. Refuses `not_found`, `invalid`.
  Result<std::int64_t> resend(const std::string& name, const std::string& id, const std::string& actor);
  // A notice that was not delivered is never sent. Refuses as resend().
  Status skip(const std::string& name, const std::string& id, const std::string& actor);

 private:
  Status lost_meanwhile(const std::string& name);
  Result<std::int64_t> again(const std::string& name, const std::string& id, bool passes);

  const HookCalls calls_;
  const HookFeed feed_;
};

Error no_such_hook(const std::string& name);

}  // namespace cairn

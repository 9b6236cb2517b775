#include "ops/service/replica_thread.hpp"

#include <optional>
#include <spdlog/spdlog.h>
#include <utility>

#include "ops/service/rare_warning.hpp"
#include "storage/postgres/connection.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

constexpr long pause_between_attempts_ms = 5'000;
constexpr long pause_once_open_ms = 3'600'000;

}  // namespace

struct ReplicaThread::Parts {
  Parts(Settings settings_of, std::string identity_of, std::int64_t patience_ms_of, Use use_of)
      : settings(std::move(settings_of)),
        identity(std::move(identity_of)),
        patience_ms(patience_ms_of),
        use(std::move(use_of)) {}

  // Why it is not open yet; "": there is nothing to wait for.
  Result<std::string> attempt() {
    try {
      Result<ReplicaFound> found = open_replica(settings, identity, patience_ms);
      if (!found) return found.error();
      if (found->opened) use(*std::move(found->opened));
      return found->away;
    } catch (const StoreUnavailable& failure) {
      return std::string(failure.what());
    } catch (const PostgresError& failure) {
      return std::string(failure.what());
    }
  }

  // Another reason is said at once: a refusal may follow while it is known to be away.
  void warn(const Result<std::string>& why) {
    const std::string& text = why ? *why : why.error().message;
    (why ? away : refused).say("The API's replica is away, the database itself is asked until it is back: " + text);
  }

  long work() {
    if (is_open) return pause_once_open_ms;
    const Result<std::string> why = attempt();
    is_open = why && why->empty();
    if (!is_open)
      warn(why);
    else
      spdlog::info("The API's replica is there.");
    return is_open ? pause_once_open_ms : pause_between_attempts_ms;
  }

  const Settings settings;
  const std::string identity;
  const std::int64_t patience_ms;
  const Use use;
  bool is_open = false;
  RareWarning away, refused;
  std::optional<PeriodicThread> thread;
};

ReplicaThread::ReplicaThread(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ReplicaThread::~ReplicaThread() = default;

Result<std::unique_ptr<ReplicaThread>> ReplicaThread::start(const Settings& settings, const std::string& identity,
                                                            std::int64_t patience_ms, Use use) {
  auto parts = std::make_unique<Parts>(settings, identity, patience_ms, std::move(use));
  const Result<std::string> why = parts->attempt();
  if (!why) return why.error();
  if (why->empty()) return std::unique_ptr<ReplicaThread>();
  parts->warn(why);
  parts->thread.emplace([&parts = *parts] { return parts.work(); });
  return std::unique_ptr<ReplicaThread>(new ReplicaThread(std::move(parts)));
}

}  // namespace cairn

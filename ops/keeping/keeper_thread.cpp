#include "ops/keeping/keeper_thread.hpp"

#include <cstdlib>
#include <random>
#include <spdlog/spdlog.h>

#include "ops/keeping/keeper.hpp"
#include "ops/service/rare_warning.hpp"
#include "storage/ground/kept_on_disk.hpp"
#include "workers/ids.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

constexpr long pause_ms = 60'000;

std::string folder_of_environment() {
  const char* value = std::getenv("CAIRN_ARCHIVE");
  return value == nullptr ? "" : value;
}

Status make_folder(const std::string& folder) {
  if (make_kept_folder(folder)) return Done{};
  return Error{Code::invalid, "Expected CAIRN_ARCHIVE to name a folder, but " + folder + " cannot be made."};
}

// The pause before the next pass, so that the processes do not ask all at once.
long some_pause() { return std::uniform_int_distribution<long>(pause_ms * 9 / 10, pause_ms)(thread_random()); }

void say_what_waits(Store& store) {
  KeepPolicies policies(store);  // a policy is a part of it
  for (const KeepPolicy& policy : policies.current())
    spdlog::info("Graph {} keeps its ended runs for {} s, and this process archives none: it has no CAIRN_ARCHIVE.",
                 policy.graph, policy.keep_us / 1'000'000);
}

}  // namespace

struct KeeperThread::Parts {
  Parts(Store& store, const std::string& owner_dsn, SigningKey signs, const std::string& folder)
      : key(std::move(signs)), keeper(store, owner_dsn, key, folder), thread([this] { return work(); }) {}

  ~Parts() { keeper.give_up(); }  // a removal may take an hour; it is gone on with later
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  long work() {
    try {
      const Result<KeepPass> pass = keeper.pass();
      if (!pass) return failed(pass.error().message);
      if (pass->runs > 0 || pass->removed > 0)
        spdlog::info("Archived {} runs by the policies of their graphs, {} removed.", pass->runs, pass->removed);
      if (pass->values > 0) spdlog::info("Removed {} large values that no run has any more.", pass->values);
      return pass->has_more ? 0 : some_pause();
    } catch (const std::exception& failure) {
      return failed(failure.what());
    }
  }

  long failed(const std::string& says) {
    warning.say("No run is archived by the policy of its graph: " + says);
    return some_pause();
  }

  const SigningKey key;
  Keeper keeper;
  RareWarning warning;
  PeriodicThread thread;
};

KeeperThread::KeeperThread(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
KeeperThread::~KeeperThread() = default;

Result<std::unique_ptr<KeeperThread>> KeeperThread::start(const Settings& settings, Opened& opened) {
  const std::string folder = folder_of_environment();
  if (folder.empty()) {
    say_what_waits(*opened.store);
    return std::unique_ptr<KeeperThread>();
  }
  if (const Status made = make_folder(folder); !made) return made.error();
  const DatabaseChoice choice = choose_database(settings);
  const Result<CheckpointOptions> checkpoints = checkpoint_options(choice);
  if (!checkpoints) return checkpoints.error();
  Result<SigningKey> key = open_signing_key(*checkpoints);
  if (!key) return key.error();
  const Result<std::string> owner = reach_as_archivist(choice);
  if (!owner) return owner.error();
  return std::unique_ptr<KeeperThread>(
      new KeeperThread(std::make_unique<Parts>(*opened.store, *owner, *std::move(key), folder)));
}

}  // namespace cairn

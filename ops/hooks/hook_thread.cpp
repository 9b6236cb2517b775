#include "ops/hooks/hook_thread.hpp"

#include <boost/asio.hpp>
#include <chrono>
#include <map>
#include <random>
#include <spdlog/spdlog.h>
#include <utility>

#include "ops/service/rare_warning.hpp"
#include "storage/clock.hpp"
#include "storage/hooks/hook_table.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/server/cluster.hpp"
#include "workers/hooks/hook_sending.hpp"
#include "workers/ids.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr long without_hooks_ms = 1'000;
constexpr long between_looks_ms = 200;
constexpr std::chrono::milliseconds turn{100};
constexpr std::chrono::seconds last_turns{2};
constexpr long failed_hook_ms = 2'000;

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double hook_draw() { return std::uniform_real_distribution<double>(0, 1)(thread_random()); }

}  // namespace

bool may_run_commands(const std::string& dsn) {
  const std::string socket = socket_folder_of(dsn);
  return !socket.empty() && is_cluster(socket);
}

struct HookThread::Parts {
  explicit Parts(Opened& opened)
      : table(opened.dsn, opened.store->identity()),
        feed(opened.dsn, opened.store->shards(), opened.store->identity()),
        stalled(opened.dsn, opened.store->shards(), opened.store->identity()),
        secrets(opened.catalogue->mcp_secrets),
        runs_commands(may_run_commands(opened.dsn)),
        dispatcher(table.calls(), hook_feed_of(feed, stalled), *opened.store, surroundings()),
        thread(std::in_place, [this] { return work(); }) {}

  ~Parts() {
    thread.reset();
    finish();
  }

  HookSurroundings surroundings() {
    return {[this](const HookDefinition& hook) { return can_send(hook); }, steady_us, hook_draw,
            [](const std::string& says) { spdlog::warn("{}", says); }};
  }

  bool can_send(const HookDefinition& hook) {
    if (!hook.command.empty()) return runs_commands;
    return hook.secret.empty() || (secrets.value(hook.secret).ok() && secrets.may_go(hook.secret, hook.url));
  }

  long work() {
    try {
      if (table.hooks().empty()) return without_hooks_ms;
      const bool has_looked = dispatcher.look();
      for (HookParcel& parcel : dispatcher.take()) send(std::move(parcel));
      if (under_way.empty()) return has_looked ? 0 : between_looks_ms;
      io.restart();
      io.run_for(turn);
      return 0;
    } catch (const std::exception& failure) {
      warning.say("No hook is sent by this process: " + std::string(failure.what()));
      return failed_hook_ms;
    }
  }

  void send(HookParcel parcel) {
    const std::int64_t number = ++sends;
    under_way.emplace(number, parcel);
    auto sending = send_and_settle(number, std::move(parcel));
    asio::co_spawn(io, std::move(sending), asio::detached);
  }

  asio::awaitable<void> send_and_settle(std::int64_t number, HookParcel parcel) {
    HookAnswer answer;
    try {
      const Result<std::string, Failure> secret =
          parcel.hook.secret.empty() ? Result<std::string, Failure>("") : secrets.value(parcel.hook.secret);
      if (!secret)
        answer.says = secret.error().message;
      else if (parcel.hook.command.empty())
        answer = co_await send_to_url(client, parcel, *secret, seconds_now());
      else
        answer = co_await give_to_command(parcel);
    } catch (const std::exception& failure) {
      answer.is_busy = true;
      answer.says = failure.what();
    }
    answer.says = secrets.redacted(answer.says);
    settle(number, parcel, answer);
  }

  // A notice that cannot be settled is sent again when its holder's time is over.
  void settle(std::int64_t number, const HookParcel& parcel, const HookAnswer& answer) {
    under_way.erase(number);
    try {
      dispatcher.settle(parcel, answer);
    } catch (const std::exception& failure) {
      warning.say("What became of a notice was not kept: " + std::string(failure.what()));
    }
  }

  void finish() {
    const auto until = std::chrono::steady_clock::now() + last_turns;
    io.restart();
    while (!under_way.empty() && std::chrono::steady_clock::now() < until && io.run_one_until(until) > 0) {
    }
    for (const auto& [number, parcel] : under_way) {
      try {
        dispatcher.release(parcel);
      } catch (const std::exception& failure) {
        spdlog::info("A notice of hook {} waits until its time is over: {}", parcel.delivery.hook, failure.what());
      }
    }
  }

  HookTable table;
  Feed feed;
  StalledRuns stalled;
  Secrets secrets;
  const bool runs_commands;
  HttpClient client;
  asio::io_context io;
  std::map<std::int64_t, HookParcel> under_way;
  std::int64_t sends = 0;
  HookDispatcher dispatcher;
  RareWarning warning;
  std::optional<PeriodicThread> thread;
};

HookThread::HookThread(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HookThread::~HookThread() = default;

std::unique_ptr<HookThread> HookThread::start(Opened& opened) {
  if (opened.dsn.empty() || opened.is_replica) return nullptr;
  return std::unique_ptr<HookThread>(new HookThread(std::make_unique<Parts>(opened)));
}

}  // namespace cairn

#include "ops/hooks/hook_thread.hpp"

#include <boost/asio.hpp>
#include <chrono>
#include <map>
#include <random>
#include <spdlog/spdlog.h>
#include <system_error>
#include <utility>

#include "ops/service/rare_warning.hpp"
#include "storage/clock.hpp"
#include "storage/hooks/hook_table.hpp"
#include "storage/postgres/dsn.hpp"
#include "storage/server/cluster.hpp"
#include "workers/hooks/hook_reader.hpp"
#include "workers/hooks/hook_sending.hpp"
#include "workers/ids.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr long without_hooks_ms = 1'000;
constexpr long poll_ms = 200;
constexpr long soon_ms = 25;
constexpr int idle_max = 10;
constexpr std::chrono::milliseconds turn{100};
constexpr std::chrono::seconds last_turns{2};
constexpr long failed_hook_ms = 2'000;
constexpr TimeUs lacking_us = 5'000'000;

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double hook_draw() { return std::uniform_real_distribution<double>(0, 1)(thread_random()); }

}  // namespace

bool may_run_commands(const std::string& dsn) {
  const std::string socket = socket_folder_of(dsn);
  return !socket.empty() && is_cluster(socket);
}

// Reads the feed for hooks, on a thread of its own: a pass may wait a minute for commits under way.
class HookThread::Reading {
 public:
  Reading(Opened& opened, HookTable& table)
      : feed_(opened.dsn, opened.store->shards(), opened.store->identity()),
        stalled_(opened.dsn, opened.store->shards(), opened.store->identity()),
        reader_(table.calls(), hook_feed_of(feed_, stalled_), *opened.store,
                {steady_us, [](const std::string& says) { spdlog::warn("{}", says); }}),
        thread_([this] { return work(); }) {}

 private:
  // The next pass of a hook that has more to read is soon due; where nothing is due for long there may be no hook.
  long work() {
    try {
      if (reader_.scan()) {
        idle_ = 0;
        return 0;
      }
      ++idle_;
      return idle_ == 1 ? soon_ms : (idle_ < idle_max ? poll_ms : without_hooks_ms);
    } catch (const std::exception& failure) {
      warning_.say("No hook is read by this process: " + std::string(failure.what()));
      return failed_hook_ms;
    }
  }

  Feed feed_;
  StalledRuns stalled_;
  HookReader reader_;
  RareWarning warning_;
  int idle_ = 0;  // looks in a row for which nothing was due
  PeriodicThread thread_;
};

// Sends notices, on a thread of its own.
class HookThread::Sending {
 public:
  Sending(Opened& opened, HookTable& table)
      : secrets_(opened.catalogue->mcp_secrets),
        runs_commands_(may_run_commands(opened.dsn)),
        sender_(table.calls(), *opened.store, surroundings()),
        thread_(std::in_place, [this] { return work(); }) {}

  ~Sending() {
    thread_.reset();
    finish();
  }
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

 private:
  HookSenderSurroundings surroundings() {
    return {[this](const HookDefinition& hook) { return can_send(hook); }, steady_us, hook_draw,
            [](const std::string& says) { spdlog::warn("{}", says); }};
  }

  bool can_send(const HookDefinition& hook) {
    if (!hook.command.empty()) return runs_commands_;
    return hook.secret.empty() || (secrets_.value(hook.secret).ok() && secrets_.may_go(hook.secret, hook.url));
  }

  long work() {
    try {
      if (steady_us() >= lacking_until_us_)
        for (HookParcel& parcel : sender_.take()) send(std::move(parcel));
      if (under_way_.empty()) return sender_.has_hooks() ? poll_ms : without_hooks_ms;
      io_.restart();
      io_.run_for(turn);
      return 0;
    } catch (const std::exception& failure) {
      warning_.say("No hook is sent by this process: " + std::string(failure.what()));
      return failed_hook_ms;
    }
  }

  void send(HookParcel parcel) {
    const std::int64_t number = ++sends_;
    under_way_.emplace(number, parcel);
    auto sending = send_and_record(number, std::move(parcel));
    asio::co_spawn(io_, std::move(sending), asio::detached);
  }

  asio::awaitable<void> send_and_record(std::int64_t number, HookParcel parcel) {
    HookAnswer answer;
    try {
      answer = co_await answer_to(parcel);
    } catch (const std::system_error& shortage) {
      release_for_now(number, shortage.what());
      co_return;
    } catch (const std::exception& failure) {
      answer.is_busy = true;
      answer.says = failure.what();
    }
    answer.says = secrets_.redacted(answer.says);
    record(number, answer);
  }

  asio::awaitable<HookAnswer> answer_to(const HookParcel& parcel) {
    HookAnswer none;
    const Result<std::string, Failure> secret =
        parcel.hook.secret.empty() ? Result<std::string, Failure>("") : secrets_.value(parcel.hook.secret);
    if (!secret) {
      none.says = secret.error().message;
      co_return none;
    }
    if (parcel.hook.command.empty()) co_return co_await send_to_url(client_, parcel, *secret, seconds_now());
    co_return co_await give_to_command(parcel);
  }

  // A notice whose answer cannot be recorded is sent again when its holder's time is over.
  void record(std::int64_t number, const HookAnswer& answer) {
    try {
      sender_.record_answer(under_way_.extract(number).mapped(), answer);
    } catch (const std::exception& failure) {
      warning_.say("An outcome of a notice was not kept: " + std::string(failure.what()));
    }
  }

  // This process lacks what a send needs: that is no failure of the receiver.
  void release_for_now(std::int64_t number, const std::string& says) {
    shortage_.say("This process sends no hooks for a moment: " + says);
    lacking_until_us_ = steady_us() + lacking_us;
    release(under_way_.extract(number).mapped(), lacking_us);
  }

  void release(const HookParcel& parcel, TimeUs pause_us) {
    try {
      sender_.release(parcel, pause_us);
    } catch (const std::exception& failure) {
      spdlog::info("A notice of hook {} waits until its time is over: {}", parcel.delivery.hook, failure.what());
    }
  }

  void finish() {
    const auto until = std::chrono::steady_clock::now() + last_turns;
    io_.restart();
    while (!under_way_.empty() && std::chrono::steady_clock::now() < until && io_.run_one_until(until) > 0) {
    }
    for (const auto& [number, parcel] : under_way_) release(parcel, 0);
  }

  Secrets secrets_;
  const bool runs_commands_;
  HttpClient client_;
  asio::io_context io_;
  std::map<std::int64_t, HookParcel> under_way_;
  std::int64_t sends_ = 0;
  TimeUs lacking_until_us_ = 0;  // steady
  HookSender sender_;
  RareWarning warning_, shortage_;
  std::optional<PeriodicThread> thread_;
};

struct HookThread::Parts {
  explicit Parts(Opened& opened)
      : table(opened.dsn, opened.store->identity()), reading(opened, table), sending(opened, table) {}

  HookTable table;  // safe from both threads
  Reading reading;
  Sending sending;
};

HookThread::HookThread(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HookThread::~HookThread() = default;

std::unique_ptr<HookThread> HookThread::start(Opened& opened) {
  if (opened.dsn.empty() || opened.is_replica) return nullptr;
  return std::unique_ptr<HookThread>(new HookThread(std::make_unique<Parts>(opened)));
}

}  // namespace cairn

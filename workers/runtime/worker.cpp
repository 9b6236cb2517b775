#include "workers/runtime/worker.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <spdlog/spdlog.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include "storage/clock.hpp"
#include "storage/commit_rules.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/ports/local_process.hpp"
#include "workers/runtime/periodic_thread.hpp"
#include "workers/runtime/serial_executor.hpp"
#include "workers/session/executor.hpp"
#include "workers/session/session.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr TimeUs second_us = 1'000'000;
constexpr TimeUs look_around_us = 20'000;  // how often stop() and `until` are asked
constexpr TimeUs pause_min_us = 100;
constexpr std::size_t effects_at_once = 100;  // then what they gave is committed, while the next ones run
constexpr std::int64_t wait_ms = 50;          // for a wake-up; and so long does stopping take

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

int calls_max(const WorkerOptions& options) { return std::max(1, options.database_lanes) + 1; }

SessionRow new_session(const Catalogue& catalogue, const WorkerOptions& options) {
  SessionRow row;
  row.id = new_session_id();
  row.host = host_name();
  row.pid = getpid();
  row.machine = machine_id();
  row.only_own = !options.only_runs.empty();
  row.handlers.emplace();
  for (const auto& [name, labels] : catalogue.handlers.labels()) row.handlers->push_back(name);
  row.tools.emplace();
  for (const auto& [name, tool] : catalogue.tools->table()) row.tools->push_back(name);
  return row;
}

// Sessions whose process, visible from here, is gone.
std::vector<SessionId> gone_of(const std::vector<SessionRow>& sessions) {
  std::vector<SessionId> gone;
  for (const SessionRow& row : sessions)
    if (!row.machine.empty() && row.machine == machine_id() && is_gone(row.pid)) gone.push_back(row.id);
  return gone;
}

void write(const Note& note) {
  switch (note.level) {
    case Note::Level::debug:
      return spdlog::debug("{}", note.text);
    case Note::Level::warning:
      return spdlog::warn("{}", note.text);
    case Note::Level::error:
      return spdlog::error("{}", note.text);
  }
}

StepResult result_of(const std::exception_ptr& thrown, StepResult result) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::exception& says) {
    return Failure{"error", says.what(), true, {}};
  } catch (...) {
    return Failure{"error", "The handler threw something that is no exception.", true, {}};
  }
  return result;
}

// A thread that carries out store calls, as long as it does.
class Carrier {
 public:
  Carrier() { is_one_ = true; }
  ~Carrier() { is_one_ = false; }
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  static bool is_this_thread() { return is_one_; }

 private:
  static inline thread_local bool is_one_ = false;
};

// Turns take what can be copied.
template <class Work>
Turns::Work shared(Work work) {
  return [work = std::make_shared<Work>(std::move(work))] { std::move (*work)(); };
}

// Asio's executor of turns: whatever it is given runs later, in turn.
class TurnExecutor {
 public:
  TurnExecutor(asio::io_context& io, Turns& turns) : io_(&io), turns_(&turns) {}

  template <class Work>
  void execute(Work&& work) const {
    turns_->later(shared(std::forward<Work>(work)));
  }
  asio::io_context& query(asio::execution::context_t) const noexcept { return *io_; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  TurnExecutor require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
  friend bool operator==(const TurnExecutor&, const TurnExecutor&) noexcept = default;

 private:
  asio::io_context* io_;
  Turns* turns_;
};

}  // namespace

// Drives the session: its store calls and its effects, its time from the monotonic clock. One thread waits for sockets
// and timers, a few ask the database, and all that is the session's runs in turns, by whichever of them has come. A
// thread that has asked goes on with the answer and with what is to be asked next itself, for waking another one costs
// as much as a tenth of a commit.
struct Worker::Parts {
  Parts(Store& store, Catalogue& catalogue, WorkerOptions options);
  ~Parts() { turns_.close(); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  WorkerReport run();
  std::atomic<bool> stopping{false};

 private:
  void serve(asio::io_context& loop);
  void end();
  void hand_over(Turns::Work work);
  SessionOrigin origin();
  long beat();
  long await_notification();

  void soon();
  void go_on();
  void turn();
  void arm();
  void call(std::vector<StoreCall> calls);
  std::optional<StoreCall> next_call();
  void carry_on();
  void carry(StoreCall call);
  void came(const StoreCall& call, StoreAnswer answer);
  void did_not_come(const StoreCall& call, const std::string& says);
  void complain(const char* purpose, const std::string& says);
  void start_some();
  void start(Effect effect);
  void cancel(Ticket slot);

  Store& store_;
  WorkerOptions options_;
  SessionRow self_;
  std::mt19937_64 random_{std::random_device{}()};
  const std::function<TimeUs()> steady_ = steady_us;

  // Before the loops, for what these destroy is destroyed through it.
  Turns turns_{[this](Turns::Work work) { hand_over(std::move(work)); }};
  asio::io_context io_{1};    // sockets and timers of effects; one thread's
  asio::io_context callers_;  // asks the database: as many threads as calls may be under way, and one that is free
  asio::steady_timer timer_{TurnExecutor(io_, turns_)};
  TimeUs armed_until_ = 0;  // 0: not
  bool turn_posted_ = false;
  int calls_under_way_ = 0;
  std::mutex calls_mutex_;
  std::deque<StoreCall> calls_;  // until a thread is free for them
  int carriers_ = 0;             // threads that carry out one after another
  TimeUs complained_at_ = 0;
  std::atomic<bool> beats_{false};
  std::once_flag broke_;
  std::exception_ptr fault_;  // the first that ended a thread's share of the loop

  Ports ports_;
  Executor executor_;
  Session session_;
  std::deque<Effect> to_start_;
  // Shared with the coroutine's completion, which may come after the effect was cancelled.
  std::unordered_map<Ticket, std::shared_ptr<asio::cancellation_signal>> effects_;
};

Worker::Parts::Parts(Store& store, Catalogue& catalogue, WorkerOptions options)
    : store_(store),
      options_(std::move(options)),
      self_(new_session(catalogue, options_)),
      ports_(*catalogue.model, *catalogue.tools),
      executor_(catalogue.handlers, ports_, self_.id),
      session_(origin(), options_, executor_, catalogue.tools->table()) {}

SessionOrigin Worker::Parts::origin() {
  const auto draw = [this] { return std::uniform_real_distribution<double>(0, 1)(random_); };
  return {.self = self_, .shards = store_.shards(), .new_id = new_run_id, .draw = draw, .new_commit = next_commit_id};
}

// --- threads --------------------------------------------------------------------------------------------------------

long Worker::Parts::beat() {
  try {
    if (beats_) store_.beat(self_.id);
  } catch (const std::exception& thrown) {
    turns_.later([this, says = std::string(thrown.what())] { complain("beat", says); });
  }
  return static_cast<long>(options_.beat_ms);
}

long Worker::Parts::await_notification() {
  const TimeUs asked = steady_us();
  try {
    if (store_.await_notification(wait_ms)) {
      turns_.later([this] {
        session_.wake();
        soon();
      });
      return 0;
    }
  } catch (const std::exception& thrown) {
    turns_.later([this, says = std::string(thrown.what())] { complain("listen", says); });
    return static_cast<long>(options_.poll_ms);
  }
  const bool has_waited = steady_us() - asked > wait_ms * 1000 / 2;
  return has_waited ? 0 : static_cast<long>(wait_ms);
}

// By this thread, if it carries out calls and is soon done here, or will be free; by as many others as are needed and
// allowed.
void Worker::Parts::call(std::vector<StoreCall> calls) {
  if (calls.empty()) return;
  calls_under_way_ += static_cast<int>(calls.size());
  const int own = Carrier::is_this_thread() && !turns_.has_more() && to_start_.empty() ? 1 : 0;
  const std::lock_guard lock(calls_mutex_);
  for (StoreCall& one : calls) calls_.push_back(std::move(one));
  const int wanted = std::min(static_cast<int>(calls_.size()) - own, calls_max(options_) - carriers_);
  for (int n = 0; n < wanted; ++n, ++carriers_) {
    const auto carries_on = [this] { carry_on(); };
    n == 0 && !Carrier::is_this_thread() ? asio::defer(callers_, carries_on) : asio::post(callers_, carries_on);
  }
}

std::optional<StoreCall> Worker::Parts::next_call() {
  const std::lock_guard lock(calls_mutex_);
  if (calls_.empty()) {
    --carriers_;
    return std::nullopt;
  }
  StoreCall call = std::move(calls_.front());
  calls_.pop_front();
  return call;
}

void Worker::Parts::carry_on() {
  const Carrier carrier;
  while (std::optional<StoreCall> call = next_call()) carry(*std::move(call));
}

void Worker::Parts::carry(StoreCall call) {
  std::optional<StoreAnswer> answer;
  std::string says;
  try {
    answer = carry_out(store_, call, steady_);
    if (Seen* seen = std::get_if<Seen>(&*answer)) seen->gone = gone_of(seen->sessions);
  } catch (const std::exception& thrown) {
    answer.reset();
    says = thrown.what();
  }
  turns_.run(shared([this, call = std::move(call), answer = std::move(answer), says = std::move(says)]() mutable {
    answer ? came(call, *std::move(answer)) : did_not_come(call, says);
  }));
}

void Worker::Parts::came(const StoreCall& call, StoreAnswer answer) {
  --calls_under_way_;
  session_.tick(steady_us());
  session_.answered(call, std::move(answer));
  beats_ = session_.beats();
  go_on();
}

void Worker::Parts::did_not_come(const StoreCall& call, const std::string& says) {
  --calls_under_way_;
  complain(purpose(call), says);
  session_.tick(steady_us());
  session_.failed(call);
  go_on();
}

// At most one line a second: an outage makes every call fail.
void Worker::Parts::complain(const char* purpose, const std::string& says) {
  const TimeUs now = steady_us();
  if (now - complained_at_ < second_us) return;
  complained_at_ = now;
  spdlog::warn("Expected to {}, but {}; trying again.", purpose, says);
}

// --- the loop -------------------------------------------------------------------------------------------------------

WorkerReport Worker::Parts::run() {
  const Repeating heart([this] { return beat(); });
  const Repeating ear([this] { return await_notification(); });
  const auto work = asio::make_work_guard(io_);
  const auto calls = asio::make_work_guard(callers_);
  turns_.later([this] { soon(); });
  std::vector<std::thread> threads;
  for (int n = 0; n <= calls_max(options_); ++n) threads.emplace_back([this] { serve(callers_); });
  serve(io_);
  for (std::thread& thread : threads) thread.join();
  if (fault_) std::rethrow_exception(fault_);
  return session_.report();
}

// What is thrown in one thread ends them all, and comes out of run().
void Worker::Parts::serve(asio::io_context& loop) {
  try {
    loop.run();
  } catch (...) {
    std::call_once(broke_, [this] { fault_ = std::current_exception(); });
    end();
  }
}

void Worker::Parts::end() {
  io_.stop();
  callers_.stop();
}

// Deferred, so that it is this thread, if it is one of a loop's.
void Worker::Parts::hand_over(Turns::Work work) {
  io_.get_executor().running_in_this_thread() ? asio::defer(io_, std::move(work))
                                              : asio::defer(callers_, std::move(work));
}

// With whatever else comes meanwhile.
void Worker::Parts::soon() {
  if (std::exchange(turn_posted_, true)) return;
  turns_.later([this] {
    turn_posted_ = false;
    turn();
  });
}

// At once where nothing else can come.
void Worker::Parts::go_on() { effects_.empty() && calls_under_way_ == 0 ? turn() : soon(); }

void Worker::Parts::turn() {
  session_.tick(steady_us());
  if (stopping || (options_.until && options_.until())) session_.drain();
  SessionActions actions = session_.take();
  for (Effect& effect : actions.effects) to_start_.push_back(std::move(effect));
  for (const Ticket slot : actions.cancelled) cancel(slot);
  call(std::move(actions.calls));
  start_some();
  for (const Note& note : actions.notes) write(note);
  if (session_.is_finished()) return end();
  arm();
}

// A timer that rings too early is left as it is: setting it anew wakes another thread.
void Worker::Parts::arm() {
  const TimeUs now = steady_us();
  const TimeUs due = std::clamp(session_.due_us(), now + pause_min_us, now + look_around_us);
  if (armed_until_ > now && armed_until_ <= due) return;
  armed_until_ = due;
  timer_.expires_after(std::chrono::microseconds(due - now));
  timer_.async_wait([this](const boost::system::error_code& fault) {
    if (fault) return;
    armed_until_ = 0;
    soon();
  });
}

// --- effects --------------------------------------------------------------------------------------------------------

// The others behind what these leave to be done.
void Worker::Parts::start_some() {
  for (std::size_t n = 0; n < effects_at_once && !to_start_.empty(); ++n) {
    start(std::move(to_start_.front()));
    to_start_.pop_front();
  }
  if (!to_start_.empty()) turns_.later([this] { soon(); });
}

void Worker::Parts::start(Effect effect) {
  const auto signal = std::make_shared<asio::cancellation_signal>();
  effects_.emplace(effect.slot, signal);
  const auto ended = [this, slot = effect.slot, signal](const std::exception_ptr& thrown, StepResult result) {
    effects_.erase(slot);
    session_.ended(slot, result_of(thrown, std::move(result)));
    go_on();
  };
  asio::co_spawn(TurnExecutor(io_, turns_), executor_.run_effect(std::move(effect.work)),
                 asio::bind_cancellation_slot(signal->slot(), ended));
}

void Worker::Parts::cancel(Ticket slot) {
  std::erase_if(to_start_, [slot](const Effect& waiting) { return waiting.slot == slot; });
  const auto effect = effects_.extract(slot);
  if (effect.empty()) return;
  effect.mapped()->emit(asio::cancellation_type::terminal);
  // What it says is heard in turn, perhaps after the coroutine has ended, which else would be the last to hold it.
  turns_.later([signal = effect.mapped()] {});
}

// --------------------------------------------------------------------------------------------------------------------

Worker::Worker(Store& store, Catalogue& catalogue, WorkerOptions options)
    : parts_(std::make_unique<Parts>(store, catalogue, std::move(options))) {}
Worker::~Worker() = default;
WorkerReport Worker::run() { return parts_->run(); }
void Worker::stop() { parts_->stopping = true; }

}  // namespace cairn

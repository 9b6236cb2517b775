#include "workers/runtime/worker.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include "storage/clock.hpp"
#include "storage/commit_rules.hpp"
#include "workers/catalogue.hpp"
#include "workers/ids.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/local_process.hpp"
#include "workers/ports/log.hpp"
#include "workers/ports/own_process.hpp"
#include "workers/ports/threads.hpp"
#include "workers/runs/executor.hpp"
#include "workers/runtime/loop_watchdog.hpp"
#include "workers/runtime/periodic_thread.hpp"
#include "workers/runtime/serial_executor.hpp"
#include "workers/runtime/yielding_tools.hpp"
#include "workers/session/session.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;

constexpr TimeUs second_us = 1'000'000;
constexpr TimeUs rounds_us = 20'000;  // how often `until` is asked at least, and what running steps say is passed on
constexpr TimeUs idle_rounds_us = 1'000'000;
constexpr TimeUs pause_min_us = 100;
constexpr std::int64_t turns_watched_ms = 500;
constexpr std::size_t effects_at_once = 100;  // then their results are committed, while the next ones run
constexpr TimeUs progress_every_us = 250'000;
constexpr std::size_t progress_bytes_at_once = 4u << 20;
constexpr TimeUs scan_patience_us = 30'000'000;  // then a step is left to others without a scan for them
constexpr std::int64_t wait_ms = 1'000;          // for a notification
constexpr std::int64_t after_no_wait_ms = 50;

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
  row.handlers = catalogue.handlers.here();
  row.tools.emplace();
  for (const auto& [name, tool] : catalogue.tools->table())
    if (!catalogue.refused_tools.contains(name)) row.tools->push_back(name);
  row.allows = catalogue.allows;
  if (options.queues.empty()) row.allows->emplace_back(all_queues);
  row.declares = catalogue.declared_work;
  row.has_model = catalogue.has_model;
  return row;
}

// The session's process is visible from here, and has exited.
bool has_exited(const SessionRow& row) {
  return !row.machine.empty() && row.machine == machine_id() && is_gone(row.pid);
}

void write(const Note& note) { log_about(note.level, note.text, note.fields.is_null() ? Json::object() : note.fields); }

StepResult result_of(const std::exception_ptr& thrown, StepResult result) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return memory_used_up();
  } catch (const std::exception& fault) {
    return Failure{"error", fault.what(), true, {}};
  } catch (...) {
    return Failure{"error", "The handler threw something that is no exception.", true, {}};
  }
  return result;
}

// The shortage that the effect threw, if it did.
std::optional<std::string> shortage_of(const std::exception_ptr& thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::system_error& fault) {
    if (is_shortage(fault.code())) return fault.what();
  } catch (...) {  // a failed attempt
  }
  return std::nullopt;
}

// The means that another session has and this one lacks, if the effect asked for some.
std::optional<std::string> lacking_here(const std::exception_ptr& thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const ModelIsElsewhere&) {
    return "language model";
  } catch (const MeansAreElsewhere& elsewhere) {
    return elsewhere.lacking;
  } catch (...) {  // a failed attempt
  }
  return std::nullopt;
}

std::vector<Means> means_of(const std::vector<SessionRow>& sessions) {
  std::vector<Means> means;
  for (const SessionRow& row : sessions)
    means.push_back({row.tools.value_or(std::vector<std::string>()), row.allows.value_or(std::vector<std::string>())});
  return means;
}

// Marks its thread as one that carries out store calls, as long as it lives.
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

// A std::function needs work that can be copied.
template <class Work>
SerialExecutor::Work shared(Work work) {
  return [work = std::make_shared<Work>(std::move(work))] { std::move (*work)(); };
}

// The serial executor as Asio wants one: posts all that it is given.
class PostingExecutor {
 public:
  PostingExecutor(asio::io_context& io, SerialExecutor& serial) : io_(&io), serial_(&serial) {}

  template <class Work>
  void execute(Work&& work) const {
    serial_->post(shared(std::forward<Work>(work)));
  }
  asio::io_context& query(asio::execution::context_t) const noexcept { return *io_; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking_t::never;
  }
  PostingExecutor require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
  friend bool operator==(const PostingExecutor&, const PostingExecutor&) noexcept = default;

 private:
  asio::io_context* io_;
  SerialExecutor* serial_;
};

}  // namespace

// Drives the session: its store calls, its effects, its time from the monotonic clock. One thread waits for sockets and
// timers, a few make store calls. Nearly all runs in `serial_`, on any of these threads: a thread that has an answer
// also handles it and makes the next call, because waking another thread costs a tenth of a commit. Only a decision
// under the store's locks is made at once, by the thread that holds them: in `serial_`, a handler may wait for the
// store meanwhile.
struct Worker::Parts {
  Parts(Store& store, Catalogue& catalogue, WorkerOptions options);
  ~Parts() { serial_.close(); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  WorkerReport run();
  WorkerReport report();
  void stop_by(std::atomic<bool>& way);
  std::atomic<bool> stopping{false};
  std::atomic<bool> hurrying{false};

 private:
  void serve(asio::io_context& loop);
  void end();
  void hand_over(SerialExecutor::Work work);
  SessionOrigin origin();
  long beat();
  long watch_turns();
  long await_notification();
  void await_stop();

  void soon();
  void now_or_soon();
  void advance();
  void arm();
  void abandon();
  void publish_progress(Session& session);
  void call(std::vector<StoreCall> calls);
  std::optional<StoreCall> next_call();
  void carry_on();
  void carry(StoreCall call);
  LockedDecision decide_locked(std::uint64_t batch, std::vector<LockedRun> runs);
  // Uses it for a moment: nothing in it waits for the store, an effect or another lock.
  template <class Use>
  auto with_session(Use use) {
    const std::lock_guard lock(session_mutex_);
    return use(session_);
  }
  void on_answer(StoreCall call);
  void on_failure(const StoreCall& call, const std::string& fault, StoreFailure kind);
  void complain(const char* purpose, const std::string& fault);
  void start_some();
  void start(Effect effect);
  void cancel(Ticket slot);
  void say_what_stays(Session& session);

  Store& store_;
  WorkerOptions options_;
  SessionRow self_;
  std::mt19937_64 random_{std::random_device{}()};
  const std::function<TimeUs()> steady_ = steady_us;

  // Declared before the loops: what they destroy is destroyed through it.
  SerialExecutor serial_{[this](SerialExecutor::Work work) { hand_over(std::move(work)); }};
  asio::io_context io_{1};    // sockets and timers of effects; one thread's
  asio::io_context callers_;  // makes store calls: as many threads as calls may be under way, and a free one
  asio::steady_timer timer_{PostingExecutor(io_, serial_)};
  asio::posix::stream_descriptor stop_asked_{PostingExecutor(io_, serial_), eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  TimeUs armed_until_ = 0;  // 0: not
  bool is_posted_ = false;
  bool has_given_up_ = false;
  int calls_under_way_ = 0;
  std::mutex calls_mutex_;
  std::deque<StoreCall> calls_;  // until a thread is free for them
  int carriers_ = 0;             // threads that carry out one after another
  TimeUs complained_at_ = 0;
  std::atomic<bool> beats_{false};
  LoopWatchdog watchdog_{options_.turn_max_ms * 1000, 2 * turns_watched_ms * 1000};  // its thread's alone
  std::once_flag broke_;
  std::exception_ptr fault_;  // the first that ended a thread's share of the loop

  std::atomic<bool> model_is_elsewhere_ = false;
  std::unique_ptr<Model> yielding_;  // the rule book's, where no language model is
  MeansOfOthers others_;
  std::unique_ptr<Tools> tools_;
  ProgressBoard board_;
  TimeUs progress_due_ = 0;
  Ports ports_;
  const std::shared_ptr<LocalRuns> local_runs_;
  std::uint64_t local_seen_ = 0;
  Executor executor_;
  std::mutex session_mutex_;
  Session session_;
  std::deque<Effect> to_start_;
  // Shared with the coroutine's completion, which may come after the effect was cancelled.
  std::unordered_map<Ticket, std::shared_ptr<asio::cancellation_signal>> effects_;
};

Worker::Parts::Parts(Store& store, Catalogue& catalogue, WorkerOptions options)
    : store_(store),
      options_(std::move(options)),
      self_(new_session(catalogue, options_)),
      yielding_(make_yielding_model(*catalogue.model, model_is_elsewhere_)),
      tools_(make_yielding_tools(*catalogue.tools, {*self_.tools, *self_.allows}, others_, scan_patience_us)),
      ports_(catalogue.has_model ? *catalogue.model : *yielding_, *tools_, &board_),
      local_runs_(catalogue.local_runs),
      executor_(catalogue.handlers, ports_, self_.id),
      session_(origin(), options_, executor_, catalogue.tools->table()) {}

SessionOrigin Worker::Parts::origin() {
  const auto draw = [this] { return std::uniform_real_distribution<double>(0, 1)(random_); };
  return {.self = self_, .shards = store_.shards(), .new_id = new_run_id, .draw = draw, .new_commit = next_commit_id};
}

// --- threads --------------------------------------------------------------------------------------------------------

long Worker::Parts::beat() {
  try {
    if (beats_) store_.sessions().beat(self_.id);
  } catch (const StoreUnfit&) {  // the session ends by its own calls
  } catch (const std::exception& thrown) {
    serial_.post([this, fault = std::string(thrown.what())] { complain("beat", fault); });
  }
  return static_cast<long>(options_.beat_ms);
}

long Worker::Parts::await_notification() {
  const TimeUs asked = steady_us();
  try {
    const bool is_listener = with_session([](const Session& session) { return session.is_listener(); });
    if (store_.await_notification(wait_ms, is_listener ? NotifiedBy::any_process : NotifiedBy::this_process)) {
      serial_.post([this] {
        with_session([](Session& session) { session.notified(); });
        soon();
      });
      return 0;
    }
  } catch (const std::exception& thrown) {
    serial_.post([this, fault = std::string(thrown.what())] { complain("listen", fault); });
    return static_cast<long>(options_.poll_ms);
  }
  const bool has_waited = steady_us() - asked > wait_ms * 1000 / 2;
  return has_waited ? 0 : after_no_wait_ms;
}

// From any thread and from a signal handler.
void Worker::Parts::stop_by(std::atomic<bool>& way) {
  const int kept = errno;
  way = true;
  eventfd_write(stop_asked_.native_handle(), 1);
  errno = kept;
}

void Worker::Parts::await_stop() {
  stop_asked_.async_wait(asio::posix::stream_descriptor::wait_read, [this](const boost::system::error_code& fault) {
    if (fault) return;
    eventfd_t times = 0;
    eventfd_read(stop_asked_.native_handle(), &times);  // nothing, where two wake-ups were one
    soon();
    await_stop();
  });
}

// A turn that does not end holds everything up, and no other thread can end it. The log says why before the process is
// gone; what it held is lost and tried again by others, and after two such losses alone.
long Worker::Parts::watch_turns() {
  if (!watchdog_.is_stuck(serial_.turns(), steady_us())) return turns_watched_ms;
  spdlog::critical("Expected a turn of the worker to take at most {} ms, but one takes longer; the process ends.",
                   options_.turn_max_ms);
  spdlog::default_logger()->flush();
  std::abort();
}

// One call is left to this thread, if it is a caller that has nothing else to do here; the others go to as many more
// threads as are needed and allowed.
void Worker::Parts::call(std::vector<StoreCall> calls) {
  if (calls.empty()) return;
  calls_under_way_ += static_cast<int>(calls.size());
  const int own = Carrier::is_this_thread() && !serial_.has_more() && to_start_.empty() ? 1 : 0;
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
  std::optional<std::string> fault;
  StoreFailure kind = StoreFailure::passing;
  try {
    carry_out(call, {store_, steady_, has_exited, [this](std::uint64_t batch, std::vector<LockedRun> runs) {
                       return decide_locked(batch, std::move(runs));
                     }});
  } catch (const StoreUnfit& thrown) {
    fault = thrown.what();
    kind = StoreFailure::final;
  } catch (const StoreUnavailable& thrown) {
    fault = thrown.what();
  } catch (const std::exception& thrown) {
    fault = thrown.what();
    kind = StoreFailure::lasting;
  }
  serial_.run(shared([this, call = std::move(call), fault = std::move(fault), kind]() mutable {
    --calls_under_way_;
    fault ? on_failure(call, *fault, kind) : on_answer(std::move(call));
    now_or_soon();
  }));
}

// The actions that follow are passed on with the call's answer.
LockedDecision Worker::Parts::decide_locked(std::uint64_t batch, std::vector<LockedRun> runs) {
  return with_session([&](Session& session) {
    session.tick(steady_us());
    return session.decide_locked(batch, std::move(runs));
  });
}

WorkerReport Worker::Parts::report() {
  return with_session([](const Session& session) { return session.report(); });
}

void Worker::Parts::on_answer(StoreCall call) {
  with_session([&](Session& session) {
    session.tick(steady_us());
    session.answered(std::move(call));
    beats_ = session.beats();
  });
}

void Worker::Parts::on_failure(const StoreCall& call, const std::string& fault, StoreFailure kind) {
  if (kind != StoreFailure::final) complain(purpose(call), fault);
  with_session([&](Session& session) {
    session.tick(steady_us());
    session.failed(call, kind, fault);
  });
}

// At most one line a second: an outage makes every call fail.
void Worker::Parts::complain(const char* purpose, const std::string& fault) {
  const TimeUs now = steady_us();
  if (now - complained_at_ < second_us) return;
  complained_at_ = now;
  spdlog::warn("Expected to {}, but {}; trying again.", purpose, fault);
}

// --- the loop -------------------------------------------------------------------------------------------------------

WorkerReport Worker::Parts::run() {
  expect_address_space("a worker");
  const PeriodicThread heartbeat([this] { return beat(); });
  std::optional<PeriodicThread> watchdog;
  if (options_.turn_max_ms > 0) watchdog.emplace([this] { return watch_turns(); });
  const PeriodicThread listener([this] { return await_notification(); }, [this] { store_.notify_here(); });
  const auto work = asio::make_work_guard(io_);
  const auto calls = asio::make_work_guard(callers_);
  serial_.post([this] {
    await_stop();
    soon();
  });
  Threads callers(
      calls_max(options_) + 1, [this] { serve(callers_); }, [this] { end(); });
  serve(io_);
  callers.join();
  if (fault_) std::rethrow_exception(fault_);
  return session_.report();
}

// An exception in one thread ends them all; run() throws it again.
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

// Deferred, so that this thread does the work next, if it is one of a loop's.
void Worker::Parts::hand_over(SerialExecutor::Work work) {
  io_.get_executor().running_in_this_thread() ? asio::defer(io_, std::move(work))
                                              : asio::defer(callers_, std::move(work));
}

// Posted once, so that one round serves all that arrives until then.
void Worker::Parts::soon() {
  if (std::exchange(is_posted_, true)) return;
  serial_.post([this] {
    is_posted_ = false;
    advance();
  });
}

// At once where nothing else can arrive: a lone run would only wait.
void Worker::Parts::now_or_soon() { effects_.empty() && calls_under_way_ == 0 ? advance() : soon(); }

void Worker::Parts::advance() {
  const bool is_to_stop = stopping || (options_.until && options_.until());
  SessionActions actions = with_session([&](Session& session) {
    session.tick(steady_us());
    if (is_to_stop) session.drain();
    if (hurrying) session.hurry();
    model_is_elsewhere_ = session.is_model_elsewhere();
    const OtherSessions& others = session.others();
    if (others.scanned_at() > others_.scanned_at()) others_.learn(others.scanned_at(), means_of(others.sharing()));
    if (others_.is_scan_wanted()) session.scan_again();
    publish_progress(session);
    return session.drain_actions();
  });
  for (Effect& effect : actions.effects) to_start_.push_back(std::move(effect));
  for (const Ticket slot : actions.cancelled) cancel(slot);
  call(std::move(actions.calls));
  start_some();
  for (const Note& note : actions.notes) write(note);
  const auto [is_abandoned, is_finished] =
      with_session([](Session& session) { return std::pair(session.is_abandoned(), session.is_finished()); });
  if (is_abandoned && !std::exchange(has_given_up_, true)) abandon();
  if (is_finished) return end();
  arm();
}

// Apart from commits, which wait for it no more than for any other call.
void Worker::Parts::publish_progress(Session& session) {
  const TimeUs now = steady_us();
  if (now < progress_due_ || !session.takes_progress()) return;
  progress_due_ = now + progress_every_us;
  session.said(board_.take(progress_bytes_at_once));
}

// Without this, ending would wait for calls that may never be answered.
void Worker::Parts::abandon() {
  spdlog::warn("Expected to close the session, but the database does not answer; what it holds is taken over later.");
  store_.give_up();
}

// A timer that fires too early is left as it is: setting it again wakes another thread.
void Worker::Parts::arm() {
  const TimeUs now = steady_us();
  const TimeUs round_us = options_.until || !effects_.empty() ? rounds_us : idle_rounds_us;
  const TimeUs due =
      std::clamp(with_session([](Session& session) { return session.due_us(); }), now + pause_min_us, now + round_us);
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

// Some now; the others after the calls that these have led to.
void Worker::Parts::start_some() {
  for (std::size_t n = 0; n < effects_at_once && !to_start_.empty(); ++n) {
    start(std::move(to_start_.front()));
    to_start_.pop_front();
  }
  if (!to_start_.empty()) serial_.post([this] { soon(); });
}

void Worker::Parts::start(Effect effect) {
  const auto signal = std::make_shared<asio::cancellation_signal>();
  CHECK(effects_.emplace(effect.slot, signal).second);  // pairs with cancel(): a slot is never used again
  const auto on_end = [this, slot = effect.slot, signal](const std::exception_ptr& thrown, StepResult result) {
    effects_.erase(slot);
    board_.forget(slot);
    const std::optional<std::string> lacking = shortage_of(thrown);
    with_session([&](Session& session) {
      if (const std::optional<std::string> elsewhere = lacking_here(thrown))
        session.yielded(slot, *elsewhere);
      else
        lacking ? session.fell_short(slot, *lacking) : session.ended(slot, result_of(thrown, std::move(result)));
      say_what_stays(session);
    });
    now_or_soon();
  };
  asio::co_spawn(PostingExecutor(io_, serial_), executor_.run_effect(std::move(effect.work), effect.slot),
                 asio::bind_cancellation_slot(signal->slot(), on_end));
}

void Worker::Parts::say_what_stays(Session& session) {
  std::set<RunId> runs;
  if (local_runs_->read(local_seen_, runs)) session.keeps(std::move(runs));
}

void Worker::Parts::cancel(Ticket slot) {
  std::erase_if(to_start_, [slot](const Effect& waiting) { return waiting.slot == slot; });
  board_.forget(slot);
  const auto effect = effects_.extract(slot);
  if (effect.empty()) return;
  effect.mapped()->emit(asio::cancellation_type::terminal);
  // The completion handler may run after the coroutine has ended; this keeps the signal alive until then.
  serial_.post([signal = effect.mapped()] {});
}

// --------------------------------------------------------------------------------------------------------------------

Worker::Worker(Store& store, Catalogue& catalogue, WorkerOptions options)
    : parts_(std::make_unique<Parts>(store, catalogue, std::move(options))) {}
Worker::~Worker() = default;
WorkerReport Worker::run() { return parts_->run(); }
void Worker::stop() { parts_->stop_by(parts_->stopping); }
void Worker::hurry() { parts_->stop_by(parts_->hurrying); }
WorkerReport Worker::report() const { return parts_->report(); }

}  // namespace cairn

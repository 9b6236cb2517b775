// A gateway driven by hand over a store in memory: no threads, no clock, each call carried out or failed as the test
// wants. Not thread-safe.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/commit_rules.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/workers/session/times.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/gateway/gateway.hpp"
#include "workers/ids.hpp"

namespace cairn::test {

inline constexpr TimeUs round_us = 50'000;
using Fails = std::function<bool(const GatewayCall&)>;

inline RemoteWorkerRef worker_with(const std::string& handler, const std::string& caller = "token:ann") {
  return std::make_shared<RemoteWorker>(
      RemoteWorkerSays{"w", caller, {"py"}, {{.name = handler}}, {{.name = "crawl", .about = "fetches a page"}}});
}

inline GatewayOptions gateway_options() {
  GatewayOptions options;
  options.new_id = new_run_id;
  options.new_session = new_session_id;
  options.draw = [] { return 0.5; };
  options.new_commit = next_commit_id;
  return options;
}

// One process of the API.
class Process {
 public:
  Process(Store& store, const Catalogue& catalogue, TimeUs& steady)
      : store_(store), steady_(steady), gateway_(gateway_options(), catalogue.tools->table()) {}

  AskId ask(Ask ask) {
    gateway_.tick(steady_);
    gateway_.ask(++last_, std::move(ask));
    return last_;
  }
  void round(const Fails& fails = {}) {
    gateway_.tick(steady_);
    GatewayActions actions = gateway_.drain_actions();
    for (auto& [id, answer] : actions.answers) answers_.emplace(id, std::move(answer));
    for (Note& note : actions.notes) notes_.push_back(std::move(note));
    const std::function<TimeUs()> steady = [this] { return steady_; };
    for (GatewayCall& call : actions.calls) {
      if (fails && fails(call)) {
        gateway_.failed(call);
        continue;
      }
      carry_out(call, {store_, steady, {}, [this](std::uint64_t batch, std::vector<LockedRun> runs) {
                         return gateway_.decide_locked(batch, std::move(runs));
                       }});
      gateway_.answered(std::move(call));
    }
  }
  std::optional<AskAnswer> answer_of(AskId id) {
    auto found = answers_.extract(id);
    return found ? std::optional(std::move(found.mapped())) : std::nullopt;
  }
  Gateway& gateway() { return gateway_; }
  const std::vector<Note>& notes() const { return notes_; }

 private:
  Store& store_;
  TimeUs& steady_;
  Gateway gateway_;
  AskId last_ = 0;
  std::map<AskId, AskAnswer> answers_;
  std::vector<Note> notes_;
};

inline const Json twice = parse_stored(R"({"name": "twice", "start": "a", "limits": {"steps": 20}, "channels":
        {"count": {"reducer": "sum"}}, "nodes": {
        "a": {"do": "py.a", "queue": "py", "labels": ["ok"], "with": {"n": 1}, "on": {"ok": "b"}},
        "b": {"do": "py.a", "queue": "py", "labels": ["ok"], "retry": {"attempts": 3, "backoff_ms": 100}, "on": {"ok": "z"}},
        "z": {"end": {"status": "done", "output": {"count": {"$": "count"}}}}}})");

class GatewayTest : public ::testing::Test {
 protected:
  GatewayTest()
      : store_(make_memory_store(1, [this] { return noon + steady_; })),
        catalogue_(small_catalogue()),
        client_(client_with_graphs(*store_, *catalogue_)),
        here_(*store_, *catalogue_, steady_),
        there_(*store_, *catalogue_, steady_) {
    EXPECT_TRUE(client_->add_graph(twice));
  }

  RunId start() {
    StartRun command;
    command.graph = "twice";
    command.input = Json::object();
    return client_->start(std::move(command), "")->run;
  }
  RunId start_lost_twice() {
    const RunId run = start();
    for (std::int32_t attempt = 1; attempt <= 2; ++attempt)
      EXPECT_TRUE(client_->command(run, FailStep{1, attempt, {lost_error, "Its worker died.", true, {}}, 7, 0}));
    pass(100);
    return run;
  }
  void pass(int rounds = 1, const Fails& fails = {}) {
    for (int n = 0; n < rounds; ++n) {
      steady_ += round_us;
      here_.round(fails);
      there_.round(fails);
    }
  }
  static Ask ask_of(SessionId session, std::int32_t max, TimeUs wait_us = 0) {
    Ask ask;
    ask.caller = "token:ann";
    ask.session = session;
    ask.worker = worker_with("py.a");
    ask.max = max;
    ask.wait_us = wait_us;
    return ask;
  }
  static Ask::Report done(const ClaimId& claim, std::int64_t count = 1) {
    return {claim, Outcome{"", {{"count", count}}, {}}};
  }
  AskAnswer answered(Process& process, Ask ask) {
    const AskId id = process.ask(std::move(ask));
    for (int n = 0; n < 40; ++n) {
      pass();
      if (auto answer = process.answer_of(id)) return *std::move(answer);
    }
    ADD_FAILURE() << "no answer";
    return {};
  }
  AskAnswer reported(Process& process, SessionId session, Ask::Report report) {
    return answered(process, reports_of(session, {std::move(report)}));
  }
  static Ask reports_of(SessionId session, std::vector<Ask::Report> reports) {
    Ask ask = ask_of(session, 0);
    ask.finished = std::move(reports);
    return ask;
  }
  // A hundred requests of a MiB report the first of the claims to the other process. How many are given up when their
  // clients are gone.
  std::size_t given_up_of(const AskAnswer& first, const Fails& fails) {
    std::vector<AskId> asked;
    for (int n = 0; n < 100; ++n) {
      Ask ask = reports_of(first.session, {done(first.claims.at(0).id)});
      ask.bytes = 1u << 20;
      asked.push_back(there_.ask(std::move(ask)));
    }
    pass(20, fails);
    for (const AskId id : asked) there_.gateway().gone(id);
    pass(1, fails);
    std::size_t given_up = 0;
    for (const AskId id : asked) given_up += there_.answer_of(id) ? 1u : 0u;
    return given_up;
  }
  RunStatus status(const RunId& run) { return store_->run(run)->status; }

  TimeUs steady_ = 0;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
  Process here_, there_;
};

}  // namespace cairn::test

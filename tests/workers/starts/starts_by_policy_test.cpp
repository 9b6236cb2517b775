// Starts of graphs with a policy, from the client to the runs: in a store in memory with a clock of the test's, and
// where a process dies between any two calls of the store.
#include <gtest/gtest.h>
#include <map>

#include "engine/run_json.hpp"
#include "storage/forwarding_store.hpp"
#include "storage/memory/memory_store.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/starts/keyed_starter.hpp"

namespace cairn {
namespace {

constexpr TimeUs second_us = 1'000'000;

Json waiting_graph(const char* word, Json policy) {
  return {{"name", "waiting"},
          {"start", "w"},
          {"limits", {{"steps", 5}}},
          {word, std::move(policy)},
          {"nodes", {{"w", {{"wait", {{"signal", "go"}}}, {"on", {{"fired", "end"}}}}}, {"end", {{"end", "done"}}}}}};
}

// Fails from its n-th call on, before the call or after it, as for a process that dies there.
class DyingStore : public ForwardingStore {
 public:
  DyingStore(Store& store, int dies_at, bool after)
      : ForwardingStore(store), dies_at_(dies_at), after_(after), book_(store.starts()) {
    book_.decide_named = [this, &store](std::vector<StartKey> keys, const DecideStarts& decide) {
      passing([&] { store.starts().decide_named(std::move(keys), decide); });
    };
    book_.starts = [this, &store](const StartKey& of, std::int64_t first, std::int64_t last) {
      std::vector<WaitingStart> found;
      passing([&] { found = store.starts().starts(of, first, last); });
      return found;
    };
  }
  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    std::vector<Verdict> verdicts;
    passing([&] { verdicts = store_.commit(shard, batch, options); });
    return verdicts;
  }
  StartBook& starts() override { return book_; }
  bool has_died() const { return calls_ > dies_at_; }

 private:
  void passing(const std::function<void()>& call) {
    const bool dies = ++calls_ > dies_at_;
    if (dies && !after_) throw StoreUnavailable("the process has died");
    call();
    if (dies) throw StoreUnavailable("the process has died");
  }

  const int dies_at_;
  const bool after_;
  int calls_ = 0;
  StartBook book_;
};

// Before its n-th decision on a key, others go on: as for a process that is slow there.
class SlowStore : public ForwardingStore {
 public:
  SlowStore(Store& store, int decision, std::function<void()> meanwhile)
      : ForwardingStore(store), left_(decision), meanwhile_(std::move(meanwhile)), book_(store.starts()) {
    book_.decide_named = [this, &store](std::vector<StartKey> keys, const DecideStarts& decide) {
      if (--left_ == 0) meanwhile_();
      store.starts().decide_named(std::move(keys), decide);
    };
  }
  StartBook& starts() override { return book_; }

 private:
  int left_;
  const std::function<void()> meanwhile_;
  StartBook book_;
};

class StartsByPolicy : public ::testing::Test {
 protected:
  void add_graph(const char* word, Json policy, Json input = {}) {
    Json graph = waiting_graph(word, std::move(policy));
    if (!input.is_null()) graph["input"] = std::move(input);
    client.load_graphs();
    const Result<GraphRef> added = client.add_graph(graph);
    ASSERT_TRUE(added) << added.error().message;
  }
  static StartRun start_of(Json input, Tags tags = {}) {
    StartRun command;
    command.graph = "waiting";
    command.input = std::move(input);
    command.tags = std::move(tags);
    return command;
  }
  Started start(Json input, const std::string& key = "") {
    const Result<Started> started = client.start(start_of(std::move(input)), key);
    EXPECT_TRUE(started) << started.error().message;
    return started ? *started : Started{};
  }
  std::string refusal(Json input, const std::string& key = "") {
    const Result<Started> started = client.start(start_of(std::move(input)), key);
    EXPECT_FALSE(started);
    return started ? "" : started.error().message;
  }
  void end(const RunId& run) { EXPECT_TRUE(client.command(run, SendSignal{"go", 1, ""})); }
  void pass(TimeUs later_us) {
    now_us += later_us;
    client.decide_starts(100);
  }
  bool exists(const RunId& run) { return store->run(run).has_value(); }
  Json input_of(const RunId& run) { return parse_stored_object(client.state(run)->input); }

  static std::unique_ptr<Catalogue> made() {
    Result<std::unique_ptr<Catalogue>> catalogue = make_catalogue({});
    EXPECT_TRUE(catalogue);
    return *std::move(catalogue);
  }

  TimeUs now_us = 1'700'000'000 * second_us;
  std::unique_ptr<Store> store = make_memory_store(4, [this] { return now_us; });
  std::unique_ptr<Catalogue> catalogue = made();
  Client client{*store, *catalogue, "user:ann"};
};

TEST_F(StartsByPolicy, skip_gives_the_run_that_has_the_key) {
  add_graph("singleton", {{"key", "/customer"}});
  const Started first = start({{"customer", "a"}});
  EXPECT_EQ(first.standing, StartStanding::started);
  EXPECT_TRUE(exists(first.run));
  const Started second = start({{"customer", "a"}, {"n", 2}});
  EXPECT_EQ(second.standing, StartStanding::skipped);
  EXPECT_TRUE(second.existed);
  EXPECT_EQ(second.run, first.run);
  EXPECT_EQ(start({{"customer", "b"}}).standing, StartStanding::started);
  end(first.run);
  EXPECT_EQ(start({{"customer", "a"}}).standing, StartStanding::started);
}

TEST_F(StartsByPolicy, queue_begins_the_next_when_the_run_has_ended) {
  add_graph("singleton", {{"when", "queue"}});
  const Started first = start({{"n", 1}});
  const Started second = start({{"n", 2}});
  const Started third = start({{"n", 3}});
  EXPECT_EQ(second.standing, StartStanding::waits);
  pass(10 * second_us);
  EXPECT_FALSE(exists(second.run));
  end(first.run);
  pass(10 * second_us);
  ASSERT_TRUE(exists(second.run));
  EXPECT_FALSE(exists(third.run));
  EXPECT_EQ(input_of(second.run), (Json{{"n", 2}}));
  const Result<RunState> waiting = client.state(third.run);
  ASSERT_FALSE(waiting);
  EXPECT_EQ(waiting.error().message, "Expected run " + to_string(third.run) +
                                         " to have begun, but its start waits for run " + to_string(second.run) +
                                         " to end (graph waiting).");
  EXPECT_TRUE(client.command(third.run, Cancel{})) << "it is given up";
  end(second.run);
  pass(10 * second_us);
  EXPECT_FALSE(exists(third.run));
  EXPECT_FALSE(client.command(third.run, Cancel{}));
}

TEST_F(StartsByPolicy, cancel_ends_the_run_for_the_latest_start) {
  add_graph("singleton", {{"key", "tag.of"}, {"when", "cancel"}});
  const auto start_tagged = [&](int n) { return *client.start(start_of({{"n", n}}, {{"of", "x"}}), ""); };
  const RunId first = start_tagged(1).run;
  const RunId second = start_tagged(2).run;
  EXPECT_EQ(start_tagged(3).run, second);
  EXPECT_EQ(store->run(first)->status, RunStatus::aborted);
  pass(second_us);
  EXPECT_EQ(input_of(second), (Json{{"n", 3}}));
}

TEST_F(StartsByPolicy, cancel_does_not_end_a_run_for_a_second_start_with_the_same_key_of_the_callers) {
  add_graph("singleton", {{"when", "cancel"}});
  std::vector<std::pair<StartRun, std::string>> commands(2, {start_of({{"n", 1}}), "one"});
  commands.emplace_back(start_of({{"n", 2}}), "one");
  const std::vector<Result<Started>> started = client.start_many(std::move(commands));
  ASSERT_TRUE(started[0] && started[1]);
  EXPECT_FALSE(started[0]->existed);
  EXPECT_TRUE(started[1]->existed);
  EXPECT_EQ(started[1]->run, started[0]->run);
  ASSERT_FALSE(started[2]);
  EXPECT_NE(started[2].error().message.find("but found another"), std::string::npos);
  pass(10 * second_us);
  EXPECT_EQ(store->run(started[0]->run)->status, RunStatus::running);
  EXPECT_EQ(store->starts().count(10), 0);
}

TEST_F(StartsByPolicy, cancel_does_not_end_a_run_for_a_request_that_overlaps_with_an_equal_one) {
  add_graph("singleton", {{"when", "cancel"}});
  Started first;
  SlowStore slow(*store, 1, [&] { first = start({{"n", 1}}, "one"); });
  Client other(slow, *catalogue, "user:ben");
  other.read_graphs();
  const Result<Started> second = other.start(start_of({{"n", 1}}), "one");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(first.existed);
  EXPECT_TRUE(second->existed);
  EXPECT_EQ(second->run, first.run);
  pass(10 * second_us);
  EXPECT_EQ(store->run(first.run)->status, RunStatus::running);
}

TEST_F(StartsByPolicy, cancel_does_not_end_a_later_run_for_a_request_that_overlaps_with_one_whose_run_has_ended) {
  add_graph("singleton", {{"when", "cancel"}});
  RunId first, later;
  SlowStore slow(*store, 1, [&] {
    first = start({{"n", 1}}, "one").run;
    end(first);
    later = start({{"n", 2}}).run;
  });
  Client other(slow, *catalogue, "user:ben");
  other.read_graphs();
  const Result<Started> again = other.start(start_of({{"n", 1}}), "one");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->existed);
  EXPECT_EQ(again->run, first);
  pass(10 * second_us);
  EXPECT_EQ(store->run(later)->status, RunStatus::running);
}

TEST_F(StartsByPolicy, cancel_does_not_give_the_run_of_a_callers_key_to_a_start_without_one) {
  add_graph("singleton", {{"when", "cancel"}});
  const RunId first = start({{"n", 1}}).run;
  const RunId named = start({{"n", 2}}, "mine").run;
  const RunId last = start({{"n", 3}}).run;
  EXPECT_NE(last, named);
  EXPECT_EQ(store->run(first)->status, RunStatus::aborted);
  pass(second_us);
  EXPECT_FALSE(exists(named));
  EXPECT_EQ(input_of(last), (Json{{"n", 3}}));
}

TEST_F(StartsByPolicy, debounce_and_batch_make_one_run_of_many_starts) {
  add_graph("debounce", {{"key", "/doc"}, {"quiet", "2s"}});
  const Started first = start({{"doc", 1}, {"n", 1}});
  EXPECT_EQ(start({{"doc", 1}, {"n", 2}}).run, first.run);
  EXPECT_NE(start({{"doc", 2}, {"n", 1}}).run, first.run);
  pass(second_us);
  EXPECT_FALSE(exists(first.run));
  pass(second_us);
  EXPECT_EQ(input_of(first.run), (Json{{"doc", 1}, {"n", 2}}));
}

TEST_F(StartsByPolicy, a_batch_has_the_inputs_in_their_order_and_the_tags_that_all_share) {
  add_graph("batch", {{"size", 3}, {"after", "1m"}});
  const auto start_tagged = [&](int n) {
    return *client.start(start_of({{"n", n}}, {{"of", "x"}, {"n", std::to_string(n)}}), "");
  };
  const Started first = start_tagged(1);
  EXPECT_EQ(first.standing, StartStanding::waits);
  EXPECT_EQ(start_tagged(2).run, first.run);
  EXPECT_EQ(start_tagged(3).standing, StartStanding::started);
  EXPECT_EQ(input_of(first.run), (Json{{"items", {{{"n", 1}}, {{"n", 2}}, {{"n", 3}}}}}));
  EXPECT_EQ(store->run(first.run)->tags, (Tags{{"of", "x"}}));
}

TEST_F(StartsByPolicy, many_starts_in_one_call_are_decided_together) {
  add_graph("batch", {{"key", "/t"}, {"size", 2}, {"after", "1m"}});
  std::vector<std::pair<StartRun, std::string>> commands;
  for (int n = 0; n < 6; ++n) commands.emplace_back(start_of({{"t", n % 2}, {"n", n}}), "");
  const std::vector<Result<Started>> started = client.start_many(std::move(commands));
  std::map<RunId, int> starts;
  for (const Result<Started>& one : started) ++starts[one->run];
  EXPECT_EQ(starts.size(), 4u) << "of each key a full one and one that waits";
  EXPECT_EQ(input_of(started[0]->run), (Json{{"items", {{{"n", 0}, {"t", 0}}, {{"n", 2}, {"t", 0}}}}}));
  EXPECT_FALSE(exists(started[4]->run));
}

TEST_F(StartsByPolicy, a_process_that_confirms_late_leaves_later_starts_with_the_same_numbers) {
  add_graph("batch", {{"size", 3}, {"after", "1m"}});
  RunId later;
  SlowStore slow(*store, 4, [&] {  // before the first three are confirmed
    pass(6 * second_us);
    ASSERT_TRUE(store->starts().keys("", {}, 10).empty());
    for (int n = 4; n < 6; ++n) later = start({{"n", n}}).run;
  });
  Client other(slow, *catalogue, "user:ben");
  other.read_graphs();
  RunId earlier;
  for (int n = 1; n < 4; ++n) earlier = other.start(start_of({{"n", n}}), "")->run;
  EXPECT_EQ(input_of(earlier), (Json{{"items", {{{"n", 1}}, {{"n", 2}}, {{"n", 3}}}}}));
  EXPECT_EQ(store->starts().count(10), 2);
  pass(60 * second_us);
  ASSERT_TRUE(exists(later));
  EXPECT_EQ(input_of(later), (Json{{"items", {{{"n", 4}}, {{"n", 5}}}}}));
}

TEST_F(StartsByPolicy, a_batch_is_given_up_with_the_starts_that_came_meanwhile) {
  add_graph("batch", {{"size", 3}, {"after", "1m"}});
  const RunId run = start({{"n", 1}}).run;
  SlowStore slow(*store, 1, [&] { start({{"n", 2}}); });
  Client other(slow, *catalogue, "user:ben");
  other.read_graphs();
  EXPECT_TRUE(other.command(run, Cancel{}));
  EXPECT_EQ(store->starts().count(10), 0);
  EXPECT_TRUE(store->starts().keys("", {}, 10).empty());
}

TEST_F(StartsByPolicy, a_run_that_has_begun_meanwhile_is_not_given_up_in_place_of_a_later_start) {
  add_graph("batch", {{"size", 3}, {"after", "1m"}});
  const RunId run = start({{"n", 1}}).run;
  RunId later;
  SlowStore slow(*store, 1, [&] {
    pass(60 * second_us);
    later = start({{"n", 2}}).run;
  });
  Client other(slow, *catalogue, "user:ben");
  other.read_graphs();
  EXPECT_FALSE(other.command(run, Cancel{}));
  EXPECT_TRUE(exists(run));
  pass(60 * second_us);
  EXPECT_TRUE(exists(later));
}

TEST_F(StartsByPolicy, a_start_without_the_key_or_with_one_it_may_not_have_is_refused) {
  add_graph("batch", {{"key", "/t"}, {"size", 2}, {"after", "1m"}});
  EXPECT_EQ(refusal({{"x", 1}}),
            "Expected a key of 1 to 500 bytes at /t of a start of graph waiting (batch), but it has none.");
  EXPECT_EQ(refusal({{"t", ""}}),
            "Expected a key of 1 to 500 bytes at /t of a start of graph waiting (batch), but it has none.");
  EXPECT_NE(refusal({{"t", std::string(501, 'x')}}).find("but found"), std::string::npos);
  EXPECT_NE(refusal({{"t", std::string("a\0b", 3)}}).find("but found"), std::string::npos);
  EXPECT_EQ(refusal({{"t", 1}}, "mine"),
            "Expected no key of a run in a start of graph waiting, of which several become one run (batch), but found "
            "one.");
}

TEST_F(StartsByPolicy, the_input_of_each_start_is_checked_before_it_waits) {
  const Json items = {{"type", "array"}, {"items", {{"type", "object"}, {"required", {"n"}}}}};
  add_graph("batch", {{"size", 2}, {"after", "1m"}}, {{"type", "object"}, {"properties", {{"items", items}}}});
  EXPECT_NE(refusal({{"m", 1}}).find("In the input of graph waiting"), std::string::npos);
  start({{"n", 1}});
  EXPECT_EQ(start({{"n", 2}}).standing, StartStanding::started);
}

TEST_F(StartsByPolicy, a_key_of_the_callers_gives_the_same_run_or_refuses_another_input) {
  add_graph("singleton", {{"when", "queue"}});
  const Started first = start({{"n", 1}}, "one");
  EXPECT_EQ(start({{"n", 1}}, "one").run, first.run);
  const Started second = start({{"n", 2}}, "two");
  EXPECT_EQ(second.standing, StartStanding::waits);
  const Started again = start({{"n", 2}}, "two");
  EXPECT_EQ(again.run, second.run);
  EXPECT_TRUE(again.existed);
  EXPECT_NE(refusal({{"n", 3}}, "two").find("but found another"), std::string::npos);
  end(first.run);
  pass(10 * second_us);
  end(second.run);
  pass(10 * second_us);
  EXPECT_EQ(store->runs({}).size(), 2u);
}

TEST_F(StartsByPolicy, a_key_of_the_callers_gives_the_same_run_for_a_large_input) {
  add_graph("singleton", {{"when", "queue"}});
  const Json input = {{"text", std::string(300'000, 'x')}};
  const Started first = start(input, "one");
  const Started again = start(input, "one");
  EXPECT_EQ(again.run, first.run);
  EXPECT_TRUE(again.existed);
  EXPECT_NE(refusal({{"text", std::string(300'000, 'y')}}, "one").find("but found another"), std::string::npos);
}

TEST_F(StartsByPolicy, a_key_of_the_callers_that_is_used_twice_at_once_takes_one_turn) {
  add_graph("singleton", {{"when", "queue"}});
  const RunId first = start({{"n", 1}}).run;
  std::vector<std::pair<StartRun, std::string>> commands(2, {start_of({{"n", 2}}), "two"});
  const std::vector<Result<Started>> started = client.start_many(std::move(commands));
  ASSERT_TRUE(started[0] && started[1]);
  EXPECT_EQ(started[1]->run, started[0]->run);
  EXPECT_TRUE(started[1]->existed);
  EXPECT_EQ(started[1]->standing, StartStanding::waits);
  EXPECT_EQ(store->starts().count(10), 1);
  SlowStore slow(*store, 1, [&] { start({{"n", 3}}, "three"); });
  Client other(slow, *catalogue, "user:ben");
  other.read_graphs();
  EXPECT_TRUE(other.start(start_of({{"n", 3}}), "three")->existed);
  EXPECT_EQ(store->starts().count(10), 2);
  end(first);
  pass(10 * second_us);
  EXPECT_TRUE(exists(started[0]->run));
}

TEST_F(StartsByPolicy, of_two_that_reopen_a_run_the_one_that_is_refused_does_not_free_its_key) {
  add_graph("singleton", {{"when", "skip"}});
  const RunId run = start({{"n", 1}}).run;
  const StartKey of{"waiting", ""};
  KeyedStarter one(*store, {}), other(*store, {});
  EXPECT_TRUE(one.take(of, run));
  EXPECT_TRUE(other.take(of, run));
  one.release(of, run);
  other.release(of, run);
  EXPECT_EQ(start({{"n", 2}}).standing, StartStanding::skipped);
  end(run);
  EXPECT_EQ(start({{"n", 3}}).standing, StartStanding::started);
}

TEST_F(StartsByPolicy, forks_and_retries_of_a_singleton_need_its_key) {
  add_graph("singleton", {{"key", "/customer"}});
  const RunId first = start({{"customer", "a"}}).run;
  const Result<Started> fork = client.fork(first, {.seq = store->run(first)->head});
  ASSERT_FALSE(fork);
  EXPECT_EQ(fork.error().message, "Expected no open run of graph waiting with the key \"a\" (singleton), but run " +
                                      to_string(first) + " has not ended.");
  const std::int64_t head = store->run(first)->head;
  end(first);
  const Result<Started> other = client.fork(first, {.seq = head});
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(start({{"customer", "a"}}).run, other->run);
  end(other->run);
  EXPECT_EQ(start({{"customer", "a"}}).standing, StartStanding::started);
}

TEST_F(StartsByPolicy, a_start_that_is_refused_in_its_turn_says_why_and_holds_nobody_up) {
  add_graph("singleton", {{"when", "queue"}});
  const RunId first = start({{"n", 1}}).run;
  const RunId second = start({{"n", "two"}}).run;
  const RunId third = start({{"n", 3}}).run;
  Json stricter = waiting_graph("singleton", {{"when", "queue"}});
  stricter["input"] = {{"type", "object"}, {"properties", {{"n", {{"type", "integer"}}}}}};
  ASSERT_TRUE(client.add_graph(stricter));
  end(first);
  pass(10 * second_us);
  pass(second_us);
  EXPECT_TRUE(exists(third));
  const Result<RunState> refused = client.state(second);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("its start was refused (graph waiting): In the input of graph waiting"),
            std::string::npos)
      << refused.error().message;
}

// By each policy, a process dies at its n-th call of the store, before the call or after it, for every n. Each start
// that was taken becomes one run, none becomes two, and the key is free in the end.
class DyingStarter : public StartsByPolicy, public ::testing::WithParamInterface<const char*> {};

TEST_P(DyingStarter, leaves_each_start_one_run_or_none) {
  const Json policies = {{"skip", {{"singleton", {{"when", "skip"}}}}},
                         {"queue", {{"singleton", {{"when", "queue"}}}}},
                         {"cancel", {{"singleton", {{"when", "cancel"}}}}},
                         {"debounce", {{"debounce", {{"quiet", "1s"}}}}},
                         {"batch", {{"batch", {{"size", 2}, {"after", "2s"}}}}}};
  const auto policy = policies.at(GetParam()).begin();
  add_graph(policy.key().c_str(), policy.value());
  bool has_died = true;
  std::size_t deaths = 0;
  for (int calls = 0; has_died; ++calls)
    for (const bool after : {false, true}) {
      DyingStore dying(*store, calls, after);
      Client dead(dying, *catalogue, "user:ben");
      dead.read_graphs();
      const std::size_t before = store->runs({}).size();
      int taken = 0;
      try {
        for (int n = 0; n < 2; ++n) taken += dead.start(start_of({{"n", n}}), "")->standing != StartStanding::skipped;
        for (int look = 0; look < 3; ++look) {
          now_us += 3 * second_us;
          dead.decide_starts(10);
        }
      } catch (const StoreUnavailable&) {
      }
      has_died = dying.has_died();
      deaths += has_died ? 1 : 0;
      std::size_t open_at_once = 0;
      for (int round = 0; round < 20; ++round) {
        pass(6 * second_us);
        RunFilter running;
        running.status = RunStatus::running;
        const std::vector<RunRow> open = store->runs(running);
        open_at_once = std::max(open_at_once, open.size());
        for (const RunRow& run : open) end(run.id);
      }
      const std::size_t begun = store->runs({}).size() - before;
      EXPECT_LE(begun, 2u) << calls << after;
      EXPECT_TRUE(policy.key() != "singleton" || open_at_once <= 1) << calls << after;
      EXPECT_TRUE(taken == 0 || begun >= 1) << calls << after;
      pass(3'600 * second_us);
      EXPECT_TRUE(store->starts().keys("", {}, 10).empty()) << calls << after;
    }
  EXPECT_GT(deaths, 6u);
}

INSTANTIATE_TEST_SUITE_P(Policies, DyingStarter, ::testing::Values("skip", "queue", "cancel", "debounce", "batch"),
                         [](const auto& policy) { return std::string(policy.param); });

}  // namespace
}  // namespace cairn

// Tests of hooks over tables in memory: a store, a feed of one page, and a clock that only the test moves.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/event_types.hpp"
#include "storage/hooks/memory_hooks.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/storage/test_runs.hpp"
#include "workers/hooks/hook_desk.hpp"
#include "workers/hooks/hook_reader.hpp"
#include "workers/hooks/hook_sender.hpp"

namespace cairn::test {

class HookRig : public ::testing::Test {
 protected:
  static constexpr TimeUs second_us = 1'000'000;

  HookRig() : store_(make_memory_store(1, [this] { return now_us_; })), hooks_([this] { return now_us_; }) {
    feed_.add = [this](const FeedConsumer& consumer) -> Status {
      const auto during = std::exchange(during_add_, [] {});
      during();
      consumers_.insert(consumer.name);
      return Done{};
    };
    feed_.remove = [this](const std::string& consumer) -> Status {
      if (consumers_.erase(consumer) > 0) return Done{};
      return Error{Code::not_found, "Expected a consumer, but there is none."};
    };
    feed_.page = [this](const std::string& consumer, std::int32_t) -> Result<HookPage> {
      if (!consumers_.contains(consumer)) return Error{Code::not_found, "Expected a consumer, but there is none."};
      return HookPage{events_, std::to_string(events_.size()), has_more_};
    };
    feed_.confirm = [this](const std::string&, const std::string&) -> Status {
      ++confirmed_;
      return Done{};
    };
    feed_.stalled = [this](const StalledQuestion&, std::int32_t) {
      ++searched_;
      return StalledAnswer{{}, 0, {}, true};
    };
  }

  HookReader reader() {
    return {hooks_.calls(), feed_, *store_, {[this] { return now_us_; }, [](const std::string&) {}}};
  }
  HookSender sender(Store& store) {
    return {hooks_.calls(),
            store,
            {[this](const HookDefinition&) { return can_send_; }, [this] { return now_us_; }, [] { return 0.5; },
             [this](const std::string& says) { warnings_.push_back(says); }}};
  }
  HookSender sender() { return sender(*store_); }
  HookDesk desk() { return {hooks_.calls(), feed_}; }

  static HookDefinition hook_with(const Json& more = Json::object()) {
    Json fields = {{"url", "https://h.example/in"}, {"on", Json::array({"ended"})}, {"backoff_ms", 1'000}};
    fields.update(more);
    return *parse_hook(fields);
  }
  void add_hook(const Json& more = Json::object()) { ASSERT_TRUE(desk().add("h", hook_with(more), "user:ann").ok()); }

  // A run whose first event is its end.
  RunId ended_run() {
    TestRun run(*store_);
    Entry entry = run.entry(1);
    entry.events.front().type = event_type_of<RunFinished>.number;
    entry.events.front().version = 1;
    entry.events.front().payload = R"({"status":"done","reason":"","output":{}})";
    EXPECT_EQ(run.commit(entry).kind, Verdict::Kind::committed);
    events_.push_back({run.id(), "g", store_->events(run.id(), 0, 1).front()});
    return run.id();
  }

  // Their notices, taken by the sender.
  std::vector<HookParcel> taken_of(HookSender& sender, int runs) {
    for (int n = 0; n < runs; ++n) ended_run();
    EXPECT_TRUE(reader().scan());
    std::vector<HookParcel> parcels = sender.take();
    EXPECT_EQ(parcels.size(), static_cast<std::size_t>(runs));
    return parcels;
  }

  HookDelivery only_delivery() {
    const std::vector<HookDelivery> all = hooks_.deliveries("h");
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? HookDelivery{} : all.front();
  }

  std::string kinds_of_notes() {
    std::string kinds;
    for (const KeptHookNote& kept : hooks_.notes("h")) kinds += kept.note.kind + " ";
    return kinds;
  }

  static HookAnswer answer(std::int32_t status, std::int64_t retry_after_ms = 0) {
    HookAnswer made;
    made.status = status;
    made.is_success = status / 100 == 2;
    made.is_gone = status == 410;
    made.is_busy = status >= 500;
    made.retry_after_ms = retry_after_ms;
    made.says = "The receiver answered " + std::to_string(status) + ".";
    return made;
  }

  TimeUs now_us_ = noon;  // of the database and of each process
  std::unique_ptr<Store> store_;
  MemoryHooks hooks_;
  HookFeed feed_;
  std::set<std::string> consumers_;
  std::vector<FeedEvent> events_;
  std::function<void()> during_add_ = [] {};  // once, while a consumer is made
  bool has_more_ = false;
  int confirmed_ = 0, searched_ = 0;
  bool can_send_ = true;
  std::vector<std::string> warnings_;
};

}  // namespace cairn::test

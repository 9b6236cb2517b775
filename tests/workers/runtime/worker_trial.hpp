// A store in memory or in PostgreSQL with the small graphs, and workers with their real threads that execute runs in
// it. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>

#include "engine/event.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/ids.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn::test {

struct WorkerStore {
  std::string name;
  bool memory = false;
  std::int32_t shards = 1;
};
inline void PrintTo(const WorkerStore& variant, std::ostream* out) { *out << variant.name; }

class WorkerTest : public ::testing::TestWithParam<WorkerStore> {
 protected:
  void SetUp() override {
    if (GetParam().memory) {
      store_ = make_memory_store(GetParam().shards);
    } else {
      PostgresOptions options;
      options.dsn = new_database(GetParam().shards);
      Result<std::unique_ptr<Store>> opened = open_postgres_store(options);
      ASSERT_TRUE(opened) << opened.error().message;
      store_ = std::move(*opened);
    }
    catalogue_ = small_catalogue();
    client_ = client_with_graphs(*store_, *catalogue_);
  }

  RunId start(const std::string& graph, Json input = Json::object()) {
    StartRun command;
    command.graph = graph;
    command.input = std::move(input);
    const Result<Started> started = client_->start(std::move(command), "");
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
    return started ? started->run : RunId{};
  }

  RunStatus status(const RunId& run) { return store_->run(run)->status; }

  // Works until the condition holds; the test fails if it does not within the limit.
  WorkerReport work_until(std::function<bool()> holds, WorkerOptions options = {}) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    options.until = [&] { return std::chrono::steady_clock::now() > limit || holds(); };
    const WorkerReport report = Worker(*store_, *catalogue_, options).run();
    EXPECT_TRUE(holds());
    return report;
  }
  WorkerReport work_until_ended(const RunId& run, WorkerOptions options = {}) {
    return work_until([this, run] { return is_ended(status(run)); }, std::move(options));
  }

  Json output(const RunId& run) {
    return client_->expand_blobs(client_->state(run)->output, shard_of(run, store_->shards()));
  }

  std::int64_t count(const RunId& run, std::string_view type) {
    const Result<std::vector<Event>> events = client_->events(run, 0, 1000);
    return std::count_if(events->begin(), events->end(),
                         [type](const Event& event) { return type_of(event.body) == type; });
  }

  std::string jobs_text(const RunId& run) {
    std::string text;
    for (const HeldJob& held : store_->jobs().of(run)) {
      text += "branch " + std::to_string(held.job.branch) + " step " + std::to_string(held.job.step) + " in " +
              held.job.queue + " at " + time_text(held.job.run_at_us) + " held by " + std::to_string(held.session) +
              " epoch " + std::to_string(held.epoch) + "\n";
    }
    return text + "now " + time_text(store_->database_time()) + "\n";
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
};

}  // namespace cairn::test

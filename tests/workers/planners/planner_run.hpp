// A planner's run: its graph on a memory store, executed by a real worker with the test's model and tools. For one
// thread: the worker runs on the caller's.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/event.hpp"
#include "engine/run_json.hpp"
#include "storage/memory/memory_store.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn::test {

// A model that keeps every request and passes it on, after `before_each` if the test has set it.
class WatchedModel final : public Model {
 public:
  explicit WatchedModel(std::unique_ptr<Model> model) : model_(std::move(model)) {}
  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override {
    requests.push_back(request);
    if (before_each) before_each(request);
    return model_->ask(std::move(request));
  }
  std::vector<ModelRequest> of(const std::string& node) const {
    std::vector<ModelRequest> found;
    for (const ModelRequest& request : requests) {
      if (request.node == node) found.push_back(request);
    }
    return found;
  }
  std::vector<ModelRequest> requests;
  std::function<void(const ModelRequest&)> before_each;

 private:
  std::unique_ptr<Model> model_;
};

class PlannerRun {
 public:
  // `clock`: the store's; the system's if empty.
  explicit PlannerRun(std::unique_ptr<Model> model, std::unique_ptr<Tools> tools = nullptr,
                      std::function<TimeUs()> clock = {})
      : store_(make_memory_store(1, std::move(clock))) {
    Result<std::unique_ptr<Catalogue>> made = make_catalogue({});
    if (!made) throw std::runtime_error(made.error().message);
    catalogue_ = *std::move(made);
    auto watched = std::make_unique<WatchedModel>(std::move(model));
    model_ = watched.get();
    catalogue_->model = std::move(watched);
    if (tools) catalogue_->tools = std::move(tools);
    client_ = std::make_unique<Client>(*store_, *catalogue_, "test");
    client_->load_graphs();
  }

  Client& client() { return *client_; }
  Store& store() { return *store_; }
  const WatchedModel& model() const { return *model_; }
  void before_each_request(std::function<void(const ModelRequest&)> then) { model_->before_each = std::move(then); }

  // Starts a run and works until it has ended or waits.
  RunId run(const std::string& graph, Json input, std::optional<RunId> continues = {}) {
    const RunId started = start(graph, std::move(input), continues);
    work(started);
    return started;
  }

  RunId start(const std::string& graph, Json input, std::optional<RunId> continues = {}, Options asked = {}) {
    StartRun start;
    start.options = std::move(asked);
    start.graph = graph;
    start.input = std::move(input);
    start.continues = continues;
    const Result<Started> started = client_->start(std::move(start), "");
    if (!started) throw std::runtime_error(started.error().message);
    return started->run;
  }

  // One worker, a new session without memory, until the run has so many events or rests.
  void work_until(const RunId& run, std::int64_t events) {
    WorkerOptions options;
    options.fuse_steps = 1;
    options.keep = false;
    options.concurrency = 1;
    options.until = [&] {
      const auto row = store_->run(run);
      return row && (row->head >= events || is_ended(row->status));
    };
    Worker(*store_, *catalogue_, options).run();
  }

  void work(const RunId& run) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto rests = [&] {
      const auto row = store_->run(run);
      return row && (is_ended(row->status) || row->waiting);
    };
    WorkerOptions options;
    options.until = [&] { return std::chrono::steady_clock::now() > limit || rests(); };
    Worker(*store_, *catalogue_, options).run();
    EXPECT_TRUE(rests()) << "the run did not come to rest";
  }

  // A worker of certain queues alone, until the run rests or `is_enough`.
  void work_in(const RunId& run, std::vector<std::string> queues, std::function<bool()> is_enough) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const auto is_over = [&] { return is_enough() || is_ended(store_->run(run)->status); };
    WorkerOptions options;
    options.queues = std::move(queues);
    options.until = [&] { return std::chrono::steady_clock::now() > limit || is_over(); };
    Worker(*store_, *catalogue_, options).run();
    EXPECT_TRUE(is_over()) << "these queues did not bring the run so far";
  }

  RunState state(const RunId& run) {
    Result<RunState> state = client_->state(run);
    if (!state) throw std::runtime_error(state.error().message);
    return *std::move(state);
  }

  Json output(const RunId& run) { return client_->expand_blobs(state(run).output, 0); }
  Json channel(const RunId& run, const std::string& name) {
    return client_->expand_blobs(read_channel(state(run), root_branch, name), 0);
  }

  // The events of a type, as `cairn events --json` shows them.
  std::vector<Json> events(const RunId& run, const std::string& type) {
    const Result<std::vector<Event>> all = client_->events(run, 0, 10'000);
    if (!all) throw std::runtime_error(all.error().message);
    std::vector<Json> found;
    for (const Event& event : *all) {
      if (type_of(event.body) == type || event_json(run, event)["type"] == type)
        found.push_back(event_json(run, event));
    }
    return found;
  }

  // The nodes left, in their order.
  std::vector<std::string> path(const RunId& run) {
    std::vector<std::string> nodes;
    for (const Json& event : events(run, "step_succeeded")) nodes.push_back(event["node"].get<std::string>());
    return nodes;
  }

 private:
  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  WatchedModel* model_ = nullptr;
  std::unique_ptr<Client> client_;
};

}  // namespace cairn::test

// Followers of a run see what a step has written so far, while a worker executes it.
#include <atomic>
#include <boost/asio.hpp>
#include <gtest/gtest.h>
#include <thread>

#include "storage/memory/memory_store.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/forwarding_store.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/waiting.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/models/http_model.hpp"

namespace cairn {
namespace {

namespace asio = boost::asio;
using namespace test;
using cairn::testing::LoopbackServer;

asio::awaitable<void> wait_for(const std::atomic<int>& stage, int wanted) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (stage < wanted) {
    timer.expires_after(std::chrono::milliseconds(2));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

class StepProgress : public ::testing::TestWithParam<bool> {  // whether the store is in memory
 protected:
  void SetUp() override {
    if (GetParam()) {
      store_ = make_memory_store(1);
    } else {
      PostgresOptions options;
      options.dsn = new_database(2);
      Result<std::unique_ptr<Store>> opened = open_postgres_store(options);
      ASSERT_TRUE(opened) << opened.error().message;
      store_ = std::move(*opened);
    }
    catalogue_ = small_catalogue();
    add("t.say", [this](StepInput input, Ports& ports) { return say(std::move(input), ports); });
    add("t.write", [](StepInput input, Ports& ports) { return write(std::move(input), ports); });
    client_ = client_with_graphs(*store_, *catalogue_);
  }
  void TearDown() override {
    stage_ = 1'000;
    end_worker();
  }

  void add(const std::string& name, const EffectHandler& run) {
    catalogue_->handlers.add({.name = name, .labels = {"ok"}, .reads = {"*"}, .run = run});
  }
  // "page 1 of 3" and so on, each page once its stage has come; the first attempt fails where it is asked to.
  asio::awaitable<StepResult> say(StepInput input, Ports& ports) {
    for (int page = 1; page <= 3; ++page) {
      ports.progress("attempt " + std::to_string(input.attempt) + ", page " + std::to_string(page) + " of 3");
      co_await wait_for(stage_, page);
      if (input.attempt == 1 && input.data.value("fails", false)) co_return Failure{"error", "torn page", true, {}};
    }
    co_return Outcome{"ok", {{"read", 3}}, {}};
  }
  static asio::awaitable<StepResult> write(StepInput input, Ports& ports) {
    ModelRequest request = request_for(input);
    request.messages = Json::array({{{"role", "user"}, {"content", "What is the sky?"}}});
    request.schema = object_schema({{"answer", {{"type", "string"}}}});
    show_progress(request, ports, "answer");
    return ask_model(std::move(request), ports, [](const ModelReply& reply) -> StepResult {
      return Outcome{"ok", {{"answer", reply.value.at("answer")}}, {}};
    });
  }

  RunId start(const std::string& handler, Json input = Json::object()) {
    const Json graph = {
        {"name", "progress"},
        {"start", "s"},
        {"limits", {{"steps", 9}}},
        {"nodes",
         {{"s", {{"do", handler}, {"retry", {{"attempts", 2}}}, {"on", {{"ok", "z"}}}}}, {"z", {{"end", "done"}}}}}};
    const Result<GraphRef> added = client_->add_graph(graph);
    EXPECT_TRUE(added) << added.error().message;
    StartRun command;
    command.graph = "progress";
    command.input = std::move(input);
    return client_->start(std::move(command), "")->run;
  }
  void begin_worker(WorkerOptions options = {}, Store* store = nullptr) {
    worker_ = std::make_unique<Worker>(store == nullptr ? *store_ : *store, *catalogue_, options);
    thread_ = std::thread([this] { worker_->run(); });
  }
  void end_worker() {
    if (!thread_.joinable()) return;
    worker_->hurry();
    thread_.join();
  }
  std::string said(const RunId& run) {
    const std::vector<ProgressRow> rows = store_->progress().of(run);
    return rows.empty() ? "" : rows[0].text;
  }
  bool comes_to_say(const RunId& run, const std::string& text) {
    return wait_until([&] { return said(run) == text; }, std::chrono::seconds(30));
  }
  bool ends(const RunId& run) {
    return wait_until([&] { return is_ended(store_->run(run)->status); }, std::chrono::seconds(30));
  }
  Json output(const RunId& run) { return client_->state(run)->output; }

  std::atomic<int> stage_ = 0;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Worker> worker_;
  std::thread thread_;
};

TEST_P(StepProgress, a_text_grows_before_its_step_ends_and_goes_with_it) {
  const RunId run = start("t.say");
  begin_worker();
  ASSERT_TRUE(comes_to_say(run, "attempt 1, page 1 of 3")) << said(run);
  stage_ = 1;
  ASSERT_TRUE(comes_to_say(run, "attempt 1, page 2 of 3"));
  const ProgressRow row = store_->progress().of(run).at(0);
  EXPECT_EQ(row.node, "s");
  EXPECT_EQ(row.written, std::ssize(row.text));
  EXPECT_EQ(row.place, (ProgressPlace{run, 1, 1}));
  stage_ = 3;
  ASSERT_TRUE(ends(run));
  EXPECT_EQ(said(run), "");
  EXPECT_EQ(output(run), Json({{"read", 3}}));
  EXPECT_EQ(history_text(*client_, run).find("page"), std::string::npos) << "no event holds it";
}

TEST_P(StepProgress, a_next_attempt_has_its_own_text) {
  const RunId run = start("t.say", {{"fails", true}});
  begin_worker();
  ASSERT_TRUE(comes_to_say(run, "attempt 1, page 1 of 3"));
  stage_ = 1;
  ASSERT_TRUE(comes_to_say(run, "attempt 2, page 2 of 3"));
  EXPECT_EQ(store_->progress().of(run).size(), 1U);
  stage_ = 3;
  ASSERT_TRUE(ends(run));
}

TEST_P(StepProgress, of_a_run_that_is_cancelled_nothing_is_left) {
  const RunId run = start("t.say");
  begin_worker();
  ASSERT_TRUE(comes_to_say(run, "attempt 1, page 1 of 3"));
  ASSERT_TRUE(client_->command(run, Cancel{"enough"}));
  EXPECT_EQ(said(run), "");
}

// Its worker dies with its session's row and hold left behind: the text stands until another one takes the step over.
TEST_P(StepProgress, a_dead_workers_text_goes_when_its_step_is_taken_over) {
  const RunId run = start("t.say");
  store_->sessions().open({.id = 77, .host = "gone", .pid = 1, .queues = {"default"}});
  ClaimRequest request;
  request.shard = shard_of(run, store_->shards());
  request.queues = {"default"};
  request.session = 77;
  request.now_us = store_->database_time() + 1'000'000;
  const HeldJob held = store_->claim(request).jobs.at(0);
  const ProgressRow left = {.place = {run, 1, 1}, .branch = held.job.branch, .node = "s", .text = "half", .written = 4};
  store_->progress().put(77, {&left, 1}, {});
  EXPECT_EQ(said(run), "half");
  stage_ = 0;
  WorkerOptions options;
  options.dead_after_ms = 200;
  begin_worker(options);
  ASSERT_TRUE(comes_to_say(run, "attempt 2, page 1 of 3"));
  EXPECT_EQ(store_->progress().of(run).size(), 1U);
  stage_ = 3;
  ASSERT_TRUE(ends(run));
}

// The store of a run whose steps say nothing is never asked.
class CountingStore : public ForwardingStore {
 public:
  explicit CountingStore(Store& store) : ForwardingStore(store), progress_(store.progress()) {
    progress_.put = [this](SessionId session, std::span<const ProgressRow> texts,
                           std::span<const ProgressPlace> ended) {
      ++calls;
      for (const ProgressRow& row : texts) longest = std::max(longest.load(), row.text.size());
      store_.progress().put(session, texts, ended);
    };
  }
  ProgressBook& progress() override { return progress_; }
  std::atomic<int> calls = 0;
  std::atomic<std::size_t> longest = 0;

 private:
  ProgressBook progress_;
};

TEST_P(StepProgress, steps_that_say_nothing_cost_nothing) {
  CountingStore counting(*store_);
  std::vector<RunId> runs;
  for (int n = 0; n < 20; ++n) runs.push_back(start("t.ok"));
  begin_worker({}, &counting);
  for (const RunId& run : runs) ASSERT_TRUE(ends(run));
  end_worker();
  EXPECT_EQ(counting.calls, 0);
}

TEST_P(StepProgress, what_is_said_often_is_written_seldom_and_bounded_in_bytes) {
  CountingStore counting(*store_);
  add("t.flood", [](StepInput, Ports& ports) -> asio::awaitable<StepResult> {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    std::string text;
    for (int n = 0; n < 500; ++n) {
      text += std::string(1'000, 'a') + "\x1b]0;title\x07\xff";
      ports.progress(text);
      timer.expires_after(std::chrono::milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
    }
    co_return Outcome{"ok", Json::object(), {}};
  });
  const RunId run = start("t.flood");
  begin_worker({}, &counting);
  ASSERT_TRUE(ends(run));
  end_worker();
  EXPECT_LE(counting.longest, progress_bytes_max);
  EXPECT_LT(counting.calls, 100);
}

// --- an answer that streams
// -------------------------------------------------------------------------------------------

std::string chunk(const std::string& content) {
  const Json choices = Json::array({Json{{"delta", {{"content", content}}}}});
  return "data: " + Json{{"choices", choices}}.dump() + "\n\n";
}

TEST_P(StepProgress, an_answer_is_seen_while_the_model_writes_it_and_the_event_has_it_whole) {
  const std::string last =
      R"(data: {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 5}})";
  LoopbackServer server([&](const auto&) {
    LoopbackServer::Reply reply;
    reply.headers = {{"content-type", "text/event-stream"}};
    reply.pieces = {chunk("{\"answer\""), chunk(": \"The sky \\u"), chunk("00e4"), chunk(" is"),
                    chunk(" blue.\"}") + last + "\n\ndata: [DONE]\n\n"};
    reply.before = [this](std::size_t piece) {
      wait_until([&] { return stage_ >= static_cast<int>(piece); }, std::chrono::seconds(30));
    };
    return reply;
  });
  ModelEndpoint endpoint;
  endpoint.url = server.url("/v1");
  endpoint.model = "m";
  catalogue_->model = make_http_model(endpoint);
  catalogue_->has_model = true;
  const RunId run = start("t.write");
  begin_worker();
  stage_ = 1;
  ASSERT_TRUE(comes_to_say(run, "The sky ")) << said(run);
  stage_ = 2;
  ASSERT_TRUE(comes_to_say(run, "The sky \u00e4"));
  stage_ = 3;
  ASSERT_TRUE(comes_to_say(run, "The sky \u00e4 is")) << "who comes late sees all of it";
  stage_ = 4;
  ASSERT_TRUE(ends(run));
  EXPECT_EQ(said(run), "");
  EXPECT_EQ(output(run), Json({{"answer", "The sky \u00e4 is blue."}}));
}

INSTANTIATE_TEST_SUITE_P(Stores, StepProgress, ::testing::Values(true, false),
                         [](const auto& variant) { return variant.param ? "memory" : "postgres"; });

}  // namespace
}  // namespace cairn

// The client: starts runs, follows them, answers their questions, over the HTTP API of `cairn serve`. All documents are
// those of the API, which the guide to HTTP describes. Not thread-safe; make one per thread.
#pragma once

#include <cairn/values.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cairn::library {

using Texts = std::map<std::string, std::string>;

struct ClientOptions {
  std::string url = {};    // http://HOST[:PORT] or https://...; "": CAIRN_URL, else http://127.0.0.1:8080
  std::string token = {};  // "": CAIRN_TOKEN, else none
  std::chrono::milliseconds patience{30'000};  // a server that is away or busy is asked again for so long
};

struct StartOptions {
  std::string key = {};  // the same key with the same input is the same run, for ever; "": each call is a new run
  Texts tags = {};
  Json options = Json::object();  // as `options` of POST /runs
  std::string continues = {};     // the run whose results the new one goes on with; "": none
};

struct AnswerOptions {
  std::string question = {};  // "": the only open one
  std::string by = {};        // the person who says so; "": the client
};

// How a fork differs from its origin at that moment.
struct ForkOptions {
  Json set = Json::object();      // channels, by name
  Json answers = Json::object();  // to questions that are open then, by id
  Json graph = nullptr;           // that it goes on with: a name, a version or a graph; null: the origin's
  Texts tags = {};
  bool recorded = false;    // it takes what models and tools said from the origin's record
  std::string reason = {};  // for the record
};

struct Transport;  // private

// All functions throw Refused for what the API refuses and for what JSON cannot hold, and Unavailable where no answer
// comes within the patience. A request that would have another effect the second time is sent again only if it has not
// arrived.
class Client {
 public:
  // Throws Refused `invalid`: an address or a token that is none.
  explicit Client(ClientOptions options = {});
  explicit Client(std::unique_ptr<Transport> transport);  // private
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  // Stores the graph as the current version of its name; returns the version.
  std::string add_graph(const Json& graph);

  // Starts a run and returns its id.
  std::string start(const std::string& graph, const Json& input = Json::object(), const StartOptions& options = {});

  // The folded state: now, or as of an event's number or a time ("17", "2026-11-27T09:00:00Z").
  Json state(const std::string& run, const std::string& at = "");
  // The state once the run has ended (`status` is done, failed or aborted). Throws Unavailable after `timeout`.
  Json wait(const std::string& run, std::optional<std::chrono::milliseconds> timeout = {});
  // All events after number `after`, in order.
  std::vector<Json> events(const std::string& run, std::int64_t after = 0);
  // Calls `on_event` for each event as it comes, until the run has ended; goes on where it was if the connection
  // breaks. Passes on what `on_event` throws.
  void follow(const std::string& run, const std::function<void(const Json& event)>& on_event, std::int64_t after = 0);
  // The reasons for its status: each thing that it waits for, or why it has ended.
  Json explain(const std::string& run);
  std::vector<Json> plan(const std::string& run, const std::string& at = "");
  // The two runs compared from the first event that differs.
  Json diff(const std::string& run, const std::string& other);
  // Whether its history is whole, as `cairn verify` finds it.
  Json verify(const std::string& run);

  // Runs, newest first; the filters are those of GET /runs: {{"graph", "score"}, {"status", "failed"}}.
  std::vector<Json> runs(const Texts& where = {}, std::size_t limit = 500);
  // Open questions, oldest first.
  std::vector<Json> questions(const Texts& where = {}, std::size_t limit = 500);

  void answer(const std::string& run, const Json& value, const AnswerOptions& options = {});
  // A signal with the same id counts once; "": each call is another signal.
  void signal(const std::string& run, const std::string& name, const Json& value = nullptr, const std::string& id = "");
  // Ends it as aborted, after the graph's cleanup unless `now`.
  void cancel(const std::string& run, const std::string& reason = "", bool now = false);
  void pause(const std::string& run, const std::string& reason = "");
  void resume(const std::string& run, const std::string& reason = "");
  // Goes on after a failure; returns the run that does: this one, or a fork of it.
  std::string retry(const std::string& run, const std::string& reason = "");
  // A new run from before a node or an event's number.
  std::string reset(const std::string& run, const std::string& to, const std::string& reason = "");
  // A new run from where this one stood after event `at`.
  std::string fork(const std::string& run, std::int64_t at, const ForkOptions& options = {});

 private:
  std::unique_ptr<Transport> transport_;
};

}  // namespace cairn::library

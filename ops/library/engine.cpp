#include <algorithm>
#include <atomic>
#include <boost/algorithm/string/case_conv.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "ops/commands/graphs/graph_shelf.hpp"
#include "ops/http/api.hpp"
#include "ops/library/library.hpp"
#include "ops/library/own_work.hpp"
#include "ops/library/run_state.hpp"
#include "ops/library/transport.hpp"
#include "ops/service/environment.hpp"
#include "ops/service/memory_world.hpp"
#include "workers/simulation/seeds.hpp"

namespace cairn::library {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds settle_time{60'000};
constexpr milliseconds poll_pause{1};

std::atomic<bool> is_taken{false};

[[noreturn]] void refuse(const Error& error) {
  const ApiResponse response = error_response(error);
  throw Refused(static_cast<int>(response.status), std::string(to_string(error.code)), error.message);
}

// An answer that comes from another thread, and the wait for it.
class Awaited {
 public:
  void give(std::optional<ApiResponse> answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    is_there_ = true;
    there_.notify_all();
  }
  std::optional<ApiResponse> take() {
    std::unique_lock lock(mutex_);
    there_.wait(lock, [this] { return is_there_; });
    return std::move(answer_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable there_;
  bool is_there_ = false;
  std::optional<ApiResponse> answer_;
};

// The API of this process, without sockets.
class DirectWay {
 public:
  DirectWay(Api& api, std::atomic<int>& waiting) : api_(api), waiting_(waiting) {}

  Answered exchange(const Asked& asked) {
    ApiRequest request = request_of(asked);
    while (true) {
      ApiAnswer answer = answer_to(request);
      if (auto* response = std::get_if<ApiResponse>(&answer)) return answered(*std::move(response));
      auto* later = std::get_if<ApiLater>(&answer);
      if (later == nullptr) throw Unavailable("Expected an answer of Cairn at once, but it is a stream.");
      const auto awaited = std::make_shared<Awaited>();
      later->begin([awaited](std::optional<ApiResponse> given) { awaited->give(std::move(given)); });
      if (std::optional<ApiResponse> given = awaited->take()) return answered(*std::move(given));
      answer_again(request, *later);
    }
  }

  Answered stream(const std::string& run, std::int64_t after, const Transport::OnMore& on_more) {
    ApiRequest request = request_of({"GET", {"runs", run, "events"}});
    request.headers["accept"] = "text/event-stream";
    request.headers["last-event-id"] = std::to_string(after);
    ApiAnswer answer = answer_to(request);
    if (auto* response = std::get_if<ApiResponse>(&answer)) return answered(*std::move(response));
    auto& events = std::get<ApiStream>(answer);
    const Waits waits(waiting_);
    for (bool goes_on = true; goes_on;) {
      const std::optional<ApiStream::Chunk> chunk = events.next();
      if (chunk && !chunk->text.empty()) on_more(chunk->text);
      goes_on = chunk && !chunk->is_last;
      if (goes_on && chunk->text.empty()) std::this_thread::sleep_for(poll_pause);
    }
    if (events.gone) events.gone();
    return {200, "", {}};
  }

  // While there is one, time goes on.
  class Waits {
   public:
    explicit Waits(std::atomic<int>& waiting) : waiting_(waiting) { ++waiting_; }
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;
    ~Waits() { --waiting_; }

   private:
    std::atomic<int>& waiting_;
  };

 private:
  static ApiRequest request_of(const Asked& asked) {
    ApiRequest request;
    request.method = asked.method;
    request.segments = {"api", "v1"};
    request.segments.insert(request.segments.end(), asked.path.begin(), asked.path.end());
    request.query = asked.query;
    request.headers = {{"host", "127.0.0.1"}, {"content-type", "application/json"}, {"accept", "application/json"}};
    request.body = asked.body;
    request.peer = "127.0.0.1";
    return request;
  }

  ApiAnswer answer_to(const ApiRequest& request) {
    Admission admission = api_.admit(request);
    if (auto* response = std::get_if<ApiResponse>(&admission)) return *std::move(response);
    if (auto* admitted = std::get_if<Admitted>(&admission)) return admitted->answer(request);
    throw Unavailable("Expected to be let in by the API, but it pauses.");  // there are no tokens to guess here
  }

  static Answered answered(ApiResponse response) {
    Answered said{static_cast<int>(response.status), std::move(response.body), {}};
    for (auto& [name, value] : response.headers)
      said.headers.emplace(boost::algorithm::to_lower_copy(name), std::move(value));
    return said;
  }

  Api& api_;
  std::atomic<int>& waiting_;
};

struct Taken {
  Taken() {
    if (is_taken.exchange(true))
      refuse({Code::conflict, "Expected no other engine in this process, whose clock it shares, but found one."});
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() { is_taken = false; }
};

template <class T>
T value_or_refusal(Result<T> result) {
  if (!result) refuse(result.error());
  return *std::move(result);
}

// As CAIRN_LOG says, once for the process; nothing below warnings without it.
void open_log_once() {
  static const Status opened = open_log_of_environment();
  if (!opened) refuse(opened.error());
}

Settings settings_for(const Handlers& handlers, const std::string& tools_file) {
  open_log_once();
  Settings settings;
  settings.tools = tools_file;
  settings.own = own_work(handlers);
  return settings;
}

}  // namespace

struct Engine::Parts {
  explicit Parts(const Settings& settings)
      : world(value_or_refusal(MemoryWorld::open(settings))),
        tokens(value_or_refusal(TokenBook::open("", ""))),
        api(world->opened(), *tokens, {}),
        client(transport_of(std::make_shared<DirectWay>(api, waiting))) {
    world->begin([this] { return waiting > 0 || api.is_waited_for(); });
  }
  ~Parts() { world->end(); }

  Taken taken;
  std::atomic<int> waiting{0};
  std::unique_ptr<MemoryWorld> world;
  std::unique_ptr<TokenBook> tokens;
  Api api;
  Client client;
};

Engine::Engine(const Handlers& handlers, const EngineOptions& options)
    : parts_(std::make_unique<Parts>(settings_for(handlers, options.tools_file))) {}
Engine::~Engine() = default;

Client& Engine::client() { return parts_->client; }

Json Engine::settle(const std::string& run) {
  const DirectWay::Waits waits(parts_->waiting);
  const auto until = steady_clock::now() + settle_time;
  while (steady_clock::now() < until) {
    // In this order: what rests now, rests in the state that is read then.
    const bool rests = parts_->world->rests();
    Json state = parts_->client.state(run);
    if (has_ended(state) || rests) return state;
    std::this_thread::sleep_for(poll_pause);
  }
  throw Unavailable("Expected run " + run + " to settle within a minute, but it did not.");
}

Json Engine::execute(const Json& graph, const Json& input) {
  parts_->client.add_graph(graph);
  return settle(parts_->client.start(graph.value("name", ""), input));
}

void Engine::skip(milliseconds time) { parts_->world->skip(time.count() * 1'000); }

void Engine::crash() {
  const DirectWay::Waits waits(parts_->waiting);
  for (const SessionRow& session : parts_->world->opened().store->sessions().all()) parts_->world->crash(session.id);
  while (parts_->world->has_lost()) std::this_thread::sleep_for(poll_pause);
}

std::vector<std::string> Engine::simulate(const Json& graph, const Handlers& handlers, const SimulateOptions& options) {
  const Settings settings = settings_for(handlers, "");
  const auto catalogue = value_or_refusal(open_catalogue(settings));
  simulation::SeedsAsked asked;
  asked.graphs = value_or_refusal(graphs_with(settings, *catalogue, graph, ""));
  asked.input = options.input;
  asked.says = options.outcomes;
  asked.first = options.first_seed;
  asked.count = static_cast<std::uint64_t>(std::max<std::int64_t>(options.seeds, 0));
  const simulation::SeedsReport report =
      value_or_refusal(simulation::simulate_seeds(asked, catalogue->handlers, catalogue->tools->table()));
  return report.found ? report.found->lines : std::vector<std::string>();
}

}  // namespace cairn::library

#include "workers/simulation/simulated_starts.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/graph_parsing.hpp"
#include "storage/chain.hpp"
#include "storage/forwarding_store.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/starts/start_book.hpp"
#include "workers/client.hpp"
#include "workers/ids.hpp"
#include "workers/simulation/call_trouble.hpp"
#include "workers/simulation/chance.hpp"
#include "workers/simulation/checker.hpp"

namespace cairn::simulation {
namespace {

constexpr TimeUs start_second_us = 1'000'000;
constexpr std::uint64_t starts_salt = 0x737461727473ull;
constexpr std::size_t starters_count = 3;
constexpr int keys_count = 3;
constexpr int overtaking_depth = 2;
constexpr int starts_rest_rounds = 5'000;

const std::vector<std::pair<std::string, Json>> start_policies = {
    {"skip", {{"singleton", {{"key", "tag.of"}}}}},
    {"cancel", {{"singleton", {{"key", "tag.of"}, {"when", "cancel"}}}}},
    {"queue", {{"singleton", {{"key", "tag.of"}, {"when", "queue"}}}}},
    {"debounce", {{"debounce", {{"key", "tag.of"}, {"quiet", "10s"}, {"at_most", "40s"}}}}},
    {"batch", {{"batch", {{"key", "tag.of"}, {"size", 3}, {"after", "20s"}}}}},
};

Json policy_graph(const std::string& name, const Json& policy) {
  Json graph = {{"name", name},
                {"start", "w"},
                {"limits", {{"steps", 9}}},
                {"nodes", {{"w", {{"wait", {{"signal", "go"}}}, {"on", {{"fired", "z"}}}}}, {"z", {{"end", "done"}}}}}};
  graph.update(policy);
  return graph;
}

// A store of processes that may die or be overtaken at each call, except under the lock of a key, where others wait.
class OvertakenStore final : public ForwardingStore {
 public:
  OvertakenStore(Store& store, CallTrouble& trouble, std::function<void()> overtake)
      : ForwardingStore(store),
        trouble_(trouble),
        overtake_(std::move(overtake)),
        book_(store.starts()),
        runs_(store.all_runs()) {
    runs_.heads = [this](std::span<const RunId> runs) { return at([&] { return store_.all_runs().heads(runs); }); };
    book_.decide_named = [this](std::vector<StartKey> keys, const DecideStarts& decide) {
      at([&] { store_.starts().decide_named(std::move(keys), under_lock(decide)); });
    };
    book_.decide_due = [this](int limit, const DecideStarts& decide) {
      return at([&] { return store_.starts().decide_due(limit, under_lock(decide)); });
    };
    book_.starts = [this](const StartKey& of, std::int64_t first, std::int64_t last) {
      return at([&] { return store_.starts().starts(of, first, last); });
    };
    book_.start_of_run = [this](const RunId& run) { return at([&] { return store_.starts().start_of_run(run); }); };
  }

  StartBook& starts() override { return book_; }
  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    return at([&] { return ForwardingStore::commit(shard, batch, options); });
  }
  RunBook& all_runs() override { return runs_; }
  std::optional<RunRow> run(const RunId& id) override {
    return at([&] { return ForwardingStore::run(id); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> at(Call&& call) {
    if (!is_locked_) overtake_();
    return trouble_.at(std::forward<Call>(call));
  }

  DecideStarts under_lock(const DecideStarts& decide) {
    return [this, &decide](TimeUs now_us, const std::vector<StartKeyRow>& rows) {
      struct Lock {
        explicit Lock(bool& is_locked) : is(is_locked) { is = true; }
        ~Lock() { is = false; }
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;
        bool& is;
      };
      const Lock lock(is_locked_);
      return decide(now_us, rows);
    };
  }

  CallTrouble& trouble_;
  const std::function<void()> overtake_;
  StartBook book_;
  RunBook runs_;
  bool is_locked_ = false;
};

// A start as a caller sees it, who may ask for it again under the same key.
struct Asked {
  std::string graph;
  std::string of;
  std::string key;                       // the caller's; "": none
  std::int64_t begun = 0, answered = 0;  // counts of happenings; answered 0: by a fault alone
  std::vector<Started> answers = {};
};

class StartsWorld {
 public:
  StartsWorld(std::uint64_t seed, const Catalogue& with, StartsCourse& goes)
      : catalogue(with),
        course(goes),
        chance(seed ^ starts_salt),
        trouble(chance, course.faults, "starter", 30),
        now_us(*parse_time("2026-10-24T20:00:00Z")),
        store(make_memory_store(1, [this] { return now_us; })),
        overtaken(*store, trouble, [this] { overtake(); }),
        outside(*store, catalogue, "user:test") {
    outside.load_graphs();
    for (const auto& [name, policy] : start_policies)
      if (const Result<GraphRef> added = outside.add_graph(policy_graph(name, policy)); !added)
        found("A graph cannot be added: " + added.error().message);
    for (std::size_t n = 0; n < starters_count; ++n) begin(n);
  }

  void happen() {
    ++count;
    act();
    observe();
  }

  void heal() {
    trouble.is_on = false;
    for (int round = 0; round < starts_rest_rounds; ++round) {
      ++count;
      clients[0]->decide_starts(100);
      end_some_run();
      observe();
      if (store->starts().keys("", {}, 1).empty()) return;
      now_us += start_second_us;
    }
    found("Starts do not come to rest although everything is healed.");
  }

  void check() {
    std::map<std::int64_t, RunId> runs;
    for (const RunRow& row : all_runs()) {
      if (row.forked_from) continue;
      for (const std::int64_t number : numbers_of(row.id))
        if (!runs.emplace(number, row.id).second) found(named(number) + " is in two runs.");
    }
    for (std::size_t n = 0; n < asked.size(); ++n)
      for (const Started& answer : asked[n].answers) check_answer(static_cast<std::int64_t>(n), answer, runs);
    check_order(runs);
    course.asked = std::ssize(asked);
    course.runs = std::ssize(seen);
  }

 private:
  void begin(std::size_t n) {
    clients[n] = std::make_unique<Client>(overtaken, catalogue, "user:test");
    clients[n]->load_graphs();
  }

  // A process that dies is followed by another; one whose database failed it tries again later. False: one of both.
  template <class Act>
  bool as_process(std::size_t n, Act&& does) {
    is_busy[n] = true;
    bool is_through = false;
    try {
      does(*clients[n]);
      is_through = true;
    } catch (const ProcessDied&) {
      const bool was_on = std::exchange(trouble.is_on, false);
      begin(n);
      trouble.is_on = was_on;
    } catch (const StoreUnavailable&) {
    }
    is_busy[n] = false;
    return is_through;
  }

  // Others go on between two calls of a process.
  void overtake() {
    if (!trouble.is_on || depth >= overtaking_depth || !chance.one_in(8)) return;
    ++depth;
    ++course.faults["overtaken"];
    act();
    --depth;
  }

  void act() {
    now_us += chance.between(1, 999);
    const std::size_t n = chance.below(starters_count);
    switch (chance.below(16)) {
      case 0:
        now_us += chance.between(1, 300) * start_second_us;
        return;
      case 1:
        now_us -= chance.between(1, 100) * start_second_us;  // the clock is set back
        return;
      case 2:
      case 3:
        now_us += chance.between(1, 10) * start_second_us;
        return;
      case 4:
      case 5:
      case 6:
        return end_some_run();
      default:
        if (!is_busy[n]) act_as_process(n);
    }
  }

  void act_as_process(std::size_t n) {
    switch (chance.below(12)) {
      case 0:
        return give_up(n);
      case 1:
        return fork(n);
      case 2:
      case 3:
      case 4:
        as_process(n, [](Client& client) { client.decide_starts(2); });
        return;
      case 5:
        return ask_again(n);
      default:
        ask_first(n);
    }
  }

  void ask_first(std::size_t n) {
    Asked one;
    one.graph = start_policies[chance.below(start_policies.size())].first;
    one.of = "k" + std::to_string(chance.below(keys_count));
    if (can_have_key(one.graph) && chance.one_in(3)) one.key = "order-" + std::to_string(asked.size());
    one.begun = count;
    asked.push_back(std::move(one));
    ask(n, asked.size() - 1);
  }

  static bool can_have_key(const std::string& graph) { return graph != "debounce" && graph != "batch"; }

  void ask_again(std::size_t n) {
    if (asked.empty()) return;
    const std::size_t place = chance.below(asked.size());
    if (!asked[place].key.empty()) ask(n, place);
  }

  void ask(std::size_t n, std::size_t place) {
    StartRun start;
    start.graph = asked[place].graph;
    start.input = {{"n", place}};
    start.tags = {{"of", asked[place].of}};
    const std::string key = asked[place].key;
    as_process(n, [&](Client& client) {
      const Result<Started> started = client.start(std::move(start), key);
      if (!started) found(named(static_cast<std::int64_t>(place)) + " is refused: " + started.error().message);
      asked[place].answers.push_back(*started);
      if (asked[place].answered == 0) asked[place].answered = count;
      ++course.taken[asked[place].graph + " " + std::string(to_string(started->standing))];
    });
  }

  void give_up(std::size_t n) {
    std::vector<RunId> waiting;
    for (const Asked& one : asked)
      for (const Started& answer : one.answers)
        if (answer.standing == StartStanding::waits && !store->run(answer.run)) waiting.push_back(answer.run);
    if (waiting.empty()) return;
    const RunId run = waiting[chance.below(waiting.size())];
    given_up.insert(run);
    as_process(n,
               [&](Client& client) { static_cast<void>(client.command(run, Cancel{.reason = "no longer wanted"})); });
  }

  void fork(std::size_t n) {
    const std::vector<RunRow> rows = all_runs();
    if (rows.empty()) return;
    const RunRow& origin = rows[chance.below(rows.size())];
    const auto forks = [&origin](Client& client) { static_cast<void>(client.fork(origin.id, {.seq = 1})); };
    if (!as_process(n, forks)) broken_forks.emplace(origin.graph, origin.tags.at("of"));
  }

  // In the order of their starts: ids are drawn, and no seed decides those.
  std::vector<RunRow> all_runs() {
    RunFilter filter;
    filter.limit = 1'000'000;
    std::vector<RunRow> rows = store->runs(filter);
    const auto place = [](const RunRow& row) { return std::tie(row.started_at, row.graph, row.tags, row.reason); };
    std::sort(rows.begin(), rows.end(), [&](const RunRow& a, const RunRow& b) { return place(a) < place(b); });
    return rows;
  }

  void end_some_run() {
    std::vector<RunId> open;
    for (const RunRow& row : all_runs())
      if (row.status == RunStatus::running) open.push_back(row.id);
    if (open.empty()) return;
    static_cast<void>(outside.command(open[chance.below(open.size())], SendSignal{"go", 1, ""}));
  }

  void observe() {
    std::map<std::pair<std::string, std::string>, int> open;
    for (const RunRow& row : all_runs()) {
      seen.emplace(row.id, count);
      if (row.status == RunStatus::running && can_have_key(row.graph)) ++open[{row.graph, row.tags.at("of")}];
    }
    for (const auto& [key, runs] : open)
      if (runs > 1)
        found("Of graph " + key.first + " " + std::to_string(runs) + " runs have key " + key.second + " at once.");
  }

  std::vector<std::int64_t> numbers_of(const RunId& run) {
    const Json input = parse_stored_object(outside.state(run)->input);
    if (!input.contains("items")) return {input.at("n").get<std::int64_t>()};
    std::vector<std::int64_t> numbers;
    for (const Json& item : input.at("items")) numbers.push_back(item.at("n").get<std::int64_t>());
    return numbers;
  }

  void check_answer(std::int64_t number, const Started& answer, const std::map<std::int64_t, RunId>& runs) {
    const Asked& one = asked[static_cast<std::size_t>(number)];
    const auto run = runs.find(number);
    if (answer.standing == StartStanding::skipped) {
      // A fork has the key of its run before it begins, also one whose process dies meanwhile.
      if (!store->run(answer.run) && !broken_forks.contains({one.graph, one.of}))
        found(named(number) + " was skipped for a run that is not there.");
      return;
    }
    if (run != runs.end()) {
      if (run->second != answer.run) found(named(number) + " is in another run than was said.");
      return;
    }
    if (given_up.contains(answer.run)) return;  // with all starts that it stood for then
    const bool may_be_replaced = answer.standing == StartStanding::waits &&
                                 (one.graph == "cancel" || one.graph == "debounce") && has_later(number);
    if (!may_be_replaced) found(named(number) + " " + std::string(to_string(answer.standing)) + ", but has no run.");
    if (one.graph == "debounce" && !store->run(answer.run)) found(named(number) + " was promised a run.");
  }

  bool has_later(std::int64_t number) const {
    const Asked& one = asked[static_cast<std::size_t>(number)];
    return std::any_of(asked.begin(), asked.end(), [&one](const Asked& other) {
      return &other != &one && other.graph == one.graph && other.of == one.of &&
             (other.answered == 0 || other.answered >= one.begun);
    });
  }

  // A start of a queue that was answered before another one was asked for begins before it.
  void check_order(const std::map<std::int64_t, RunId>& runs) {
    for (const auto& [first, run] : runs)
      for (const auto& [second, later] : runs) {
        const Asked& one = asked[static_cast<std::size_t>(first)];
        const Asked& other = asked[static_cast<std::size_t>(second)];
        if (one.graph != "queue" || other.graph != "queue" || one.of != other.of || one.answered == 0) continue;
        if (given_up.contains(run)) continue;  // and perhaps asked for again
        if (one.answered < other.begun && seen.at(run) > seen.at(later))
          found(named(second) + " began before " + named(first) + ", which was taken earlier.");
      }
  }

  std::string named(std::int64_t number) const {
    const Asked& one = asked[static_cast<std::size_t>(number)];
    return "Start " + std::to_string(number) + " of graph " + one.graph + " with key " + one.of;
  }

  const Catalogue& catalogue;
  StartsCourse& course;
  Chance chance;
  CallTrouble trouble;
  TimeUs now_us;
  std::unique_ptr<Store> store;
  OvertakenStore overtaken;
  Client outside;
  std::array<std::unique_ptr<Client>, starters_count> clients;
  std::array<bool, starters_count> is_busy{};
  std::vector<Asked> asked;                                    // each with its place as its number
  std::map<RunId, std::int64_t> seen;                          // since which count a run is there
  std::set<RunId> given_up;                                    // perhaps
  std::set<std::pair<std::string, std::string>> broken_forks;  // their graphs and keys
  std::int64_t count = 0;
  int depth = 0;
};

}  // namespace

StartsCourse simulate_starts(std::uint64_t seed, const Catalogue& catalogue, int happenings) {
  StartsCourse course;
  thread_random().seed(seed);  // ids and pauses of clients
  try {
    StartsWorld world(seed, catalogue, course);
    for (int n = 0; n < happenings; ++n) world.happen();
    world.heal();
    world.check();
  } catch (const Violation& violation) {
    course.finding = violation.says;
  } catch (const CheckFailure& failure) {
    course.finding = "The check " + failure.says + " failed.";
  }
  return course;
}

}  // namespace cairn::simulation

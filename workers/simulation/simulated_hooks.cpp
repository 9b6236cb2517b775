#include "workers/simulation/simulated_hooks.hpp"

#include <algorithm>
#include <utility>

#include "storage/stored_event.hpp"
#include "workers/hooks/hook_rules.hpp"

namespace cairn::simulation {
namespace {

constexpr TimeUs hook_second_us = 1'000'000;
constexpr TimeUs act_us = 100'000;
constexpr TimeUs eager_us = 950'000;  // a twentieth of a second is a standstill here, so that there are some
constexpr std::int32_t page_max = 50;
constexpr int heal_rounds = 4'000;
constexpr std::uint64_t hook_salt = 0x686f6f6b73ull;
const std::string operator_name = "user:simulated";
const std::string brief_hook = "brief";  // comes and goes

// One for each way of sending: in any order, in order, and standstills.
std::map<std::string, Json> simulated_hooks() {
  const Json common = {{"url", "http://receiver.simulated/in"}, {"backoff_ms", 200}, {"timeout_ms", 1'000}};
  const auto hook = [&common](Json more) {
    more.update(common);
    return more;
  };
  return {{"any", hook({{"on", {"ended", "waits", "budget"}}, {"attempts", 3}})},
          {"ordered", hook({{"on", {"ended", "waits", "budget"}}, {"attempts", 4}, {"ordered", true}})},
          {"still", hook({{"on", Json::array({"stalled"})}, {"attempts", 5}, {"stalled_after_ms", 1'000}})}};
}

HookDefinition definition_of(const Json& hook) {
  Result<HookDefinition> read = parse_hook(hook);
  CHECK(read.ok());
  return *std::move(read);
}

bool has_all(const Tags& tags, const Tags& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&tags](const auto& one) {
    const auto found = tags.find(one.first);
    return found != tags.end() && found->second == one.second;
  });
}

std::string shown(const std::string& hook, const NoticeId& id) { return "hook " + hook + ", " + event_id(hook, id); }

}  // namespace

SimulatedHooks::SimulatedHooks(World& world, std::uint64_t seed)
    : world_(world),
      chance_(seed ^ hook_salt),
      trouble_(chance_, world.faults, "sender", 10),
      hooks_([this] { return now(); }),
      calls_(hooks_.calls()) {
  trouble_.is_out = [&world] { return world.is_out(); };
}

SimulatedHooks::~SimulatedHooks() = default;

// --- trouble ---------------------------------------------------------------------------------------------------------

template <class Call>
auto SimulatedHooks::troubled(Call call) {
  return [this, call](const auto&... asked) { return trouble_.at([&] { return call(asked...); }); };
}

HookCalls SimulatedHooks::troubled_calls() {
  return {troubled(calls_.add),           troubled(calls_.hooks),      troubled(calls_.take),
          troubled(calls_.keep),          troubled(calls_.change),     troubled(calls_.edit),
          troubled(calls_.note),          troubled(calls_.put),        troubled(calls_.erase),
          troubled(calls_.count_waiting), troubled(calls_.has_parked), troubled(calls_.claim),
          troubled(calls_.record_send),   troubled(calls_.resend),     troubled(calls_.trim)};
}

HookFeed SimulatedHooks::feed() {
  return {[this](const FeedConsumer& consumer) -> Status {
            remove_while_made(consumer.name);
            read_log();
            consumers_[consumer.name] = {consumer.filter, log_.size()};
            return Done{};
          },
          [this](const std::string& consumer) -> Status {
            if (consumers_.erase(consumer) > 0) return Done{};
            return Error{Code::not_found, "Expected a consumer, but there is none."};
          },
          [this](const std::string& consumer, std::int32_t limit) { return page(consumer, limit); },
          [this](const std::string& consumer, const std::string& cursor) { return confirm(consumer, cursor); },
          [this](const StalledQuestion& question, std::int32_t) { return stalled(question); }};
}

HookFeed SimulatedHooks::troubled_feed() {
  const HookFeed plain = feed();
  return {troubled(plain.add), troubled(plain.remove), troubled(plain.page), troubled(plain.confirm),
          troubled(plain.stalled)};
}

// An operator removes the hook while a process makes its consumer; that process has no other trouble in this act.
void SimulatedHooks::remove_while_made(const std::string& consumer) {
  if (!trouble_.is_on || consumer != hook_consumer(brief_hook) || !chance_.one_in(4)) return;
  trouble_.is_on = false;
  since_.erase(brief_hook);
  if (HookDesk(calls_, feed()).remove(brief_hook, operator_name)) ++world_.reached["hooks removed while made"];
}

void SimulatedHooks::begin_process(std::size_t n) {
  Process& process = processes_[n];
  if (process.is_gone) *process.is_gone = true;
  process.is_gone = std::make_shared<bool>(false);
  const auto clock = [this] { return now(); };
  const auto unheard = [](const std::string&) {};
  process.reader = std::make_unique<HookReader>(troubled_calls(), troubled_feed(), *world_.store,
                                                HookReaderSurroundings{clock, unheard});
  process.sender =
      std::make_unique<HookSender>(troubled_calls(), *world_.store,
                                   HookSenderSurroundings{[](const HookDefinition&) { return true; }, clock,
                                                          [this] { return chance_.part(); }, unheard});
}

// --- the feed --------------------------------------------------------------------------------------------------------

// Runs' events in their order; those of different runs as they are seen.
void SimulatedHooks::read_log() {
  for (const RunId& run : world_.checker.runs()) {
    std::int64_t& head = heads_[run];
    const std::int64_t last = world_.checker.state(run)->seq;
    while (head < last) log_.push_back({run, ++head});
  }
}

Result<HookPage> SimulatedHooks::page(const std::string& name, std::int32_t limit) {
  const auto found = consumers_.find(name);
  if (found == consumers_.end()) return Error{Code::not_found, "Expected a consumer, but there is none."};
  read_log();
  const FeedFilter& filter = found->second.filter;
  HookPage page;
  std::size_t at = found->second.position;
  const std::size_t end = std::min(log_.size(), at + static_cast<std::size_t>(std::min(limit, page_max)));
  for (; at < end; ++at) {
    const LoggedSeq& logged = log_[at];
    const std::vector<EventRow> rows = world_.store->events(logged.run, logged.seq - 1, 1);
    const std::optional<RunRow> run = world_.store->run(logged.run);
    if (rows.empty() || !run) continue;
    const std::optional<std::string_view> type = event_type_name(rows.front().type);
    const bool passes = std::find(filter.types.begin(), filter.types.end(), type.value_or("")) != filter.types.end() &&
                        (filter.graph.empty() || filter.graph == run->graph) && has_all(run->tags, filter.tags);
    if (passes) page.events.push_back({logged.run, run->graph, rows.front()});
  }
  page.cursor = std::to_string(at);
  page.has_more = at < log_.size();
  return page;
}

Status SimulatedHooks::confirm(const std::string& name, const std::string& cursor) {
  const auto found = consumers_.find(name);
  if (found == consumers_.end()) return Error{Code::not_found, "Expected a consumer, but there is none."};
  found->second.position = std::stoull(cursor);
  return Done{};
}

StalledAnswer SimulatedHooks::stalled(const StalledQuestion& question) {
  StalledAnswer answer;
  answer.is_end = true;
  for (const RunId& id : world_.checker.runs()) {
    const std::optional<RunRow> run = world_.store->run(id);
    const bool stands = run && run->status == RunStatus::running &&
                        run->updated_at <= question.moved_before + eager_us && run->updated_at > question.moved_after;
    if (stands) answer.found.push_back({id, run->head, NoticeKind::stalled});
  }
  stood_.insert(answer.found.begin(), answer.found.end());
  return answer;
}

// --- acts ------------------------------------------------------------------------------------------------------------

void SimulatedHooks::begin() {
  trouble_.is_on = false;
  HookDesk desk(calls_, feed());
  for (const auto& [name, hook] : simulated_hooks()) {
    const Status added = desk.add(name, definition_of(hook), operator_name);
    CHECK(added.ok());
    since_[name] = 0;
  }
  trouble_.is_on = true;
  for (std::size_t n = 0; n < processes; ++n) begin_process(n);
  world_.agenda.after(act_us, [this] { act(); });
}

// A world that waits long is looked at less often.
void SimulatedHooks::act() {
  if (chance_.one_in(40))
    act_as_operator();
  else if (chance_.one_in(20))
    change_brief_hook();
  else
    act_as(chance_.below(processes));
  trouble_.is_on = has_faults_;
  const TimeUs quiet_us = world_.agenda.now() - world_.moved_us;
  world_.agenda.after(std::max(act_us, quiet_us / 10), [this] { act(); });
}

void SimulatedHooks::act_as(std::size_t n) {
  try {
    while (processes_[n].reader->scan() && !chance_.one_in(4)) {
    }
    for (HookParcel& parcel : processes_[n].sender->take()) send(n, std::move(parcel));
  } catch (const ProcessDied&) {
    begin_process(n);
  } catch (const StoreUnavailable&) {
  }
}

// The message arrives, or not; so does the answer. A sender that has died hears nothing.
void SimulatedHooks::send(std::size_t n, HookParcel parcel) {
  const TimeUs way_us = chance_.between(1'000, 300'000);
  const bool is_lost = chance_.one_in(10), is_unheard = chance_.one_in(10);
  world_.agenda.after(way_us, [this, n, parcel, is_lost, is_unheard, gone = processes_[n].is_gone] {
    if (*gone && chance_.one_in(2)) return;
    HookAnswer answer;
    answer.is_busy = true;
    if (!is_lost) answer = receive(parcel);
    if (is_unheard) {
      answer = {};
      answer.is_busy = true;
    }
    if (*gone) return;
    try {
      processes_[n].sender->record_answer(parcel, answer);
    } catch (const ProcessDied&) {
      begin_process(n);
    } catch (const StoreUnavailable&) {
    }
  });
}

HookAnswer SimulatedHooks::receive(const HookParcel& parcel) {
  const NoticeId& id = parcel.delivery.id;
  Receiver& receiver = receivers_[parcel.delivery.hook];
  const auto [place, is_first] = receiver.all.try_emplace(id, Received{parcel.body});
  if (is_first) receiver.by_run[id.run].push_back(id);
  if (place->second.body != parcel.body) found(shown(parcel.delivery.hook, id) + ": it was sent with another message.");
  check_order(parcel.delivery.hook, receiver);
  HookAnswer answer;
  const std::uint64_t fate = has_faults_ ? chance_.below(20) : 19;
  answer.status = fate < 6 ? 500 : fate == 6 ? 410 : fate == 7 ? 503 : 204;
  answer.is_success = answer.status == 204;
  answer.is_gone = answer.status == 410;
  answer.is_busy = answer.status >= 500;
  answer.retry_after_ms = answer.status == 503 ? 700 : 0;
  if (answer.is_success) ++place->second.successes;
  return answer;
}

// The operator resends parked notices and resumes paused hooks.
void SimulatedHooks::act_as_operator() {
  HookDesk desk(calls_, feed());
  for (const HookRow& row : calls_.hooks()) {
    if (row.paused_at) CHECK(desk.resume(row.name, operator_name).ok());
    CHECK(desk.resend(row.name, "", operator_name).ok());
  }
}

// The operator adds the hook that comes and goes, or removes it; each call may fail or end the operator's process.
void SimulatedHooks::change_brief_hook() {
  HookDesk desk(troubled_calls(), troubled_feed());
  try {
    if (since_.contains(brief_hook) && chance_.one_in(2)) {
      since_.erase(brief_hook);
      static_cast<void>(desk.remove(brief_hook, operator_name));
    } else if (desk.add(brief_hook, definition_of(simulated_hooks().at("any")), operator_name)) {
      read_log();
      since_[brief_hook] = log_.size();
    }
  } catch (const ProcessDied&) {
  } catch (const StoreUnavailable&) {
  }
}

// --- the end ---------------------------------------------------------------------------------------------------------

// Consumers whose hook is gone.
std::vector<std::string> SimulatedHooks::left_consumers() const {
  std::set<std::string> wanted;
  for (const HookRow& row : calls_.hooks()) wanted.insert(hook_consumer(row.name));
  std::vector<std::string> left;
  for (const auto& [name, consumer] : consumers_)
    if (!wanted.contains(name)) left.push_back(name);
  return left;
}

bool SimulatedHooks::is_quiet() {
  if (!left_consumers().empty()) return false;
  read_log();
  for (const HookRow& row : calls_.hooks()) {
    if (!row.is_ready) return false;
    const auto consumer = consumers_.find(hook_consumer(row.name));
    if (consumer != consumers_.end() && consumer->second.position < log_.size()) return false;
    for (const HookDelivery& delivery : hooks_.deliveries(row.name))
      if (delivery.status == DeliveryStatus::waiting || delivery.status == DeliveryStatus::parked) return false;
  }
  return true;
}

void SimulatedHooks::heal() {
  has_faults_ = trouble_.is_on = false;
  for (std::size_t n = 0; n < processes; ++n) begin_process(n);
  for (int round = 0; round < heal_rounds; ++round) {
    act_as_operator();
    while (processes_[0].reader->scan()) {
    }
    HookSender& sender = *processes_[0].sender;
    for (const HookParcel& parcel : sender.take()) sender.record_answer(parcel, receive(parcel));
    if (is_quiet()) return;
    healed_us_ += hook_second_us;
  }
  for (const std::string& name : left_consumers()) found("Consumer " + name + " is left, but its hook is gone.");
  found("Hooks do not come to rest although everything is healed.");
}

void SimulatedHooks::end() {
  heal();
  check_all();
}

void SimulatedHooks::check_all() {
  for (const HookRow& row : calls_.hooks()) {
    const Receiver& receiver = receivers_[row.name];
    for (const HookDelivery& delivery : hooks_.deliveries(row.name)) {
      const auto place = receiver.all.find(delivery.id);
      if (delivery.status != DeliveryStatus::delivered || place == receiver.all.end() || place->second.successes == 0)
        found(shown(row.name, delivery.id) + " is " + std::string(to_string(delivery.status)) +
              ", and its receiver has taken it " +
              std::to_string(place == receiver.all.end() ? 0 : place->second.successes) + " times.");
    }
    world_.reached["notices of hook " + row.name] += static_cast<std::int64_t>(receiver.all.size());
    const HookDefinition hook = definition_of(parse_stored(row.definition));
    if (hook.on.contains(HookOn::stalled))
      check_stalled(row.name);
    else
      check_ended(row.name, hook);
  }
}

// Each event that the hook is on has arrived, from its place on; and nothing else.
void SimulatedHooks::check_ended(const std::string& name, const HookDefinition& hook) {
  const Receiver& receiver = receivers_[name];
  const auto since = since_.find(name);
  std::set<NoticeId> happened;
  for (std::size_t at = 0; at < log_.size(); ++at)
    for (const EventRow& row : world_.store->events(log_[at].run, log_[at].seq - 1, 1)) {
      const auto waits = [&] { return waits_for_answers(*world_.store, log_[at].run); };
      const auto kind = notice_of(hook, stored_event(row), waits);
      if (!kind) continue;
      const NoticeId id{log_[at].run, log_[at].seq, *kind};
      happened.insert(id);
      const bool is_wanted = since != since_.end() && at >= since->second;
      if (is_wanted && !receiver.all.contains(id)) found(shown(name, id) + " never arrived.");
    }
  for (const auto& [id, received] : receiver.all)
    if (!happened.contains(id)) found(shown(name, id) + " arrived, and did not happen.");
}

// Each that arrived had been found by a search: its run stood still after that event.
void SimulatedHooks::check_stalled(const std::string& name) const {
  const auto receiver = receivers_.find(name);
  if (receiver == receivers_.end()) return;
  for (const auto& [id, received] : receiver->second.all)
    if (!stood_.contains(id)) found(shown(name, id) + " arrived, but the run did not stand still.");
}

// An event arrives only when those of its run before it have been taken.
void SimulatedHooks::check_order(const std::string& name, const Receiver& receiver) const {
  if (name != "ordered") return;
  for (const auto& [run, ids] : receiver.by_run)
    for (std::size_t n = 1; n < ids.size(); ++n) {
      if (ids[n].seq < ids[n - 1].seq) found(shown(name, ids[n]) + " arrived after a later event of its run.");
      if (receiver.all.at(ids[n - 1]).successes == 0)
        found(shown(name, ids[n]) + " arrived before the one before it was taken.");
    }
}

}  // namespace cairn::simulation

#include "workers/starts/keyed_starter.hpp"

#include <algorithm>
#include <map>

#include "storage/limits/queue_limits.hpp"
#include "workers/starts/kept_start.hpp"

namespace cairn {
namespace {

constexpr std::size_t start_key_bytes_max = 500;

OrderedStart ordered(const StartKey& of, const WaitingStart& start) { return {read_start(of, start), start.actor}; }

// One run for all of them, with the tags that they share, and the options and the actor of the first.
OrderedStart joined_starts(const StartKey& of, const std::vector<WaitingStart>& starts) {
  OrderedStart joined = ordered(of, starts.front());
  Json items = Json::array();
  for (const WaitingStart& start : starts) {
    StartRun one = read_start(of, start);
    items.push_back(std::move(one.input));
    std::erase_if(joined.command.tags, [&one](const auto& tag) {
      const auto same = one.tags.find(tag.first);
      return same == one.tags.end() || same->second != tag.second;
    });
  }
  joined.command.input = {{"items", std::move(items)}};
  return joined;
}

std::map<StartKey, std::vector<std::size_t>> places_by_key(const auto& all, const auto& key_of) {
  std::map<StartKey, std::vector<std::size_t>> places;
  for (std::size_t n = 0; n < all.size(); ++n) places[key_of(all[n])].push_back(n);
  return places;
}

std::vector<StartKey> keys_in(const std::map<StartKey, std::vector<std::size_t>>& places) {
  std::vector<StartKey> keys;
  for (const auto& [of, at] : places) keys.push_back(of);
  return keys;
}

}  // namespace

Result<StartKey> start_key_of(const Graph& graph, const Tags& tags, const Json& input) {
  StartKey of{graph.name, ""};
  const StartPolicy& policy = *graph.starts;
  if (policy.key.empty()) return of;
  of.key = limit_key(policy.key, tags, input);
  if (!of.key.empty() && of.key.size() <= start_key_bytes_max && of.key.find('\0') == std::string::npos) return of;
  const std::string found = of.key.empty() ? "it has none" : "found " + excerpt(Json(of.key), 40);
  return Error{Code::invalid, "Expected a key of 1 to " + std::to_string(start_key_bytes_max) + " bytes at " +
                                  policy.key + " of a start of graph " + graph.name + " (" +
                                  std::string(policy.word()) + "), but " + found + "."};
}

// --- deciding
// ---------------------------------------------------------------------------------------------------------

std::vector<KeyedStarter::InHand> KeyedStarter::in_hand(TimeUs now_us, const std::vector<StartKeyRow>& rows) {
  std::vector<InHand> keys;
  std::vector<RunId> holders;
  for (const StartKeyRow& row : rows) {
    InHand& key = keys.emplace_back(InHand{{row}, {}, {.now_us = now_us, .front = row.front}});
    if (!row.state.empty()) key.state = read_keyed_starts(parse_stored(row.state));
    if (key.state.holder) holders.push_back(*key.state.holder);
  }
  if (holders.empty()) return keys;
  const std::vector<std::optional<RunHead>> heads = store_.all_runs().heads(holders);
  std::size_t n = 0;
  for (InHand& key : keys) {
    if (!key.state.holder) continue;
    const std::optional<RunHead>& head = heads[n++];
    key.seen.holder_ended = !head || is_ended(head->status);
  }
  return keys;
}

void KeyedStarter::decide(InHand& key, Doings& doings) {
  if (const std::optional<RunId> cancelled = decide_starts(key.state, key.seen)) doings.cancels.push_back(*cancelled);
}

// Under the key's lock: the standing of an earlier start for which the caller has named the same run. The rules
// say it of one that begins at this moment, and where nothing is remembered.
std::optional<StartStanding> KeyedStarter::standing_of_same(const InHand& key, const RunId& run) {
  if (is_idle(key.state) || is_starting(key.state, run)) return std::nullopt;
  const std::vector<WaitingStart>& added = key.write.added;
  if (std::any_of(added.begin(), added.end(), [&run](const WaitingStart& start) { return start.run == run; }))
    return StartStanding::waits;
  if (store_.run(run)) return StartStanding::started;
  const std::optional<FoundStart> kept = store_.starts().start_of_run(run);
  const bool waits = kept && kept->of == key.write.row.of && !kept->start.refusal;
  return waits ? std::optional(StartStanding::waits) : std::nullopt;
}

StartOutcome KeyedStarter::ask_one(InHand& key, const Order& order) {
  const RunId& named = order.start.command.run;
  if (order.is_named)
    if (const std::optional<StartStanding> same = standing_of_same(key, named))
      return {.standing = *same, .run = named, .existed = true};
  std::string request = start_request_text(order.start.command);
  const AskedStart asked{key.write.row.numbers + 1, order.start.command.run, static_cast<std::int64_t>(request.size()),
                         order.is_named};
  const StartDecision decision = ask_start(key.state, order.policy, key.seen, asked);
  const StartOutcome outcome{.standing = decision.standing, .run = decision.run, .existed = decision.existed};
  if (decision.existed || decision.standing == StartStanding::skipped) return outcome;
  ++key.write.row.numbers;
  if (decision.drops) {
    key.write.removed.push_back({*decision.drops, *decision.drops});
    std::erase_if(key.write.added, [&](const WaitingStart& start) { return start.number == *decision.drops; });
  }
  key.write.added.push_back({asked.number, decision.run, key.seen.now_us, order.start.actor, std::move(request)});
  return outcome;
}

std::vector<StartKeyWrite> KeyedStarter::written(std::vector<InHand> keys, TimeUs now_us) {
  std::vector<StartKeyWrite> writes;
  for (InHand& key : keys) {
    key.write.row.state = canonical(keyed_starts_json(key.state));
    key.write.row.due_at = next_due_at(key.state, now_us);
    key.write.is_removed = is_idle(key.state);
    writes.push_back(std::move(key.write));
  }
  return writes;
}

std::vector<StartOutcome> KeyedStarter::ask(const std::vector<Order>& orders) {
  const auto places = places_by_key(orders, [](const Order& order) { return order.of; });
  std::vector<StartOutcome> outcomes(orders.size());
  Doings doings;
  store_.starts().decide_named(keys_in(places), [&](TimeUs now_us, const std::vector<StartKeyRow>& rows) {
    doings = {};
    std::vector<InHand> found = in_hand(now_us, rows);
    for (InHand& key : found) {
      const StartKey& of = key.write.row.of;
      const std::size_t before = key.state.starting.size();
      for (const std::size_t place : places.at(of)) outcomes[place] = ask_one(key, orders[place]);
      decide(key, doings);
      for (std::size_t n = before; n < key.state.starting.size(); ++n)
        doings.begins.emplace_back(of, key.state.starting[n]);
    }
    return written(std::move(found), now_us);
  });
  std::map<RunId, Status> done;
  for (auto& [run, status] : carry_out(doings)) done.emplace(run, std::move(status));
  for (StartOutcome& outcome : outcomes)
    if (const auto begun = done.find(outcome.run); begun != done.end() && outcome.standing != StartStanding::skipped)
      outcome.status = begun->second;
  return outcomes;
}

std::size_t KeyedStarter::pass(int portion) {
  Doings doings;
  const std::size_t due = store_.starts().decide_due(portion, [&](TimeUs now_us, const std::vector<StartKeyRow>& rows) {
    doings = {};
    std::vector<InHand> found = in_hand(now_us, rows);
    for (InHand& key : found) {
      const std::size_t before = key.state.starting.size();
      for (StartGroup& late : unconfirmed_starts(key.state, now_us))
        doings.begins.emplace_back(key.write.row.of, std::move(late));
      decide(key, doings);
      for (std::size_t n = before; n < key.state.starting.size(); ++n)
        doings.begins.emplace_back(key.write.row.of, key.state.starting[n]);
    }
    return written(std::move(found), now_us);
  });
  carry_out(doings);
  return due;
}

// --- carrying out
// -----------------------------------------------------------------------------------------------------

// A group without starts is of a run that another process was about to begin: it has, or it never will.
std::vector<std::pair<RunId, Status>> KeyedStarter::carry_out(const Doings& doings) {
  if (!doings.cancels.empty()) hands_.cancel(doings.cancels, "a newer start has its key");
  std::vector<Status> done(doings.begins.size(), Status(Done{}));
  std::vector<OrderedStart> starts;
  std::vector<std::size_t> places;
  for (std::size_t n = 0; n < doings.begins.size(); ++n) {
    const auto& [of, group] = doings.begins[n];
    std::vector<WaitingStart> kept;
    if (group.last > 0) kept = store_.starts().starts(of, group.first, group.last);
    std::erase_if(kept, [&run = group.run](const WaitingStart& start) { return start.refusal || start.run != run; });
    if (kept.empty()) {
      if (!store_.run(group.run)) done[n] = Error{Code::not_found, "Expected a run, but it never began."};
      continue;
    }
    starts.push_back(is_batch(group) ? joined_starts(of, kept) : ordered(of, kept.back()));
    places.push_back(n);
  }
  const std::vector<Status> begun = starts.empty() ? std::vector<Status>() : hands_.begin(std::move(starts));
  for (std::size_t n = 0; n < begun.size(); ++n) done[places[n]] = begun[n];
  confirm(doings.begins, done);
  std::vector<std::pair<RunId, Status>> all;
  for (std::size_t n = 0; n < done.size(); ++n) all.emplace_back(doings.begins[n].second.run, done[n]);
  return all;
}

void KeyedStarter::confirm(const std::vector<std::pair<StartKey, StartGroup>>& begins,
                           const std::vector<Status>& done) {
  if (begins.empty()) return;
  const auto places = places_by_key(begins, [](const auto& one) { return one.first; });
  store_.starts().decide_named(keys_in(places), [&](TimeUs now_us, const std::vector<StartKeyRow>& rows) {
    std::vector<InHand> found = in_hand(now_us, rows);
    for (InHand& key : found)
      for (const std::size_t n : places.at(key.write.row.of)) {
        const StartGroup& group = begins[n].second;
        const bool has_begun = done[n].ok();
        if (!confirm_start(key.state, key.seen, group)) continue;
        if (has_begun)
          key.write.removed.push_back({group.first, group.last});
        else
          key.write.refused.emplace_back(StartNumbers{group.first, group.last}, done[n].error().message);
      }
    return written(std::move(found), now_us);
  });
}

Status KeyedStarter::withdraw(const RunId& run) {
  const std::optional<FoundStart> found = store_.starts().start_of_run(run);
  if (!found) return no_such_run(to_string(run));
  Status withdrawn = no_such_run(to_string(run));
  store_.starts().decide_named({found->of}, [&](TimeUs now_us, const std::vector<StartKeyRow>& rows) {
    std::vector<InHand> keys = in_hand(now_us, rows);
    InHand& key = keys.front();
    const std::optional<FoundStart> kept = store_.starts().start_of_run(run);  // under the key's lock
    const bool waits = kept && kept->of == found->of && !kept->start.refusal && !is_starting(key.state, run);
    withdrawn = waits ? Status(Done{}) : Status(no_such_run(to_string(run)));
    if (waits) {
      const bool is_group = key.state.group && key.state.group->run == run;
      const std::int64_t last = kept->start.number;
      key.write.removed.push_back({is_group ? key.state.group->first : last, last});
      withdraw_start(key.state, run);
    }
    return written(std::move(keys), now_us);
  });
  return withdrawn;
}

// --- runs that others begin
// -------------------------------------------------------------------------------------------

Status KeyedStarter::take(const StartKey& of, const RunId& run) {
  Status taken = Done{};
  store_.starts().decide_named({of}, [&](TimeUs now_us, const std::vector<StartKeyRow>& rows) {
    std::vector<InHand> found = in_hand(now_us, rows);
    InHand& key = found.front();
    taken = Done{};
    if (!take_key(key.state, key.seen, run))
      taken = Error{Code::conflict, "Expected no open run of graph " + of.graph +
                                        (of.key.empty() ? "" : " with the key " + excerpt(Json(of.key), 60)) +
                                        " (singleton), but run " + to_string(*key.state.holder) + " has not ended."};
    return written(std::move(found), now_us);
  });
  return taken;
}

void KeyedStarter::release(const StartKey& of, const RunId& run) {
  store_.starts().decide_named({of}, [&](TimeUs now_us, const std::vector<StartKeyRow>& rows) {
    std::vector<InHand> found = in_hand(now_us, rows);
    release_key(found.front().state, found.front().seen, run);
    return written(std::move(found), now_us);
  });
}

}  // namespace cairn

#include "storage/feed/feed.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <thread>

#include "engine/json.hpp"
#include "storage/clock.hpp"
#include "storage/feed/shard_reader.hpp"

namespace cairn {
namespace {

constexpr int connections_max = 2;
constexpr std::int64_t at_work_ms = 30'000;
constexpr int place_moves_max = 20;  // of one confirm, while others move the same places
constexpr std::chrono::seconds writers_wait{60};
constexpr TimeUs adding_us_max = 180'000'000;  // one that has no places by then was left
constexpr std::chrono::milliseconds writers_pause{200};
constexpr auto consumer_columns =
    std::to_array<std::string_view>({"name", "id", "graph", "tags", "types", "created_at", "created_by"});
constexpr auto place_columns =
    std::to_array<std::string_view>({"shard", "position", "skip", "history_run", "history_seq"});
constexpr auto standing_columns =
    std::to_array<std::string_view>({"consumer", "shard", "position", "moved_at", "reads_history", "oldest"});
constexpr auto waiting_columns = std::to_array<std::string_view>({"shard", "last", "waiting", "oldest"});
constexpr auto trimmed_columns = std::to_array<std::string_view>({"shard", "last", "found"});

std::string new_consumer_id() {
  std::array<std::uint8_t, 6> bytes{};
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return hex(bytes);
}

FeedConsumer read_consumer(const PgResult& rows, int row) {
  FeedConsumer consumer;
  consumer.name = rows.text(row, 0);
  consumer.id = rows.text(row, 1);
  if (!rows.is_null(row, 2)) consumer.filter.graph = rows.text(row, 2);
  consumer.filter.tags = parse_stored(rows.text(row, 3)).get<Tags>();
  consumer.filter.types = rows.texts(row, 4);
  consumer.created_at = rows.int8(row, 5);
  consumer.created_by = rows.text(row, 6);
  return consumer;
}

Error of_lost_history(const std::string& name) {
  return {Code::conflict,
          "Expected a cursor of the history that is there, but this one is of another: the database has gone back "
          "since it was given. Without a cursor, consumer " +
              name + " goes on from its place, which went back with it."};
}

Error behind_removed(const std::string& name) {
  return {Code::conflict,
          "Expected the rows of the feed from this cursor on, but they were removed when all consumers had "
          "confirmed them: remove consumer " +
              name + " and add it again, from the history."};
}

bool has_type(const FeedFilter& filter, const LoggedEvent& event) {
  if (filter.types.empty()) return true;
  const std::optional<std::string_view> name = event_type_name(event.row.type);
  return name && std::find(filter.types.begin(), filter.types.end(), *name) != filter.types.end();
}

bool has_tags(const FeedFilter& filter, const LoggedEvent& event) {
  if (filter.tags.empty()) return true;
  if (event.tags.empty() || event.tags == "{}") return false;
  const Json tags = parse_stored(event.tags);
  return std::all_of(filter.tags.begin(), filter.tags.end(), [&tags](const auto& wanted) {
    const auto found = tags.find(wanted.first);
    return found != tags.end() && *found == wanted.second;
  });
}

bool passes(const FeedFilter& filter, const LoggedEvent& event) {
  return (filter.graph.empty() || filter.graph == event.graph) && has_type(filter, event) && has_tags(filter, event);
}

Error moved_by_others(const std::string& name) {
  return {Code::conflict, "Expected the place of consumer " + name +
                              " to stay while it is confirmed, but other readers move it all the time."};
}

Error is_further(const std::string& name) {
  return {Code::conflict, "Expected a cursor from the place of consumer " + name +
                              " on, but another reader of this name has confirmed more: each reader needs a consumer "
                              "of its own. `cairn feed confirm " +
                              name + " CURSOR --back` moves the place back all the same."};
}

bool goes_back(const FeedCursor& from, const FeedCursor& to) {
  for (std::size_t shard = 0; shard < from.places.size(); ++shard)
    if (is_before(to.places[shard], from.places[shard])) return true;
  return false;
}

// The places of some shards, as the statements take them.
class PlaceArrays {
 public:
  void add(const FeedPlace& place) {
    positions_.add(place.position);
    skips_.add(place.skip);
    runs_.add(place.history ? std::optional(place.history->run) : std::nullopt);
    seqs_.add(place.history ? std::optional(place.history->seq) : std::nullopt);
  }
  void move_into(PgParameters& parameters) {
    parameters.add(std::move(positions_)).add(std::move(skips_)).add(std::move(runs_)).add(std::move(seqs_));
  }

 private:
  PgArray positions_{PgType::int8}, skips_{PgType::int8}, runs_{PgType::uuid}, seqs_{PgType::int8};
};

PgArray numbers_of(std::span<const Shard> shards) {
  PgArray numbers(PgType::int4);
  for (const Shard shard : shards) numbers.add(shard);
  return numbers;
}

std::vector<Shard> in_both(const std::vector<Shard>& one, const std::vector<Shard>& other) {
  std::vector<Shard> both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
  return both;
}

std::vector<Shard> changed_between(const FeedCursor& before, const FeedCursor& after) {
  std::vector<Shard> changed;
  for (std::size_t shard = 0; shard < before.places.size(); ++shard)
    if (!are_same(before.places[shard], after.places[shard])) changed.push_back(static_cast<Shard>(shard));
  return changed;
}

}  // namespace

Feed::Feed(std::string dsn, std::int32_t shards, const std::string& identity, FeedLimits limits)
    : shards_(shards),
      limits_(limits),
      placements_(PgConnectOptions{std::move(dsn), "cairn feed"}, connections_max, limits.patience_ms) {
  placements_.expect_identity(identity);
}

// --- consumers -------------------------------------------------------------------------------------------------------

Status Feed::refuse_unfed() {
  const PgResult rows = placements_.whole().query_widely("unfed_sessions", PgParameters().add(at_work_ms));
  if (rows.rows() == 0) return Done{};
  return Error{Code::conflict,
               "Expected no worker of an earlier release, whose commits the feed would miss, but session " +
                   std::to_string(rows.int8(0, 0)) + " on " + std::string(rows.text(0, 1)) + " is at work, and " +
                   std::to_string(rows.rows() - 1) + " more: end them first."};
}

// Never holds other writers up for longer than the lock's limit, however long one of them takes.
Status Feed::wait_for_writers() {
  const auto until = std::chrono::steady_clock::now() + writers_wait;
  for (const Shard shard : placements_.one_shard_of_each()) {
    for (;;) {
      try {
        placements_.run(shard, [](PgConnection& connection) {
          connection.execute("BEGIN; SET LOCAL lock_timeout = '500ms'");
          connection.query(statement("stop_writers"));
          connection.execute("COMMIT");
        });
        break;
      } catch (const PostgresError& failure) {
        if (failure.sqlstate() != lock_not_available) throw;
        if (std::chrono::steady_clock::now() > until)
          return Error{Code::unavailable,
                       "Expected the commits under way to end within a minute, but one of them goes on."};
        std::this_thread::sleep_for(writers_pause);
      }
    }
  }
  return Done{};
}

Status Feed::add(const FeedConsumer& consumer, FeedStart from) {
  if (const Status unfed = refuse_unfed(); !unfed) return unfed;
  FeedConsumer made = consumer;
  made.id = new_consumer_id();
  if (const Status put = put_consumer(made); !put) return put;
  try {
    const Status begun = begin(made, from);
    if (!begun) undo_add(made);
    return begun;
  } catch (const std::exception&) {
    try {
      undo_add(made);
    } catch (const std::exception& failure) {  // a later call takes it over
      spdlog::warn("Consumer {} of the feed has no places and stays: {}", made.name, failure.what());
    }
    throw;
  }
}

Status Feed::put_consumer(const FeedConsumer& consumer) {
  PgArray types(PgType::text);
  for (const std::string& type : consumer.filter.types) types.add(type);
  const TimeUs now_us = placements_.whole().query("database_time").int8(0, 0);
  PgParameters row;
  row.add(consumer.name).add(consumer.id);
  consumer.filter.graph.empty() ? row.add_null(PgType::text) : row.add(consumer.filter.graph);
  row.add(canonical(Json(consumer.filter.tags))).add(std::move(types)).add(now_us).add(consumer.created_by);
  const auto put = [&] { return placements_.whole().query("add_feed_consumer", row).rows() > 0; };
  if (put()) return Done{};
  const Result<FeedConsumer> there = this->consumer(consumer.name);
  if (there && there->id == consumer.id) return Done{};  // its own, whose answer was lost
  const bool is_left = there && now_us - there->created_at > adding_us_max && !place_of(*there);
  if (is_left) undo_add(*there);
  if ((is_left || !there) && put()) return Done{};
  return Error{Code::conflict,
               "Expected a new name for a consumer of the feed, but " + consumer.name + " is one already."};
}

Status Feed::begin(const FeedConsumer& consumer, FeedStart from) {
  if (const Status waited = wait_for_writers(); !waited) return waited;
  begin_at_end(consumer, from);
  const Result<FeedConsumer> kept = this->consumer(consumer.name);
  if (kept && kept->id == consumer.id) return Done{};
  remove_places(consumer.name);
  return Error{Code::conflict,
               "Expected to add consumer " + consumer.name + " of the feed, but it was removed meanwhile."};
}

// Unless it was removed meanwhile, and perhaps added again.
void Feed::undo_add(const FeedConsumer& consumer) {
  const Result<FeedConsumer> there = this->consumer(consumer.name);
  if (!there || there->id != consumer.id) return;
  const Status removed = remove(consumer.name);
  if (!removed) CHECK(removed.error().code == Code::not_found);
}

// Until it has a place, others who confirm have rows removed that come after it. Behind one no more rows are removed;
// so it moves to the end as it is then, where nothing is missing.
void Feed::begin_at_end(const FeedConsumer& consumer, FeedStart from) {
  number_all();
  FeedCursor place{consumer.id, std::vector<FeedPlace>(static_cast<std::size_t>(shards_))};
  const std::vector<FeedEnd> first = ends(place);
  for (std::size_t shard = 0; shard < first.size(); ++shard) place.places[shard].position = first[shard].position;
  if (from == FeedStart::history)
    for (const Shard shard : shards_with_history())
      place.places[static_cast<std::size_t>(shard)].history = HistoryPlace{};
  put_places(consumer, place.places);
  number_all();
  FeedCursor after = place;
  const std::vector<FeedEnd> last = ends(after);
  for (std::size_t shard = 0; shard < last.size(); ++shard) after.places[shard].position = last[shard].position;
  if (from == FeedStart::history)  // also of a shard whose first events came meanwhile
    for (const Shard shard : shards_with_history())
      after.places[static_cast<std::size_t>(shard)].history = HistoryPlace{};
  move_places(consumer, {place, after, changed_between(place, after)});
}

Status Feed::remove(const std::string& name) {
  const bool was_there = placements_.whole().query("remove_feed_consumer", PgParameters().add(name)).rows() > 0;
  remove_places(name);  // there may be some of one that was removed while it was added
  if (!was_there) return no_such_consumer(name);
  return Done{};
}

// A portion that finds fewer rows than it may was the last: not more are removed than others have confirmed meanwhile.
void Feed::remove_places(const std::string& name) {
  const std::vector<ShardSet> together = reached_together();
  for (const ShardSet& shards : together)
    placements_.query(shards.front(), "remove_feed_places", PgParameters().add(name));
  std::vector<std::int64_t> begins(static_cast<std::size_t>(shards_));
  for (const ShardSet& shards : together)
    while (trim_portion(shards, begins) >= limits_.trimmed_at_once) {
    }
}

Error no_such_consumer(const std::string& name) {
  return {Code::not_found, "Expected a consumer of the feed, but none is named " + name + ": see `cairn feed list`."};
}

Result<FeedConsumer> Feed::consumer(const std::string& name) {
  const PgResult rows = placements_.whole().query("feed_consumer", PgParameters().add(name));
  rows.expect_columns(consumer_columns);
  if (rows.rows() == 0) return no_such_consumer(name);
  return read_consumer(rows, 0);
}

std::vector<FeedStanding> Feed::consumers() {
  const PgResult rows = placements_.whole().query_widely("feed_consumers");
  rows.expect_columns(consumer_columns);
  std::vector<FeedStanding> found;
  std::map<std::string, std::size_t> by_name;
  for (int row = 0; row < rows.rows(); ++row) {
    found.push_back({read_consumer(rows, row)});
    by_name.emplace(found.back().consumer.name, found.size() - 1);
  }
  if (found.empty()) return found;
  std::vector<std::int32_t> places(found.size());
  const std::vector<PgResult> standings =
      placements_.query_each("feed_standing", PgParameters().add(numbers_of(all_shards())));
  const std::vector<WaitingRows> shards = waiting_rows();
  for (const PgResult& part : standings) {
    part.expect_columns(standing_columns);
    for (int row = 0; row < part.rows(); ++row) {
      const auto at = by_name.find(std::string(part.text(row, 0)));
      if (at == by_name.end()) continue;
      add_place(found[at->second], part, row, shards.at(static_cast<std::size_t>(part.int4(row, 1))));
      ++places[at->second];
    }
  }
  for (std::size_t at = 0; at < found.size(); ++at) {
    found[at].has_places = places[at] == shards_;
    if (!found[at].has_places) found[at].oldest = found[at].consumer.created_at;
  }
  return found;
}

void Feed::add_place(FeedStanding& standing, const PgResult& places, int row, const WaitingRows& shard) const {
  standing.moved_at = std::max(standing.moved_at, places.int8(row, 3));
  standing.reads_history = standing.reads_history || places.boolean(row, 4);
  standing.behind += std::max<std::int64_t>(shard.last - places.int8(row, 2), 0) + shard.count;
  standing.is_more = standing.is_more || shard.count >= limits_.counted_at_most;
  std::optional<TimeUs> oldest = shard.oldest;
  if (!places.is_null(row, 5)) oldest = places.int8(row, 5);
  if (oldest) standing.oldest = std::min(standing.oldest.value_or(never_us), *oldest);
}

// By shard; asked once for all consumers.
std::vector<Feed::WaitingRows> Feed::waiting_rows() {
  std::vector<WaitingRows> found(static_cast<std::size_t>(shards_));
  const PgParameters parameters = PgParameters().add(numbers_of(all_shards())).add(limits_.counted_at_most);
  for (const PgResult& part : placements_.query_each("feed_waiting", parameters)) {
    part.expect_columns(waiting_columns);
    for (int row = 0; row < part.rows(); ++row) {
      WaitingRows& shard = found.at(static_cast<std::size_t>(part.int4(row, 0)));
      if (!part.is_null(row, 1)) shard.last = part.int8(row, 1);
      shard.count += part.int8(row, 2);
      if (!part.is_null(row, 3)) shard.oldest = part.int8(row, 3);
    }
  }
  return found;
}

// --- places ----------------------------------------------------------------------------------------------------------

Feed::ShardSet Feed::all_shards() const {
  ShardSet all(static_cast<std::size_t>(shards_));
  std::iota(all.begin(), all.end(), Shard{0});
  return all;
}

// The shards whose rows one statement reaches.
std::vector<Feed::ShardSet> Feed::reached_together() {
  const ShardSet all = all_shards();
  if (!placements_.are_distributed()) return {all};
  std::vector<ShardSet> alone;
  for (const Shard shard : all) alone.push_back({shard});
  return alone;
}

void Feed::put_places(const FeedConsumer& consumer, const std::vector<FeedPlace>& places) {
  const TimeUs now_us = placements_.whole().query("database_time").int8(0, 0);
  for (const ShardSet& shards : reached_together()) {
    PlaceArrays arrays;
    for (const Shard shard : shards) arrays.add(places[static_cast<std::size_t>(shard)]);
    PgParameters parameters;
    parameters.add(consumer.name).add(now_us).add(numbers_of(shards));
    arrays.move_into(parameters);
    placements_.query(shards.front(), "put_feed_places", parameters.add(consumer.id));
  }
}

// False: some of them were moved by others since they were read, or the database has gone back since the marks were.
bool Feed::move_places(const FeedConsumer& consumer, const PlaceMove& move) {
  const TimeUs now_us = placements_.whole().query("database_time").int8(0, 0);
  std::size_t moved = 0;
  for (const ShardSet& together : reached_together()) {
    const ShardSet shards = in_both(together, move.shards);
    if (shards.empty()) continue;
    PlaceArrays to, from;
    PgArray marks(PgType::text);
    for (const Shard shard : shards) {
      const FeedPlace& place = move.to.places[static_cast<std::size_t>(shard)];
      to.add(place);
      place.mark.empty() ? marks.add_null() : marks.add(place.mark);
      from.add(move.from.places[static_cast<std::size_t>(shard)]);
    }
    PgParameters parameters;
    parameters.add(consumer.name).add(now_us).add(numbers_of(shards));
    to.move_into(parameters);
    from.move_into(parameters);
    parameters.add(consumer.id).add(std::move(marks));
    moved += static_cast<std::size_t>(placements_.query(shards.front(), "move_feed_places", parameters).rows());
  }
  return moved == move.shards.size();
}

Result<FeedCursor> Feed::place_of(const FeedConsumer& consumer) {
  std::int32_t found = 0;
  FeedCursor cursor{consumer.id, std::vector<FeedPlace>(static_cast<std::size_t>(shards_))};
  for (const PgResult& rows : placements_.query_each("feed_places", PgParameters().add(consumer.name))) {
    rows.expect_columns(place_columns);
    found += rows.rows();
    for (int row = 0; row < rows.rows(); ++row) {
      FeedPlace& place = cursor.places.at(static_cast<std::size_t>(rows.int4(row, 0)));
      place.position = rows.int8(row, 1);
      place.skip = rows.int8(row, 2);
      if (!rows.is_null(row, 3)) place.history = HistoryPlace{rows.uuid(row, 3), rows.int8(row, 4)};
    }
  }
  if (found == shards_) return cursor;
  return Error{Code::conflict, "Expected a place of consumer " + consumer.name + " in each of " +
                                   std::to_string(shards_) + " shards, but found " + std::to_string(found) +
                                   ": it was not added to the end; remove it and add it again."};
}

Result<FeedCursor> Feed::cursor_of(const FeedConsumer& consumer, const std::string& text) {
  if (text.empty()) return place_of(consumer);
  Result<FeedCursor> cursor = parse_feed_cursor(text, shards_);
  if (!cursor || cursor->consumer == consumer.id) return cursor;
  return Error{Code::invalid, "Expected a cursor of consumer " + consumer.name +
                                  ", but it is of another one, or of one of that name before."};
}

// The newest position of each shard, for a cursor that is of this history; those of its marks that it lacks are noted.
// A release before marks also removes the row at the consumer's own place, which needs no proof.
Result<std::vector<std::int64_t>> Feed::prove(const FeedConsumer& consumer, FeedCursor& cursor) {
  const std::vector<FeedEnd> found = ends(cursor);
  std::vector<std::int64_t> last;
  ShardSet unproven;
  for (std::size_t shard = 0; shard < found.size(); ++shard) {
    FeedPlace& place = cursor.places[shard];
    const FeedEnd& end = found[shard];
    last.push_back(end.position);
    if (place.position > end.position) return of_lost_history(consumer.name);
    if (place.mark.empty()) place.mark = end.mark;
    if (place.mark == end.mark) continue;
    if (!end.mark.empty() || marked_position(place) > end.position) return of_lost_history(consumer.name);
    unproven.push_back(static_cast<Shard>(shard));
  }
  if (unproven.empty()) return last;
  const Result<FeedCursor> own = place_of(consumer);
  if (!own) return own.error();
  for (const Shard shard : unproven) {
    FeedPlace& place = cursor.places[static_cast<std::size_t>(shard)];
    if (!are_same(place, own->places[static_cast<std::size_t>(shard)])) return behind_removed(consumer.name);
    place.mark.clear();
  }
  return last;
}

Status Feed::confirm(const std::string& name, const std::string& text, FeedMove move) {
  const Result<FeedConsumer> found = consumer(name);
  if (!found) return found.error();
  const Result<FeedCursor> wanted = cursor_of(*found, text);
  if (!wanted) return wanted.error();
  for (int moves = 0; moves < place_moves_max; ++moves) {
    const Result<FeedCursor> before = place_of(*found);
    if (!before) return before.error();
    if (move == FeedMove::on && goes_back(*before, *wanted)) return is_further(name);
    FeedCursor cursor = *wanted;
    if (const auto last = prove(*found, cursor); !last) return last.error();
    const ShardSet changed = changed_between(*before, cursor);
    if (changed.empty()) return Done{};
    for (const Shard shard : changed) {
      const std::int64_t position = cursor.places[static_cast<std::size_t>(shard)].position;
      const bool is_earlier = position < before->places[static_cast<std::size_t>(shard)].position;
      if (is_earlier && !has_all_after(placements_, shard, position)) return behind_removed(name);
    }
    if (!move_places(*found, {*before, cursor, changed})) continue;
    trim_some(changed);
    return Done{};
  }
  return moved_by_others(name);
}

// The place has moved: what is left here goes with a later confirm.
void Feed::trim_some(const ShardSet& changed) {
  const auto stay = [](const std::exception& failure) {
    spdlog::warn("Rows of the feed that all consumers have stay for now: {}", failure.what());
  };
  const TimeUs until_us = steady_us() + limits_.trimmed_for_us;
  try {
    std::vector<std::int64_t> begins(static_cast<std::size_t>(shards_));
    for (const ShardSet& together : reached_together()) {
      const ShardSet shards = in_both(together, changed);
      while (!shards.empty() && trim_portion(shards, begins) >= limits_.trimmed_at_once && steady_us() < until_us) {
      }
    }
  } catch (const StoreUnavailable& failure) {
    stay(failure);
  } catch (const PostgresError& failure) {
    stay(failure);
  }
}

// A portion of shards that one statement reaches; `begins`, by shard: none is left before it. Returns how many it
// found.
std::int64_t Feed::trim_portion(const ShardSet& shards, std::vector<std::int64_t>& begins) {
  PgArray from(PgType::int8);
  for (const Shard shard : shards) from.add(begins[static_cast<std::size_t>(shard)]);
  const PgResult rows =
      placements_.query(shards.front(), "trim_feed",
                        PgParameters().add(numbers_of(shards)).add(std::move(from)).add(limits_.trimmed_at_once));
  rows.expect_columns(trimmed_columns);
  std::int64_t found = 0;
  for (int row = 0; row < rows.rows(); ++row) {
    begins.at(static_cast<std::size_t>(rows.int4(row, 0))) = rows.int8(row, 1) + 1;
    found += rows.int8(row, 2);
  }
  return found;
}

Feed::ShardSet Feed::shards_with_history() {
  ShardSet found;
  for (const ShardSet& shards : reached_together()) {
    const PgResult rows = placements_.query(shards.front(), "feed_began", PgParameters().add(numbers_of(shards)));
    for (int row = 0; row < rows.rows(); ++row)
      if (rows.boolean(row, 1)) found.push_back(rows.int4(row, 0));
  }
  return found;
}

// --- pages -----------------------------------------------------------------------------------------------------------

void Feed::number_all() {
  for (const Shard shard : placements_.one_shard_of_each())
    while (number_portion(shard)) {
    }
}

// The reader of a page waits for one portion of each node, however many rows wait. Returns whether more may wait.
bool Feed::number_some() {
  bool has_more = false;
  for (const Shard shard : placements_.one_shard_of_each()) has_more = number_portion(shard) || has_more;
  return has_more;
}

// A portion of the rows on the node of the shard. Returns whether more may wait.
bool Feed::number_portion(Shard shard) {
  return placements_.run(shard, [this](PgConnection& connection) {
    connection.begin_pipeline();
    connection.send(statement("lock_feed_numbers"));
    connection.send(statement("number_feed"), PgParameters().add(limits_.numbered_at_once));
    connection.sync();
    connection.receive();
    const std::int64_t count = connection.receive().int8(0, 0);
    connection.finish();
    return count >= limits_.numbered_at_once;
  });
}

std::vector<Feed::FeedEnd> Feed::ends(const FeedCursor& cursor) {
  std::vector<FeedEnd> found(static_cast<std::size_t>(shards_));
  for (const ShardSet& shards : reached_together()) {
    PgArray positions(PgType::int8);
    for (const Shard shard : shards) positions.add(marked_position(cursor.places[static_cast<std::size_t>(shard)]));
    const PgResult rows = placements_.query(shards.front(), "feed_ends",
                                            PgParameters().add(numbers_of(shards)).add(std::move(positions)));
    for (int row = 0; row < rows.rows(); ++row) {
      FeedEnd& end = found[static_cast<std::size_t>(rows.int4(row, 0))];
      end.position = rows.int8(row, 1);
      if (!rows.is_null(row, 2)) end.mark = rows.text(row, 2);
    }
  }
  return found;
}

// Each shard that has more gets the same share of the page; another one begins each time, so that none waits for ever
// while a page holds fewer events than there are shards.
Result<FeedPage> Feed::page(const std::string& name, const std::string& text, std::int32_t limit) {
  CHECK(limit >= 1);
  const Result<FeedConsumer> found = consumer(name);
  if (!found) return found.error();
  Result<FeedCursor> cursor = cursor_of(*found, text);
  if (!cursor) return cursor.error();
  const bool has_unnumbered = number_some();
  const Result<std::vector<std::int64_t>> proven = prove(*found, *cursor);
  if (!proven) return proven.error();
  const std::vector<std::int64_t>& last = *proven;
  ShardSet waiting;
  std::uint64_t read = 0;  // a cursor may hold any numbers
  for (std::size_t shard = 0; shard < last.size(); ++shard) {
    const FeedPlace& place = cursor->places[shard];
    if (place.history || place.position < last[shard]) waiting.push_back(static_cast<Shard>(shard));
    read += static_cast<std::uint64_t>(place.position) + static_cast<std::uint64_t>(place.skip) +
            static_cast<std::uint64_t>(place.history ? place.history->seq : 0);
  }
  FeedPage page{{}, *std::move(cursor), waiting.empty() && !has_unnumbered, has_unnumbered};
  if (waiting.empty()) return page;
  std::rotate(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(read % waiting.size()), waiting.end());
  const auto share = std::max<std::int32_t>(limit / static_cast<std::int32_t>(waiting.size()), 1);
  const UseEvent use = [&](LoggedEvent event) {
    if (passes(found->filter, event))
      page.events.push_back({event.run, std::string(event.graph), std::move(event.row)});
  };
  for (std::size_t at = 0; at < waiting.size() && at < static_cast<std::size_t>(limit); ++at) {
    FeedPlace& place = page.cursor.places[static_cast<std::size_t>(waiting[at])];
    const FeedPart part = read_feed(placements_, waiting[at], share, place, use);
    if (part.reading == FeedReading::removed) return behind_removed(name);
    if (part.reading == FeedReading::lost) return of_lost_history(name);
    page.missing += part.missing;
  }
  for (std::size_t shard = 0; shard < last.size(); ++shard) {
    const FeedPlace& place = page.cursor.places[shard];
    page.has_more = page.has_more || place.history || place.position < last[shard];
  }
  return page;
}

}  // namespace cairn

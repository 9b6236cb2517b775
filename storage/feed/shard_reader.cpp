#include "storage/feed/shard_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

constexpr std::int64_t page_bytes = 4 << 20;
constexpr auto batch_columns = std::to_array<std::string_view>({"position", "runs", "firsts", "lasts", "mark"});

// Events of one run that one commit wrote, or what is left of them.
struct Slice {
  RunId run;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t position = 0;  // of the commit
  std::int64_t skip = 0;      // events of the commit before these
  bool ends_commit = false;

  std::int64_t size() const { return last - first + 1; }
};

std::int64_t number_in(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(number);
}

RunId id_in(std::string_view bytes) {
  RunId id;
  CHECK(bytes.size() == id.bytes.size());
  std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

// The slices of commits, up to `limit` events. The place moves over commits that have none left.
class Slices {
 public:
  Slices(FeedPlace& place, std::int64_t limit) : place_(place), left_(limit) {}

  void add_commit(const PgResult& rows, int row) {
    const std::int64_t position = rows.int8(row, 0);
    const std::vector<std::string> runs = rows.texts(row, 1), firsts = rows.texts(row, 2), lasts = rows.texts(row, 3);
    CHECK(runs.size() == firsts.size() && runs.size() == lasts.size());
    const std::int64_t read = position == place_.position + 1 ? place_.skip : 0;
    std::int64_t before = 0;
    std::size_t at = 0;
    bool has_more = false;
    for (; at < runs.size() && left_ > 0; ++at) {
      const std::int64_t first = number_in(firsts[at]);
      const std::int64_t count = std::max<std::int64_t>(number_in(lasts[at]) - first + 1, 0);
      if (before + count > read) {
        add({id_in(runs[at]), first, first + count - 1, position, before}, std::max<std::int64_t>(read - before, 0));
        has_more = true;
      }
      before += count;
    }
    if (!has_more && slices_.empty()) place_.position = position, place_.skip = 0;
    if (has_more)
      slices_.back().ends_commit = at == runs.size() && slices_.back().skip + slices_.back().size() == before;
  }

  bool is_full() const { return left_ <= 0; }
  const std::vector<Slice>& all() const { return slices_; }

 private:
  void add(Slice slice, std::int64_t read) {
    slice.first += read;
    slice.skip += read;
    slice.last = std::min(slice.last, slice.first + left_ - 1);
    left_ -= slice.size();
    slices_.push_back(slice);
  }

  FeedPlace& place_;
  std::int64_t left_;
  std::vector<Slice> slices_;
};

PgResult events_of(Placements& placements, Shard shard, const std::vector<Slice>& slices) {
  PgArray runs(PgType::uuid), firsts(PgType::int8), lasts(PgType::int8);
  for (const Slice& slice : slices) {
    runs.add(slice.run);
    firsts.add(slice.first);
    lasts.add(slice.last);
  }
  return placements.query(
      shard, "feed_events",
      PgParameters().add(shard).add(std::move(runs)).add(std::move(firsts)).add(std::move(lasts)).add(page_bytes));
}

// Gives the events of a result; the columns after those of events are run_id, graph, tags and found.
void use_events(const PgResult& rows, const UseEvent& use) {
  rows.expect_columns(event_columns);
  const int run = rows.column("run_id"), graph = rows.column("graph"), tags = rows.column("tags");
  for (int row = 0; row < rows.rows(); ++row) {
    const bool has_run = !rows.is_null(row, graph);
    use({rows.uuid(row, run), has_run ? rows.text(row, graph) : "", has_run ? rows.text(row, tags) : "",
         read_event(rows, row)});
  }
}

bool is_cut(const PgResult& rows) { return rows.rows() > 0 && rows.int8(0, rows.column("found")) > rows.rows(); }

// The place after the last event of a result that was cut, which is somewhere in the slices.
void move_into(const PgResult& rows, const std::vector<Slice>& slices, FeedPlace& place) {
  const int last = rows.rows() - 1;
  const Slice& slice = slices[place_of(rows, last, rows.column("place"), slices.size())];
  place.position = slice.position - 1;
  place.skip = slice.skip + rows.int8(last, 0) - slice.first + 1;
}

// Events of the slices, up to the last one of the result, that are not in it.
std::int64_t missing_in(const PgResult& rows, const std::vector<Slice>& slices) {
  const bool cut = is_cut(rows);
  const int last = rows.rows() - 1;
  const std::size_t end = cut ? place_of(rows, last, rows.column("place"), slices.size()) : slices.size();
  std::int64_t passed = cut ? rows.int8(last, 0) - slices[end].first + 1 : 0;
  for (std::size_t at = 0; at < end; ++at) passed += slices[at].size();
  return passed - rows.rows();
}

PgResult commits_from(Placements& placements, Shard shard, std::int64_t position, std::int32_t limit) {
  PgResult commits = placements.query(shard, "feed_batches", PgParameters().add(shard).add(position).add(limit));
  commits.expect_columns(batch_columns);
  return commits;
}

// A shard's rows are numbered without gaps.
bool begin_at(const PgResult& commits, std::int64_t position) {
  return commits.rows() == 0 || commits.int8(0, 0) == position;
}

// Whether the commits, from the row of the place's mark on, have that row. The newest row of a shard is never removed.
FeedReading prove(const PgResult& commits, const FeedPlace& place) {
  if (commits.rows() == 0) return FeedReading::lost;
  if (!begin_at(commits, marked_position(place))) return FeedReading::removed;
  return commits.text(0, 4) == place.mark ? FeedReading::done : FeedReading::lost;
}

void note_mark(const PgResult& commits, FeedPlace& place) {
  if (commits.rows() == 0) return;
  const std::int64_t row = marked_position(place) - commits.int8(0, 0);
  if (row >= 0 && row < commits.rows()) place.mark = commits.text(static_cast<int>(row), 4);
}

// Rows are read from the one that has the mark on, in one statement: between two the database may go back.
FeedPart read_commits(Placements& placements, Shard shard, std::int32_t limit, FeedPlace& place, const UseEvent& use) {
  FeedPart part;
  const bool is_marked = !place.mark.empty();
  const int read = is_marked && place.skip == 0 ? 1 : 0;
  const std::int64_t from = is_marked ? marked_position(place) : place.position + 1;
  const std::int32_t rows_max = std::min(limit, std::numeric_limits<std::int32_t>::max() - 1) + read;
  const PgResult commits = commits_from(placements, shard, from, rows_max);
  part.reading = is_marked ? prove(commits, place) : begin_at(commits, from) ? FeedReading::done : FeedReading::removed;
  if (part.reading != FeedReading::done) return part;
  Slices slices(place, limit);
  for (int row = read; row < commits.rows() && !slices.is_full(); ++row) slices.add_commit(commits, row);
  if (!slices.all().empty()) {
    const PgResult rows = events_of(placements, shard, slices.all());
    use_events(rows, use);
    part.missing = missing_in(rows, slices.all());
    if (is_cut(rows)) {
      move_into(rows, slices.all(), place);
    } else {
      const Slice& last = slices.all().back();
      place.position = last.ends_commit ? last.position : last.position - 1;
      place.skip = last.ends_commit ? 0 : last.skip + last.size();
    }
  }
  note_mark(commits, place);
  return part;
}

void read_history(Placements& placements, Shard shard, std::int32_t limit, FeedPlace& place, const UseEvent& use) {
  const PgResult rows = placements.query(
      shard, "feed_history",
      PgParameters().add(shard).add(place.history->run).add(place.history->seq).add(limit).add(page_bytes));
  use_events(rows, use);
  if (const int count = rows.rows(); count == limit || is_cut(rows))
    place.history = HistoryPlace{rows.uuid(count - 1, rows.column("run_id")), rows.int8(count - 1, 0)};
  else
    place.history.reset();
}

}  // namespace

FeedPart read_feed(Placements& placements, Shard shard, std::int32_t limit, FeedPlace& place, const UseEvent& use) {
  if (!place.history) return read_commits(placements, shard, limit, place, use);
  read_history(placements, shard, limit, place, use);
  return {};
}

bool has_all_after(Placements& placements, Shard shard, std::int64_t position) {
  return begin_at(commits_from(placements, shard, position + 1, 1), position + 1);
}

}  // namespace cairn

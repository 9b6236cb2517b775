#include "ops/audit/chain_audit.hpp"

#include <algorithm>

#include "engine/codec.hpp"
#include "storage/chain.hpp"

namespace cairn {
namespace {

constexpr std::size_t links_max = 32;  // bounds memory, and how far a moved event is searched for
constexpr std::size_t loose_max = 8;
constexpr std::int64_t gap_max = 8;  // events cut out before one that follows from nowhere

// The graph version that the chain begins with, if this is the event that names it.
std::optional<std::string> version_begun_with(const EventRow& row) {
  static const EventType started_type = event_type(RunStarted{});
  if (row.type != started_type.number) return std::nullopt;
  const Result<EventBody> body = decode_payload(row.type, row.version, row.payload);
  if (!body) return std::nullopt;
  return std::get<RunStarted>(*body).version;
}

std::string event_text(std::int64_t seq) { return "event " + std::to_string(seq); }

std::string range_text(std::int64_t first, std::int64_t last) {
  return first == last ? event_text(first) : "events " + std::to_string(first) + " to " + std::to_string(last);
}

}  // namespace

void ChainAudit::add(const EventRow& row) {
  if (const std::optional<std::string> version = version_begun_with(row))
    remember({0, chain_start(run_, *version), 0, true});
  if (row.seq < 1)
    return find(row.seq, "surplus", "Expected event 1 to be the first, but found " + event_text(row.seq) + ".");
  if (row.seq <= last_seq_) return add_late(row);
  if (follows_plainly(row)) {
    remember({row.seq, row.chain_hash, row.seq, true});
    shift_ = 0;
  } else {
    search(row);
  }
  last_seq_ = row.seq;
  last_hash_ = row.chain_hash;
}

bool ChainAudit::follows_plainly(const EventRow& row) const {
  return !links_.empty() && links_.back().seq + 1 == row.seq &&
         chain_next(links_.back().hash, shard_, run_, row) == row.chain_hash;
}

// A row after one with a higher number: impossible in a database, possible in a file.
void ChainAudit::add_late(const EventRow& row) {
  const bool is_second =
      std::any_of(links_.begin(), links_.end(), [&row](const Link& link) { return link.at == row.seq; });
  if (is_second)
    find(row.seq, "duplicated", "Expected " + event_text(row.seq) + " once, but found it a second time.");
  else
    find(row.seq, "reordered",
         "Expected " + event_text(row.seq) + " in its place, but found it behind " + event_text(last_seq_) + ".");
}

void ChainAudit::search(const EventRow& row) {
  const auto twin =
      std::find_if(links_.begin(), links_.end(), [&row](const Link& link) { return link.hash == row.chain_hash; });
  if (twin != links_.end())
    return find(row.seq, "duplicated",
                "Expected " + event_text(twin->at) + " once, but found it again as " + event_text(row.seq) + ".");
  if (const std::optional<Place> place = place_of(row)) return judge_placed(row, *place);
  const bool is_behind_gap = row.seq > last_seq_ + 1;
  if (!is_behind_gap) return keep_loose(row);
  find(last_seq_ + 1, "missing",
       "Expected " + range_text(last_seq_ + 1, row.seq - 1) + ", but found " + event_text(row.seq) + " next.");
  remember({row.seq, row.chain_hash, row.seq, true});
  shift_ = 0;
}

// The place where the event was written: the hash near it that it follows from. Before a loose event others may have
// been cut out and all numbers closed up, so that it was written under a higher number than it has.
std::optional<ChainAudit::Place> ChainAudit::place_of(EventRow row) const {
  for (std::size_t link = links_.size(); link-- > 0;) {
    const std::int64_t gaps = links_[link].is_sound ? 0 : gap_max;
    for (std::int64_t gap = 0; gap <= gaps; ++gap) {
      row.seq = links_[link].seq + 1 + gap;
      if (chain_next(links_[link].hash, shard_, run_, row) == row.chain_hash) return Place{link, row.seq};
    }
  }
  return std::nullopt;
}

void ChainAudit::judge_placed(const EventRow& row, const Place& place) {
  if (place.seq > links_[place.link].seq + 1) judge_link_with_gap(place);
  const std::int64_t before = shift_;
  shift_ = row.seq - place.seq;
  remember({place.seq, row.chain_hash, row.seq, true});
  judge_loose();
  if (shift_ == 0 || shift_ == before || is_pushed_back(row, shift_ - before)) return;
  find(row.seq, "reordered",
       "Expected " + event_text(row.seq) + ", but found the one that was written as " + event_text(place.seq) + ".");
}

void ChainAudit::judge_link_with_gap(const Place& place) {
  Link& link = links_[place.link];
  const std::int64_t gone = place.seq - 1 - link.seq;
  link.seq = place.seq - 1;
  link.is_sound = true;
  shift_ = link.at - link.seq;
  std::erase_if(loose_, [&link](const EventRow& row) { return row.seq == link.at; });
  find(link.at, "missing",
       "Expected " + range_text(link.at, link.at + gone - 1) + " before what is " + event_text(link.at) +
           " now, but found them cut out.");
}

// Loose events may follow from the link that was just remembered.
void ChainAudit::judge_loose() {
  std::erase_if(loose_, [this](const EventRow& row) {
    const std::optional<Place> place = place_of(row);
    if (!place) return false;
    if (place->seq == row.seq)
      findings_.erase(row.seq);
    else
      find(row.seq, "reordered",
           "Expected " + event_text(row.seq) + ", but found the one that was written as " + event_text(place->seq) +
               ".");
    std::erase_if(links_, [&row](const Link& link) { return link.at == row.seq; });
    remember({place->seq, row.chain_hash, row.seq, true});
    return true;
  });
}

// True if each of the `by` events right before this one has no place in the chain: they were inserted, and this event
// was only pushed back by them.
bool ChainAudit::is_pushed_back(const EventRow& row, std::int64_t by) {
  if (by <= 0) return false;
  for (std::int64_t seq = row.seq - by; seq < row.seq; ++seq) {
    const auto found = findings_.find(seq);
    if (found == findings_.end() || found->second.kind == "reordered") return false;
  }
  for (std::int64_t seq = row.seq - by; seq < row.seq; ++seq)
    if (findings_.at(seq).kind == "altered")
      find(seq, "inserted",
           "Expected " + event_text(row.seq) + " right after " + event_text(row.seq - by - 1) + ", but found " +
               event_text(seq) + " between them, which follows from neither.");
  return true;
}

// The event's content or its stored hash was altered; which of them is not known yet. So both hashes are remembered:
// later events follow from the stored one if the content was altered, and from the computed one if the hash was.
void ChainAudit::keep_loose(const EventRow& row) {
  find(row.seq, "altered",
       "Expected the hash of " + event_text(row.seq) +
           " to follow from its content and the event before it, but it does not.");
  EventRow written = row;
  written.seq = row.seq - shift_;
  if (!links_.empty()) remember({written.seq, chain_next(links_.back().hash, shard_, run_, written), row.seq, false});
  remember({written.seq, row.chain_hash, row.seq, false});
  loose_.push_back(row);
  if (loose_.size() > loose_max) loose_.pop_front();
}

void ChainAudit::remember(const Link& link) {
  links_.push_back(link);
  if (links_.size() > links_max) links_.pop_front();
}

void ChainAudit::find(std::int64_t seq, const std::string& kind, const std::string& says) {
  findings_.insert_or_assign(seq, Finding{run_, seq, kind, says});
}

}  // namespace cairn

// Every alteration of a history is found and named at the event it was made to, and nothing else is found.
#include "ops/audit/run_audit.hpp"

#include <array>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <span>

#include "engine/codec.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/upcaster.hpp"
#include "ops/audit/run_source.hpp"
#include "storage/chain.hpp"
#include "tests/ops/program.hpp"

namespace cairn {
namespace {

constexpr Shard shard = 3;
constexpr std::int64_t last = 12;
const RunId run = *parse_run_id("01970000-0000-7000-8000-000000000003");

class RunAudited : public ::testing::Test {
 protected:
  RunAudited() {
    const Json text = Json::parse(program::ask_graph("asks"));
    const Result<GraphRef> graph = parse_graph(text, graph_version(canonical(text)), {});
    graphs_.add(*graph, true);
    RunStarted started;
    started.graph = "asks";
    started.version = (*graph)->version;
    rows_.push_back(row_of(1, started));
    for (std::int64_t seq = 2; seq <= last; ++seq)
      rows_.push_back(row_of(seq, SignalReceived{"go", seq, "s" + std::to_string(seq)}));
    chain_from(1);
  }

  static EventRow row_of(std::int64_t seq, const EventBody& body) {
    const EventType type = event_type(body);
    return {.seq = seq,
            .at_us = 1'000 * seq,
            .type = type.number,
            .version = type.version,
            .actor = "user:ann",
            .payload = encode_payload(body),
            .commit = seq / 3};
  }

  EventRow& row(std::int64_t seq) { return rows_[static_cast<std::size_t>(seq - 1)]; }

  // Makes the chain hold from event `seq` on, as one who knows how would.
  void chain_from(std::int64_t seq) {
    for (; seq <= static_cast<std::int64_t>(rows_.size()); ++seq) {
      const Hash before =
          seq > 1 ? row(seq - 1).chain_hash
                  : chain_start(run, std::get<RunStarted>(*decode_payload(row(1).type, 1, row(1).payload)).version);
      row(seq).chain_hash = chain_next(before, shard, run, row(seq));
    }
  }

  // Numbers the rows as they stand; their hashes stay.
  void number() {
    for (std::size_t at = 0; at < rows_.size(); ++at) rows_[at].seq = static_cast<std::int64_t>(at) + 1;
  }
  void remove(std::int64_t seq) { rows_.erase(rows_.begin() + seq - 1); }
  void insert(std::int64_t seq, const EventRow& row) { rows_.insert(rows_.begin() + seq - 1, row); }

  // "altered 3, missing 7"
  std::string found() const {
    RunAudit audit(run, shard, graphs_);
    for (const EventRow& row : rows_) audit.add(row);
    std::string text;
    for (const Finding& finding : audit.findings()) {
      EXPECT_EQ(finding.run, run);
      EXPECT_TRUE(finding.says.starts_with("Expected ")) << finding.says;
      text += (text.empty() ? "" : ", ") + finding.kind + " " + std::to_string(finding.seq);
    }
    EXPECT_EQ(audit.state() == nullptr, !text.empty());
    return text;
  }

  Graphs graphs_;
  std::vector<EventRow> rows_;
};

TEST_F(RunAudited, a_history_as_it_was_written_is_folded_without_a_finding) {
  EXPECT_EQ(found(), "");
  RunAudit audit(run, shard, graphs_);
  for (const EventRow& row : rows_) audit.add(row);
  ASSERT_NE(audit.state(), nullptr);
  EXPECT_EQ(audit.state()->seq, last);
  EXPECT_EQ(audit.state()->signals.at("go").size(), last - 1u);
}

TEST_F(RunAudited, every_field_is_in_the_hash) {
  const std::vector<EventRow> whole = rows_;
  const std::vector<void (*)(EventRow&)> changes = {
      [](EventRow& e) { e.at_us += 1; },         [](EventRow& e) { e.type = event_type(RunPaused{}).number; },
      [](EventRow& e) { e.version += 1; },       [](EventRow& e) { e.step = 1; },
      [](EventRow& e) { e.actor = "user:eve"; }, [](EventRow& e) { e.payload[e.payload.size() / 2] ^= 1; },
      [](EventRow& e) { e.commit += 1; },        [](EventRow& e) { e.chain_hash[7] ^= 1; },
  };
  for (const auto change : changes)
    for (const std::int64_t seq : {std::int64_t{1}, std::int64_t{5}, last}) {
      rows_ = whole;
      change(row(seq));
      EXPECT_EQ(found(), "altered " + std::to_string(seq));
    }
}

// The hashes are over the stored bytes and the stored version, whatever the event is lifted to when it is decoded. The
// program ships no step yet, so the older version and the step are the test's (see
// tests/engine/stored/upcaster_test.cpp).
TEST_F(RunAudited, an_event_of_an_older_version_verifies_as_it_is_stored_and_not_as_it_is_lifted) {
  const std::vector<EventRow> as_of_today = rows_;
  row(5).version = 0;
  row(5).payload = R"({"signal":"go","value":5,"id":"s5"})";
  chain_from(5);
  const auto chain_faults = [](const std::vector<EventRow>& rows) {
    ChainAudit chain(run, shard);
    for (const EventRow& row : rows) chain.add(row);
    return chain.findings().size();
  };
  EXPECT_EQ(chain_faults(rows_), 0u);
  EXPECT_EQ(found(), "unsupported 5") << "without the step it cannot be folded, but it is not altered";

  const std::array<Upcaster, 1> steps{{{row(5).type, 0, [](Json& payload) {
                                          payload["name"] = payload.at("signal");
                                          payload.erase("signal");
                                        }}}};
  const Result<EventBody> lifted = decode_payload(row(5).type, row(5).version, row(5).payload, steps);
  ASSERT_TRUE(lifted) << lifted.error().message;
  EXPECT_EQ(encode_payload(*lifted), as_of_today[4].payload);
  const Hash stored = row(5).chain_hash;
  row(5) = as_of_today[4];
  row(5).chain_hash = stored;
  EXPECT_EQ(found(), "altered 5") << "the lifted bytes are not those of the hash";
}

TEST_F(RunAudited, a_second_alteration_is_found_behind_the_first) {
  row(4).payload += " ";
  row(5).actor = "user:eve";
  row(9).chain_hash[0] ^= 1;
  EXPECT_EQ(found(), "altered 4, altered 5, altered 9");
}

TEST_F(RunAudited, events_of_another_run_or_shard_do_not_follow) {
  RunAudit audit(run, shard + 1, graphs_);
  for (const EventRow& row : rows_) audit.add(row);
  EXPECT_EQ(audit.findings().size(), static_cast<std::size_t>(last));
}

TEST_F(RunAudited, swapped_events_are_both_named) {
  std::swap(row(5), row(6));
  number();
  EXPECT_EQ(found(), "reordered 5, reordered 6");
  std::swap(row(2), row(11));
  number();
  EXPECT_EQ(found(), "reordered 2, reordered 5, reordered 6, reordered 11");
}

TEST_F(RunAudited, the_first_event_may_be_one_of_those_swapped) {
  std::swap(row(1), row(2));
  number();
  EXPECT_EQ(found(), "reordered 1, reordered 2");
}

TEST_F(RunAudited, swapped_payloads_are_two_alterations) {
  std::swap(row(5).payload, row(8).payload);
  EXPECT_EQ(found(), "altered 5, altered 8");
}

TEST_F(RunAudited, a_gap_is_named_by_what_is_missing_in_it) {
  remove(6);
  remove(5);
  EXPECT_EQ(found(), "missing 5");
  remove(1);
  EXPECT_EQ(found(), "missing 1, missing 5");
}

TEST_F(RunAudited, a_gap_that_was_closed_up_is_found_where_it_was) {
  remove(6);
  remove(5);
  number();
  EXPECT_EQ(found(), "missing 5");
}

TEST_F(RunAudited, an_event_put_between_two_is_the_only_one_named) {
  EventRow forged = row_of(5, SignalReceived{"go", 7, "forged"});
  forged.chain_hash = chain_next(row(4).chain_hash, shard, run, row_of(5, SignalReceived{"go", 8, "other"}));
  insert(5, forged);
  number();
  EXPECT_EQ(found(), "inserted 5");
}

TEST_F(RunAudited, a_copy_of_an_event_is_named_wherever_it_is_put) {
  insert(last + 1, row(4));
  number();
  EXPECT_EQ(found(), "duplicated 13");
  remove(last + 1);
  insert(8, row(4));
  number();
  EXPECT_EQ(found(), "duplicated 8");
}

TEST_F(RunAudited, lines_of_a_file_may_be_twice_or_out_of_order) {
  insert(8, row(7));
  EXPECT_EQ(found(), "duplicated 7");
  remove(8);
  std::swap(row(7), row(8));
  EXPECT_EQ(found(), "reordered 7");
}

TEST_F(RunAudited, a_chain_made_anew_over_nonsense_does_not_fold) {
  row(5) = row_of(5, SignalReceived{"go", 5, "s4"});
  row(5).type = event_type(TimerFired{}).number;
  row(5).step = 40;
  chain_from(5);
  EXPECT_EQ(found(), "unfoldable 5");
}

TEST_F(RunAudited, time_does_not_go_back) {
  row(7).at_us = row(6).at_us - 1;
  chain_from(7);
  EXPECT_EQ(found(), "unfoldable 7");
}

TEST_F(RunAudited, events_and_graphs_of_a_newer_program_are_unsupported) {
  row(7).version = 99;
  chain_from(7);
  EXPECT_EQ(found(), "unsupported 7");
  graphs_ = {};
  EXPECT_EQ(found(), "unsupported 1");
}

TEST_F(RunAudited, the_end_is_held_against_what_the_row_says) {
  const auto kind_at = [this](std::int64_t head) {
    RunAudit audit(run, shard, graphs_);
    for (const EventRow& row : rows_) audit.add(row);
    audit.end(head);
    const std::vector<Finding> found = audit.findings();
    EXPECT_EQ(audit.state() == nullptr, head > last);
    EXPECT_EQ(audit.last_hash(), rows_.back().chain_hash);
    return found.empty() ? "" : found.front().kind + " " + std::to_string(found.front().seq);
  };
  EXPECT_EQ(kind_at(last), "");
  EXPECT_EQ(kind_at(last + 2), "missing 13");
  EXPECT_EQ(kind_at(last - 2), "surplus 11");
}

TEST_F(RunAudited, after_many_findings_the_rest_is_not_looked_at) {
  for (std::int64_t seq = last + 1; seq <= 300; ++seq) {
    rows_.push_back(row_of(seq, SignalReceived{"go", seq, "s" + std::to_string(seq)}));
    row(seq).chain_hash.fill(static_cast<std::uint8_t>(seq));
  }
  RunAudit audit(run, shard, graphs_);
  for (const EventRow& row : rows_) audit.add(row);
  EXPECT_TRUE(audit.is_enough());
  EXPECT_EQ(audit.findings().size(), RunAudit::findings_max);
}

TEST(RunSource, named_runs_come_in_pages_each_once) {
  std::vector<RunPlace> named;
  for (std::uint32_t n = 0; n < 250; ++n) named.push_back({plus(run, n), 0});
  const RunSource source = these_runs(named);
  std::vector<RunId> read;
  int pages = 0;
  for (std::vector<RunPlace> page = source(); !page.empty(); page = source(), ++pages)
    for (const RunPlace& place : page) read.push_back(place.run);
  EXPECT_EQ(pages, 3);
  ASSERT_EQ(read.size(), named.size());
  for (std::size_t at = 0; at < read.size(); ++at) EXPECT_EQ(read[at], named[at].run);
  EXPECT_TRUE(source().empty()) << "an end stays one";
}

TEST(ForEachPage, gives_every_run_to_one_thread_and_throws_here_what_one_of_them_threw) {
  constexpr int pages = 30;
  const auto counted_pages = [](int count) -> RunSource {
    return [left = count]() mutable {
      std::vector<RunPlace> page;
      for (int n = 0; left > 0 && n < 7; ++n) page.push_back({plus(run, static_cast<std::uint32_t>(7 * left + n)), 0});
      --left;
      return page;
    };
  };
  std::mutex mutex;
  std::map<RunId, int> seen;
  for_each_page(counted_pages(pages), 4, [&]() -> UseRuns {
    return [&](const std::vector<RunPlace>& page) {
      const std::lock_guard lock(mutex);
      for (const RunPlace& place : page) ++seen[place.run];
    };
  });
  EXPECT_EQ(seen.size(), 7u * pages);
  for (const auto& [id, times] : seen) EXPECT_EQ(times, 1) << to_string(id);
  const auto refuses = []() -> UseRuns { return [](const std::vector<RunPlace>&) { throw StoreUnavailable("gone"); }; };
  EXPECT_THROW(for_each_page(counted_pages(pages), 4, refuses), StoreUnavailable);
}

}  // namespace
}  // namespace cairn

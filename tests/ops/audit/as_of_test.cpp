// A run as of any of its moments: snapshots change nothing but how long that takes, and no worker is needed.
#include "engine/snapshot.hpp"
#include "storage/postgres/connection.hpp"
#include "tests/ops/audit/audited_database.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"

namespace cairn::program {
namespace {

class AsOf : public AuditedDatabase {
 protected:
  static Ran show(const std::string& run, const std::string& at) {
    return cairn(on_it({"show", run, "--at", at, "--json"}));
  }
  std::int64_t head_of(const std::string& run) { return store()->run(*parse_run_id(run))->head; }

  std::vector<std::string> every_moment(const std::string& run) {
    std::vector<std::string> shown;
    for (std::int64_t seq = 1; seq <= head_of(run); ++seq) {
      const Ran ran = show(run, std::to_string(seq));
      EXPECT_EQ(ran.exit, 0) << ran.err;
      shown.push_back(ran.out);
    }
    return shown;
  }

  // As a worker would leave it, if it thought it worth one there, and an older release also of a run that has ended.
  void keep_snapshot(const std::string& text, std::int64_t seq) {
    const RunId run = *parse_run_id(text);
    const std::unique_ptr<Store> kept = store();
    const Catalogue catalogue;
    Client client(*kept, catalogue, "user:test");
    client.load_graphs();
    const Result<RunState> state = client.state(run, seq);
    ASSERT_TRUE(state) << state.error().message;
    const Hash chain_hash = kept->events(run, seq - 1, 1).at(0).chain_hash;
    PgConnection({dsn()}).query(
        {"kept",
         "insert into cairn.snapshot (shard, run_id, fold_version, seq, chain_hash, state) "
         "values (0, $1, $2, $3, $4, $5)"},
        PgParameters().add(run).add(fold_version).add(seq).add(chain_hash).add(canonical(snapshot_json(*state))));
  }
};

TEST_F(AsOf, snapshots_change_nothing_at_any_moment) {
  for (const std::string& run : {done_run(), asking_run(), signalled_run(5), waiting_job()}) {
    const std::vector<std::string> without = every_moment(run);
    for (std::int64_t seq = 1; seq <= head_of(run); seq += 2) keep_snapshot(run, seq);
    EXPECT_EQ(every_moment(run), without);
    sql("DELETE FROM cairn.snapshot");
    EXPECT_EQ(every_moment(run), without);
  }
}

TEST_F(AsOf, the_newest_snapshot_before_the_moment_is_what_is_read) {
  const std::string run = done_run();
  keep_snapshot(run, 3);
  sql("UPDATE cairn.snapshot SET state = replace(state, '\"echo\"', '\"trace\"')");
  EXPECT_EQ(show(run, "2").out.find("trace"), std::string::npos);
  EXPECT_NE(show(run, "3").out.find("trace"), std::string::npos) << show(run, "3").out;
  EXPECT_NE(show(run, "4").out.find("trace"), std::string::npos) << show(run, "4").out;
}

TEST_F(AsOf, a_snapshot_of_other_code_is_left_aside) {
  const std::string run = signalled_run(5);
  const std::string before = show(run, "5").out;
  keep_snapshot(run, 3);
  for (const char* set :
       {"state = 'nonsense'", "state = '{}'", "state = '{\"graph\": 7}'", "fold_version = 1, state = 'nonsense'"}) {
    sql(std::string("UPDATE cairn.snapshot SET ") + set);
    const Ran ran = show(run, "5");
    EXPECT_EQ(ran.exit, 0) << set << ran.err;
    EXPECT_EQ(ran.out, before) << set;
  }
}

TEST_F(AsOf, moments_that_never_were_are_refused) {
  const std::string run = asking_run();
  const std::string head = std::to_string(head_of(run));
  expect_refused(show(run, std::to_string(head_of(run) + 1)), 4, "from 1 to " + head);
  expect_refused(show(run, "99999999999999"), 4, "from 1 to " + head);
  expect_refused(show(run, "0"), 4, "from 1 to " + head);
  expect_refused(show(run, "2001-01-01T00:00:00Z"), 4, "Expected a time after the start of run " + run);
  expect_refused(show(run, "yesterday"), 2, "yesterday");
  EXPECT_EQ(show(run, "2999-01-01T00:00:00Z").out, show(run, head).out);
}

TEST_F(AsOf, what_is_waited_for_is_shown_without_a_worker) {
  const std::string run = asking_run();
  const Json shown = show(run, std::to_string(head_of(run))).json();
  EXPECT_EQ(shown["status"], "waiting");
  EXPECT_EQ(shown["questions"][0]["id"], "q1") << shown;
  EXPECT_EQ(shown["steps"][0]["waits_for"], "question") << shown;
}

}  // namespace
}  // namespace cairn::program

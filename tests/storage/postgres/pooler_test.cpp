// The store behind a pooler in transaction mode, where a statement may meet another connection of the server than the
// one before it.
#include "tests/storage/pooler.hpp"

#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

#include "storage/another_database.hpp"
#include "storage/clock.hpp"
#include "storage/postgres/connection_pool.hpp"
#include "storage/postgres/reachable.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "storage/starts/start_book.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn::test {
namespace {

constexpr int threads_count = 4;
constexpr int runs_each = 15;

std::unique_ptr<Store> open_with(const std::string& dsn) {
  PostgresOptions options;
  options.dsn = dsn;
  Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  if (!store) throw std::runtime_error(store.error().message);
  return *std::move(store);
}

// The word of CAIRN_POOLER, as long as it lives.
class PoolerSaid {
 public:
  explicit PoolerSaid(const char* word) { setenv("CAIRN_POOLER", word, 1); }
  ~PoolerSaid() { unsetenv("CAIRN_POOLER"); }
  PoolerSaid(const PoolerSaid&) = delete;
  PoolerSaid& operator=(const PoolerSaid&) = delete;
};

// A run from its start to its end: committed, claimed, kept, ended.
void live_a_run(Store& store, SessionId session) {
  TestRun run(store);
  ASSERT_EQ(run.start(job_of(1, 1)).kind, Verdict::Kind::committed);
  ClaimRequest request = claim_request(session, 1);
  request.only_runs = {run.id()};
  const ClaimedBatch claimed = store.claim(request);
  ASSERT_EQ(claimed.jobs.size(), 1u);
  Entry ending = run.entry();
  ending.fences = {fence_of(claimed.jobs[0])};
  ending.jobs = {drop(1)};
  ending.run.status = RunStatus::done;
  ASSERT_EQ(run.commit(ending).kind, Verdict::Kind::committed);
  EXPECT_EQ(chain_fault(store, run.id()), "");
}

std::string setting(const std::string& dsn, const std::string& name) {
  PgConnection connection({dsn, "another client"});
  const auto shown = connection.ask("show " + name, steady_us() + 10'000'000);
  return std::string(shown.value().text(0, 0));
}

void live_many_runs(const std::string& dsn) {
  const auto store = open_with(dsn);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < threads_count; ++thread)
    threads.emplace_back([&store, thread] {
      for (int n = 0; n < runs_each; ++n) live_a_run(*store, thread + 1);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->runs({}).size(), static_cast<std::size_t>(threads_count * runs_each));
  store->jobs().queues();
  store->notify();
  EXPECT_TRUE(store->await_notification(1, NotifiedBy::any_process)) << "within this process";
}

TEST(TransactionPooler, D11_is_found_out_and_commits_and_claims_pass_behind_it) {
  const PgBouncer pooler(new_database(1), scratch_directory());
  live_many_runs(pooler.dsn());
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(setting(pooler.dsn(), "enable_seqscan"), "on") << "a setting reached another client";
    EXPECT_EQ(setting(pooler.dsn(), "plan_cache_mode"), "auto");
  }
}

TEST(TransactionPooler, D11_may_be_named_instead_of_being_found_out) {
  const PoolerSaid transaction("transaction");
  const PgBouncer pooler(new_database(1), scratch_directory());
  live_many_runs(pooler.dsn());
}

std::string refusal_of(const std::string& dsn) {
  PostgresOptions options;
  options.dsn = dsn;
  const Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  if (store) return "";
  EXPECT_EQ(store.error().code, Code::unavailable);
  return store.error().message;
}

TEST(TransactionPooler, D11_taken_for_one_that_keeps_connections_is_refused_at_once) {
  const std::string server = new_database(1);
  const PgBouncer pooler(server, scratch_directory());
  const PgBouncer keeping(server, scratch_directory(), {.mode = "session", .connections = 4});
  const PoolerSaid session("session");
  EXPECT_NE(refusal_of(pooler.dsn()).find("CAIRN_POOLER=transaction"), std::string::npos);
  EXPECT_EQ(setting(pooler.dsn(), "enable_seqscan"), "on") << "a setting reached another client";
  EXPECT_EQ(refusal_of(server), "") << "there is none";
  EXPECT_EQ(refusal_of(keeping.dsn()), "") << "it is one";
  live_a_run(*open_with(keeping.dsn()), 1);
}

// Where its clients are so busy that it does not show at once.
TEST(TransactionPooler, D11_taken_for_one_that_keeps_connections_is_final_once_a_statement_is_missing) {
  const PgBouncer pooler(new_database(1), scratch_directory());
  const PoolerSaid session("session");
  PostgresPool one({pooler.dsn()}, 1), other({pooler.dsn()}, 1);
  try {
    for (int n = 0; n < 20; ++n) {
      (void)one.query("identity");
      (void)other.query("identity");
    }
    ADD_FAILURE() << "no prepared statement met another one";
  } catch (const StoreUnfit& refused) {
    EXPECT_NE(std::string(refused.what()).find("CAIRN_POOLER=transaction"), std::string::npos) << refused.what();
  }
}

TEST(TransactionPooler, D11_one_by_statement_is_refused_and_its_mode_named) {
  PgBouncer pooler(new_database(1), scratch_directory());
  const auto store = open_with(pooler.dsn());
  live_a_run(*store, 1);
  pooler.start_again({.mode = "statement"});
  const std::string says = "Expected a pooler that gives a connection for each transaction";
  for (const char* word : {"", "transaction"}) {
    const PoolerSaid said(word);
    EXPECT_TRUE(refusal_of(pooler.dsn()).starts_with(says)) << refusal_of(pooler.dsn());
  }
  try {
    (void)TestRun(*store).start(job_of(1, 1));
    ADD_FAILURE() << "it commits";
  } catch (const StoreUnfit& refused) {
    EXPECT_TRUE(std::string(refused.what()).starts_with(says)) << refused.what();
  }
}

// A copy has the identity of the database that it was made of.
std::string another_database() {
  std::string dsn = new_database(1);
  ask(dsn, "update cairn.identity set id = gen_random_uuid()");
  return dsn;
}

// How each kind of transaction is sent: at once, after a BEGIN, as one of text, as one that reads widely.
std::vector<std::pair<const char*, std::function<void(Store&)>>> kinds_of_calls() {
  const auto claims = [](Store& store) { (void)store.claim(claim_request(1)); };
  const auto commits = [](Store& store) { (void)TestRun(store).start(job_of(1, 1)); };
  const auto starts = [](Store& store) {
    store.starts().decide_named({{"g", "k"}}, [](TimeUs, const auto&) { return std::vector<StartKeyWrite>(); });
  };
  const auto signs = [](Store& store) { store.put_checkpoint({.process = 1, .n = 1, .heads = "", .signature = "s"}); };
  const auto reads = [](Store& store) { (void)store.runs({}); };
  const auto reads_widely = [](Store& store) { (void)store.graphs().names(); };
  return {{"claims", claims}, {"commits", commits}, {"starts", starts},
          {"signs", signs},   {"reads", reads},     {"reads widely", reads_widely}};
}

// Its clients stay connected: only the transaction itself can notice.
TEST(TransactionPooler, D10_led_to_another_database_nothing_is_written_there) {
  const std::string server = new_database(1), elsewhere = another_database(), empty = new_empty_database();
  PgBouncer pooler(server, scratch_directory());
  for (const std::string& other : {elsewhere, empty})
    for (const auto& [kind, call] : kinds_of_calls()) {
      pooler.lead_to(server);
      const auto store = open_with(pooler.dsn());
      call(*store);  // its connection stays
      pooler.lead_to(other);
      try {
        call(*store);
        ADD_FAILURE() << kind << ": it asks " << other;
      } catch (const AnotherDatabase& refused) {
        const std::string is = other == empty ? "one without the schema cairn"
                                              : "database " + ask_text(other, "select id::text from cairn.identity");
        EXPECT_EQ(std::string(refused.what()), "Expected to find database " + store->identity() +
                                                   " again, but there is " + is +
                                                   " at its address now; nothing more is asked of it")
            << kind;
      }
    }
  for (const char* table : {"cairn.run", "cairn.start_key", "cairn.checkpoint"})
    EXPECT_EQ(ask_number(elsewhere, std::string("select count(*) from ") + table), 0) << table;
}

// As a direct connection has them for good.
TEST(TransactionPooler, a_transaction_begun_by_text_has_the_settings_too) {
  const std::string server = new_database(1);
  ask(server,
      "do $$ begin execute format('alter database %I set synchronous_commit to off', current_database()); end $$");
  const PgBouncer pooler(server, scratch_directory());
  PostgresPool pool({pooler.dsn()}, 1);
  const auto setting_in = [](PgConnection& connection, const char* name) {
    return std::string(connection.query({name, std::string("select current_setting('") + name + "')"}).text(0, 0));
  };
  pool.run([&](PgConnection& connection) {
    connection.execute("BEGIN");
    EXPECT_EQ(setting_in(connection, "enable_seqscan"), "off");
    EXPECT_EQ(setting_in(connection, "idle_in_transaction_session_timeout"), "5s");
    EXPECT_EQ(setting_in(connection, "synchronous_commit"), "on");
    connection.execute("ROLLBACK");
  });
  pool.run_widely([&](PgConnection& connection) {
    EXPECT_EQ(setting_in(connection, "enable_seqscan"), "on");
    EXPECT_EQ(setting_in(connection, "jit"), "off");
    return 0;
  });
}

std::unique_ptr<Store> open_past(const std::string& pooled, const std::string& direct) {
  PostgresOptions options;
  options.dsn = pooled;
  options.direct_dsn = direct;
  Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  if (!store) throw std::runtime_error(store.error().message);
  return *std::move(store);
}

std::int64_t listeners(const std::string& dsn) {
  return ask_number(dsn,
                    "select count(*) from pg_stat_activity where query = 'LISTEN cairn' and "
                    "datname = current_database()");
}

// Until it waits for notifications of others alone.
void begin_listening(Store& store) {
  while (store.await_notification(1, NotifiedBy::any_process)) {
  }
}

TEST(TransactionPooler, commits_behind_it_wake_who_listens_past_it) {
  for (const char* word : {"", "transaction"}) {
    const PoolerSaid said(word);
    const std::string server = new_database(1);
    const PgBouncer pooler(server, scratch_directory());
    const auto listening = open_past(pooler.dsn(), server);
    begin_listening(*listening);
    EXPECT_EQ(listeners(server), 1);
    const auto other = open_with(pooler.dsn());
    TestRun run(*other);
    const std::vector<Entry> entries{run.entry()};
    ASSERT_EQ(other->commit(0, entries, {.notify = true})[0].kind, Verdict::Kind::committed);
    EXPECT_TRUE(listening->await_notification(60'000, NotifiedBy::any_process)) << "a commit";
    begin_listening(*listening);
    other->notify();
    EXPECT_TRUE(listening->await_notification(60'000, NotifiedBy::any_process)) << "notify()";
  }
}

TEST(TransactionPooler, without_a_way_past_it_nothing_is_listened_to) {
  const std::string server = new_database(1), elsewhere = another_database();
  const PgBouncer pooler(server, scratch_directory());
  for (const std::string& direct : {std::string(), pooler.dsn(), elsewhere}) {
    const auto store = open_past(pooler.dsn(), direct);
    begin_listening(*store);
    EXPECT_EQ(listeners(server), 0) << direct;
    EXPECT_EQ(listeners(elsewhere), 0) << direct;
    live_a_run(*store, 1);
  }
}

TEST(TransactionPooler, which_way_workers_are_woken_is_found_out) {
  const std::string server = new_database(1), elsewhere = another_database();
  const PgBouncer pooler(server, scratch_directory());
  EXPECT_EQ(find_wake_up(server, "")->how, WakeUp::notifications);
  EXPECT_TRUE(find_wake_up(server, elsewhere)->direct_way) << "it is not used";
  EXPECT_EQ(find_wake_up(pooler.dsn(), "")->how, WakeUp::polls);
  EXPECT_EQ(find_wake_up(pooler.dsn(), server)->how, WakeUp::notifications_past_pooler);
  for (const auto& [direct, says] : {std::pair(pooler.dsn(), "past the pooler"), {elsewhere, "leads to database"}}) {
    const Result<WakeUpFound> found = find_wake_up(pooler.dsn(), direct);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->how, WakeUp::polls);
    ASSERT_FALSE(found->direct_way);
    EXPECT_NE(found->direct_way.error().message.find(says), std::string::npos) << found->direct_way.error().message;
  }
}

TEST(TransactionPooler, another_word_is_refused) {
  PostgresOptions options;
  options.dsn = new_database(1);
  const PoolerSaid nonsense("yes");
  const Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::invalid);
}

TEST(TransactionPooler, a_server_without_one_is_spoken_to_directly) {
  const std::string dsn = new_database(1);
  EXPECT_FALSE(PgConnection({dsn}).is_pooled());
  const PgBouncer pooler(dsn, scratch_directory());
  EXPECT_TRUE(PgConnection({pooler.dsn()}).is_pooled());
}

// Statements of a transaction rely on it that each sees what was committed before it: a claim reads heads after it, a
// commit looks for consumers of the feed once it has locked it.
TEST(TransactionPooler, where_a_database_has_another_isolation_is_refused_and_a_server_without_one_is_set) {
  const std::string server = new_database(1);
  const PgBouncer pooler(server, scratch_directory());
  const auto level_of = [](const std::string& dsn) {
    PostgresPool pool({dsn, "test"}, 1);
    return pool.run([](PgConnection& connection) {
      return std::string(connection.query({"level", "select current_setting('transaction_isolation')"}).text(0, 0));
    });
  };
  EXPECT_EQ(level_of(pooler.dsn()), "read committed");
  ask(server, "alter database " + ask_text(server, "select current_database()") +
                  " set default_transaction_isolation = 'repeatable read'");
  const PgBouncer later(server, scratch_directory());  // its connections to the server are new
  EXPECT_EQ(setting(server, "default_transaction_isolation"), "repeatable read");
  EXPECT_EQ(level_of(server), "read committed");
  try {
    level_of(later.dsn());
    ADD_FAILURE() << "it is not refused";
  } catch (const PostgresError& refused) {
    EXPECT_NE(std::string(refused.what()).find("but found repeatable read"), std::string::npos) << refused.what();
  }
}

}  // namespace
}  // namespace cairn::test

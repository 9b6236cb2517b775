// `cairn restore --in-place`: a server of one's own that its own programs brought back to a past, whose sessions and
// holds do not count from then on.
#include <csignal>
#include <gtest/gtest.h>

#include "tests/faults/server.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

using namespace program;

// The sub-goal is held: the steps before it pass on their holds in a moment.
constexpr const char* held = "select count(*) from cairn.job where session > 0 and branch > 1";

// A server that has a run whose one step sleeps.
class RestoreInPlace : public ::testing::Test {
 protected:
  RestoreInPlace()
      : name_("in_place_" + std::to_string(++servers_)),
        checkpoints_("CAIRN_CHECKPOINTS", (directory() / (name_ + "_checkpoints")).string()),
        every_("CAIRN_CHECKPOINT_MS", "100"),
        server_(name_),
        dsn_("CAIRN_DSN", server_.dsn()) {
    cairn_ok({"migrate"});
  }
  std::string start_sleep(std::int64_t ms) const {
    Json plan = {{"goal", "g"}, {"sub_goals", Json::array()}};
    plan["sub_goals"].push_back({{"id", "a"}, {"tool", "sleep"}, {"inputs", {{"ms", ms}}}});
    return cairn_ok({"start", "plan_runner", "--json", "--input", plan.dump()}).json().at("run");
  }
  std::int64_t asked(const std::string& question) const { return test::ask_number(server_.dsn(), question); }
  bool wait_until_held() const {
    return wait_until([&] { return asked(held) == 1; });
  }

  const std::string name_;
  const Variable checkpoints_, every_;
  OwnServer server_;
  const Variable dsn_;

 private:
  static inline int servers_ = 0;  // a name is part of a socket's path, which must be short
};

// The worker holds a step when the copy is made, and lives on when that past is back in its place.
TEST_F(RestoreInPlace, honours_no_hold_of_the_past_under_a_worker_that_still_runs) {
  const std::string run = start_sleep(12'000);
  Beside worker({"work"});
  ASSERT_TRUE(wait_until_held());
  server_.back_up();
  server_.restore();
  expect_refused(cairn({"restore", "--in-place"}), 4, "Expected no worker at work on the restored database, but");
  const Ran restored = cairn({"restore", "--in-place", "--beside-workers", "--json"});
  const Json first = Json::parse(restored.out.substr(0, restored.out.find('\n')));
  EXPECT_EQ(first["sessions"], 1) << restored.out << restored.err;
  EXPECT_EQ(first["holds"], 1) << restored.out;
  const auto shown = [&] { return cairn({"show", run, "--json"}).json(); };
  ASSERT_TRUE(wait_until([&] { return shown()["status"] == "done"; }, std::chrono::seconds(100))) << worker.err();
  const std::string events = cairn_ok({"events", run}).out;
  EXPECT_NE(events.find("error=lost"), std::string::npos) << events << worker.err();
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait(), 0) << worker.err();
  cairn_ok({"verify", run});
}

// A fence that names the session or the epoch of before is refused, whichever comes first: the holder or a sweep.
TEST_F(RestoreInPlace, gives_every_hold_to_a_session_that_never_was_under_the_next_epoch) {
  start_sleep(60'000);
  {
    Beside worker({"work"});
    ASSERT_TRUE(wait_until_held());
  }  // killed, as a past has sessions that are no more
  test::ask(server_.dsn(), "update cairn.worker set beat_at = beat_at - 60000000");
  const std::int64_t session = asked("select session from cairn.job where session is not null");
  const std::int64_t epoch = asked("select epoch from cairn.job where session is not null");
  const Ran restored = cairn_ok({"restore", "--in-place"});
  EXPECT_NE(restored.out.find(" begins again, without its 1 sessions and their 1 holds.\n1 run, "), std::string::npos)
      << restored.out;
  EXPECT_EQ(asked("select count(*) from cairn.worker"), 0);
  EXPECT_EQ(asked("select session from cairn.job where session is not null"), -session);
  EXPECT_EQ(asked("select epoch from cairn.job where session is not null"), epoch + 1);
}

// The files know of a present that the copy lacks; sessions of the copy are older than that.
TEST_F(RestoreInPlace, is_what_the_doctor_asks_for_after_a_restore) {
  start_sleep(60'000);
  {
    Beside worker({"work"});
    ASSERT_TRUE(wait_until_held());
    const auto signs = [&](std::int64_t n) {
      start_sleep(1);
      return asked("select coalesce(max(n), 0) from cairn.checkpoint") >= n;
    };
    ASSERT_TRUE(wait_until([&] { return signs(2); }));
    server_.back_up();
    const std::int64_t before = asked("select max(n) from cairn.checkpoint");
    ASSERT_TRUE(wait_until([&] { return signs(before + 2); }));
    worker.signal(SIGKILL);
    worker.wait();
  }
  server_.restore();
  const auto found = [] {
    const Json shown = cairn({"doctor", "--json"}).json();
    for (const Json& check : shown.at("checks"))
      if (check["name"] == "restored_past") return check;
    return Json();
  };
  EXPECT_EQ(found()["ok"], false) << found();
  EXPECT_NE(found()["found"].get<std::string>().find("1 of its sessions began before"), std::string::npos) << found();
  const Ran restored = cairn({"restore", "--in-place", "--beside-workers"});
  EXPECT_EQ(restored.exit, 1) << "newer checkpoints name what is lost: " << restored.out << restored.err;
  EXPECT_EQ(found()["ok"], true) << found();
}

TEST_F(RestoreInPlace, gives_waiting_rows_of_the_feed_their_positions_before_others_come) {
  const std::string waiting = "select count(*) from cairn.feed where position is null";
  cairn_ok({"feed", "add", "copy"});
  start_sleep(1);
  EXPECT_GT(asked(waiting), 0);
  cairn_ok({"restore", "--in-place"});
  EXPECT_EQ(asked(waiting), 0);
  EXPECT_GT(asked("select count(*) from cairn.feed"), 0);
}

TEST_F(RestoreInPlace, refuses_a_server_that_is_still_in_recovery_and_what_is_said_twice_or_not_at_all) {
  {
    OwnServer standby(name_ + "_2", server_);
    expect_refused(cairn({"restore", "--in-place", "--dsn", standby.dsn()}), 5, "that has ended its recovery");
  }
  EXPECT_EQ(cairn({"restore"}).exit, 2);
  EXPECT_EQ(cairn({"restore", "somewhere", "--in-place"}).exit, 2);
  EXPECT_EQ(cairn({"restore", "somewhere", "--beside-workers"}).exit, 2);
  EXPECT_EQ(cairn({"restore", "--in-place", "--wal", "somewhere"}).exit, 2);
  test::ask(server_.dsn(), "delete from cairn.migration where number = (select max(number) from cairn.migration)");
  expect_refused(cairn({"restore", "--in-place"}), 3, "`cairn migrate` comes first");
}

}  // namespace
}  // namespace cairn

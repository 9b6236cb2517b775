#include "tests/faults/tampering.hpp"

#include <array>
#include <gtest/gtest.h>

#include "storage/postgres/administration.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::program {
namespace {

struct Alteration {
  const char* name;
  const char* sql;  // of the run $RUN
};

constexpr auto alterations = std::to_array<Alteration>({
    {"a byte of an event", "update cairn.event set payload = payload || ' ' where run_id = $RUN and seq = 3"},
    {"two events swapped",
     "update cairn.event e set payload = o.payload, type = o.type from cairn.event o where e.run_id = $RUN and "
     "o.run_id = $RUN and e.seq in (2, 3) and o.seq = 5 - e.seq"},
    {"an event in the midst removed", "delete from cairn.event where run_id = $RUN and seq = 4"},
    {"the last event cut off, and the run's row made to fit",
     "update cairn.run r set head = head - 1, chain_hash = (select chain_hash from cairn.event e where e.run_id = $RUN "
     "and e.seq = r.head - 1) where run_id = $RUN; delete from cairn.event e where run_id = $RUN and seq > (select "
     "head "
     "from cairn.run where run_id = $RUN)"},
    {"a whole run removed", "delete from cairn.event where run_id = $RUN; delete from cairn.run where run_id = $RUN"},
});

std::string about(std::string sql, const std::string& run) {
  for (std::size_t at = sql.find("$RUN"); at != std::string::npos; at = sql.find("$RUN"))
    sql.replace(at, 4, "'" + run + "'");
  return sql;
}

}  // namespace

int tamper_and_verify(Load& load, const std::string& dsn) {
  Administration owner(dsn, "forger");
  const auto verify = [&] { return cairn(load.with_dsn({"verify", "--all"})); };
  for (const Alteration& one : alterations) {
    const std::string run = test::ask_text(dsn, "select run_id::text from cairn.run order by random() limit 1");
    owner.execute(
        about("create table public.events as select * from cairn.event where run_id = $RUN; "
              "create table public.runs as select * from cairn.run where run_id = $RUN",
              run));
    owner.execute(about(one.sql, run));
    const auto is_found = [&] {  // what only a checkpoint shows is found when that is signed
      const Ran verified = verify();
      return verified.exit == 1 && verified.out.find(run) != std::string::npos;
    };
    EXPECT_TRUE(wait_until(is_found)) << one.name;
    owner.execute(
        about("delete from cairn.event where run_id = $RUN; delete from cairn.run where run_id = $RUN; "
              "insert into cairn.event select * from public.events; insert into cairn.run select * from "
              "public.runs; drop table public.events, public.runs",
              run));
    const Ran sound = verify();
    EXPECT_TRUE(sound.out.find(run) == std::string::npos) << one.name << ", undone:\n" << sound.out;
  }
  return static_cast<int>(alterations.size());
}

}  // namespace cairn::program

// Events and runs that were added to a signed log without the key are found, in the database and in an export; an
// operator may accept unsigned ones, but only by hand.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/stat.h>

#include "engine/id.hpp"
#include "storage/chain.hpp"
#include "storage/proof/signing.hpp"
#include "tests/ops/audit/audited_database.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

class Unsigned : public AuditedDatabase {
 protected:
  void SetUp() override {
    AuditedDatabase::SetUp();
    sql("TRUNCATE cairn.tombstone, cairn.import");
  }

  // As a worker's login, which may add events: one more, whose hash follows from the last one.
  void append(const std::string& run, std::int16_t type, const std::string& payload, TimeUs after_us = 1'000) {
    const std::unique_ptr<Store> there = store();
    const std::optional<RunRow> row = there->run(*parse_run_id(run));
    const EventRow last = there->events(row->id, row->head - 1, 1).at(0);
    EventRow next{row->head + 1, last.at_us + after_us, type, 1, 0, "user:ceo", payload, last.commit + 1, {}};
    next.chain_hash = chain_next(last.chain_hash, shard_of(row->id, there->shards()), row->id, next);
    insert(row->id, next);
    as_worker("UPDATE cairn.run SET head = head + 1, chain_hash = '\\x" + hex(next.chain_hash) +
              "', updated_at = " + std::to_string(next.at_us) + " WHERE run_id = '" + run + "'");
  }

  // The run once more under another id, as if it had happened `earlier_us` earlier.
  std::string forge(const std::string& run, TimeUs earlier_us) {
    const std::unique_ptr<Store> there = store();
    const std::optional<RunRow> row = there->run(*parse_run_id(run));
    RunId id = row->id;
    id.bytes[10] ^= 1;
    Hash chain = chain_start(id, row->version);
    for (EventRow event : there->events(row->id, 0, 1'000)) {
      event.at_us -= earlier_us;
      chain = event.chain_hash = chain_next(chain, shard_of(id, there->shards()), id, event);
      insert(id, event);
    }
    const std::string earlier = std::to_string(earlier_us);
    as_worker(
        "INSERT INTO cairn.run (shard, run_id, waiting, head, started_at, updated_at, chain_hash, status, graph, "
        "version, reason, tags) SELECT shard, '" +
        to_string(id) + "', waiting, head, started_at - " + earlier + ", updated_at - " + earlier + ", '\\x" +
        hex(chain) + "', status, graph, version, reason, tags FROM cairn.run WHERE run_id = '" + run + "'");
    return to_string(id);
  }

  std::string head_of(const std::string& run) {
    return sql_text("SELECT head FROM cairn.run WHERE run_id = '" + run + "'");
  }

 private:
  void insert(const RunId& run, const EventRow& event) {
    std::ostringstream text;
    text << "INSERT INTO cairn.event (shard, run_id, seq, at, commit, type, version, step, chain_hash, actor, payload) "
         << "VALUES (0, '" << to_string(run) << "', " << event.seq << ", " << event.at_us << ", " << event.commit
         << ", " << event.type << ", " << event.version << ", " << event.step << ", '\\x" << hex(event.chain_hash)
         << "', '" << event.actor << "', $payload$" << event.payload << "$payload$)";
    as_worker(text.str());
  }
  void as_worker(const std::string& text) {
    sql("SET ROLE cairn_app");
    sql(text);
    sql("RESET ROLE");
  }
};

constexpr TimeUs hour_us = 3'600'000'000;
constexpr std::int16_t channels_edited = 6;
constexpr std::int16_t signal_received = 10;

TEST_F(Unsigned, E5_A5_an_event_that_was_appended_after_a_signed_end_is_found) {
  const std::string run = done_run();
  done_run();
  EXPECT_EQ(found_by({"verify", "--all"}), "");
  append(run, channels_edited, R"({"patch":{"approved_by":"the board"}})");
  EXPECT_EQ(found_by({"verify", run}), "") << "the chain alone does not show it";
  const Ran ran = cairn(on_it({"verify", "--all", "--json"}));
  EXPECT_EQ(ran.exit, 1);
  ASSERT_EQ(ran.json()["findings"].size(), 1u) << ran.out;
  const Json finding = ran.json()["findings"][0];
  EXPECT_EQ(finding["run"], run);
  EXPECT_EQ(finding["kind"], "unsigned");
  EXPECT_EQ(finding["seq"].dump(), head_of(run));
  EXPECT_NE(finding["says"].get<std::string>().find("the signed end of the run"), std::string::npos) << finding;
}

TEST_F(Unsigned, H11_a_run_that_was_added_by_SQL_is_found) {
  const std::string run = done_run();
  const std::string forged = forge(run, hour_us);
  EXPECT_EQ(found_by({"verify", "--all"}, forged), "unsigned 1");
  EXPECT_EQ(cairn_ok(on_it({"show", forged, "--json"})).json()["status"], "done") << "it looks like any other";
}

TEST_F(Unsigned, H11_an_event_dated_ahead_is_no_younger_than_an_old_one) {
  const std::string run = asking_run();
  append(run, signal_received, R"({"id":"a","name":"n","value":1})");
  EXPECT_EQ(found_by({"verify", "--all"}), "") << "its process may not have signed yet";
  append(run, signal_received, R"({"id":"b","name":"n","value":1})", hour_us);
  EXPECT_EQ(found_by({"verify", "--all"}), "") << "the first unsigned one counts";
  const std::string other = asking_run();
  append(other, signal_received, R"({"id":"a","name":"n","value":1})", hour_us);
  EXPECT_EQ(found_by({"verify", "--all"}, other), "unsigned " + head_of(other));
}

TEST_F(Unsigned, a_killed_process_leaves_what_an_operator_may_accept_by_hand) {
  const std::string run = forge(done_run(), hour_us);
  EXPECT_EQ(found_by({"verify", "--all"}, run), "unsigned 1");
  const Json accepted = cairn_ok(on_it({"verify", run, "--accept", "--json"})).json();
  EXPECT_EQ(accepted["accepted"], 1);
  EXPECT_EQ(found_by({"verify", "--all"}), "");
  EXPECT_EQ(sql_text("SELECT count(*) FROM cairn.checkpoint WHERE process < 0"), "1") << "signed by hand, and it shows";
  EXPECT_FALSE(cairn_ok(on_it({"verify", "--all", "--accept", "--json"})).json().contains("accepted"));
  append(run, channels_edited, R"({"patch":{"approved_by":"the board"}})");
  EXPECT_EQ(found_by({"verify", "--all"}, run), "unsigned " + head_of(run));
}

// The dead process will not sign it, however new it is.
TEST_F(Unsigned, an_end_that_is_too_new_to_be_found_is_accepted_as_well) {
  const std::string run = forge(done_run(), 1'000'000);
  EXPECT_EQ(found_by({"verify", "--all"}), "");
  EXPECT_EQ(cairn_ok(on_it({"verify", "--all", "--accept", "--json"})).json()["accepted"], 1) << run;
  EXPECT_EQ(sql_text("SELECT count(*) FROM cairn.checkpoint WHERE process < 0"), "1");
}

TEST_F(Unsigned, a_history_with_another_fault_is_not_accepted) {
  const std::string run = forge(done_run(), hour_us);
  sql("UPDATE cairn.run SET reason = 'none' WHERE run_id = '" + run + "'");
  EXPECT_EQ(cairn(on_it({"verify", "--all", "--accept"})).exit, 1);
  EXPECT_EQ(sql_text("SELECT count(*) FROM cairn.checkpoint WHERE process < 0"), "0");
}

TEST_F(Unsigned, only_named_keys_count_if_some_are_named) {
  done_run();
  std::string key;
  for (const auto& entry : fs::directory_iterator(data() + "/checkpoints"))
    if (entry.path().extension() == ".pub") key = entry.path().string();
  EXPECT_EQ(found_by({"verify", "--all", "--trust", key}), "");
  const Result<SigningKey> other = SigningKey::open((directory() / "unsigned_other.pem").string());
  ASSERT_TRUE(other);
  fs::create_directories(directory() / "unsigned_keys");
  ASSERT_TRUE(other->publish((directory() / "unsigned_keys").string()));
  const std::string others =
      (directory() / "unsigned_keys" / (hex(fingerprint(other->public_key())) + ".pub")).string();
  EXPECT_EQ(cairn(on_it({"verify", "--all", "--trust", others})).exit, 1);
  expect_refused(cairn(on_it({"verify", "--all", "--trust", "/nowhere/at/all"})), 3, "/nowhere/at/all");
  expect_refused(cairn(on_it({"verify", "--where", "graph=asks", "--trust", key})), 2, "--trust");
}

TEST_F(Unsigned, H11_the_signing_key_lies_beside_the_folder_that_is_collected) {
  done_run();
  const fs::path folder = fs::path(data()) / "checkpoints";
  const fs::path beside = data() + "/checkpoints_signing_key.pem";
  EXPECT_TRUE(fs::exists(beside));
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    EXPECT_NE(entry.path().extension(), ".pem") << entry.path();
  const auto check = [&] {
    Json found;
    const Json report = cairn(on_it({"doctor", "--json"})).json();
    for (const Json& one : report["checks"])
      if (one["name"] == "signing_key") found = one;
    return found;
  };
  EXPECT_EQ(check()["ok"], true);
  fs::rename(beside, folder / "signing_key.pem");  // as an older program had it
  done_run();
  EXPECT_EQ(sql_text("SELECT count(DISTINCT key) FROM cairn.checkpoint"), "1") << "it is used there";
  EXPECT_EQ(check()["ok"], false);
  EXPECT_NE(check()["found"].get<std::string>().find(beside.string()), std::string::npos) << check();
  fs::rename(folder / "signing_key.pem", beside);
  fs::permissions(beside, fs::perms(0640));
  const std::string count = sql_text("SELECT count(*) FROM cairn.checkpoint");
  const Ran ran = cairn(on_it({"start", "plan_runner", "--input", R"({"goal": "g", "sub_goals": []})"}));
  EXPECT_EQ(sql_text("SELECT count(*) FROM cairn.checkpoint"), count) << "a key that others may read signs nothing";
  EXPECT_NE(ran.err.find("chmod 600"), std::string::npos) << ran.err;
  fs::permissions(beside, fs::perms(0600));
}

// --- exports ---------------------------------------------------------------------------------------------------------

class Trusted : public Unsigned {
 protected:
  static std::string public_key() {
    for (const auto& entry : fs::directory_iterator(data() + "/checkpoints"))
      if (entry.path().extension() == ".pub") return entry.path().string();
    return "";
  }

  // Changes a text in all events and makes every hash of the file right again: all that needs no key.
  static std::string altered(const std::string& text, const std::string& from, const std::string& to) {
    std::istringstream in(text);
    std::string out;
    std::map<std::string, Hash> chains;
    std::map<std::string, std::string> versions;
    std::vector<Json> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    for (Json& line : lines) {
      if (line["kind"] == "run") versions[line["run"]] = line["graph_version"];
      if (line["kind"] != "event") continue;
      std::string payload = line["payload"];
      for (std::size_t at = payload.find(from); at != std::string::npos; at = payload.find(from, at + to.size()))
        payload.replace(at, from.size(), to);
      const RunId run = *parse_run_id(line["run"].get<std::string>());
      const EventRow row{line["seq"],     line["at_us"],  line["type"],
                         line["version"], line["step"],   line["actor"],
                         payload,         line["commit"], {}};
      const auto known = chains.try_emplace(line["run"], chain_start(run, versions[line["run"]])).first;
      known->second = chain_next(known->second, line["shard"], run, row);
      line["payload"] = payload;
      line["chain_hash"] = hex(known->second);
    }
    for (Json& line : lines) {
      if (line["kind"] == "run") line["chain_hash"] = hex(chains[line["run"]]);
      if (line["kind"] == "end") line["sha256"] = hex(sha256(out));
      out += line.dump() + "\n";
    }
    return out;
  }
};

TEST_F(Trusted, H11_a_script_that_changes_an_answer_and_all_hashes_of_an_export_is_found_by_the_key) {
  const std::string run = asking_run();
  cairn_ok(on_it({"answer", run, "--value", "\"no\""}));
  const std::string whole = cairn_ok(on_it({"export", run})).out;
  EXPECT_NE(whole.find("\"kind\":\"checkpoint\""), std::string::npos);
  const std::string sound = write_file("trusted.jsonl", whole);
  const std::string changed = write_file("changed.jsonl", altered(whole, "\"no\"", "\"yes\""));
  EXPECT_EQ(cairn({"verify", "--file", sound, "--trust", public_key()}).exit, 0);
  EXPECT_EQ(cairn({"verify", "--file", changed}).exit, 0) << "it agrees with itself";
  const Ran ran = cairn({"verify", "--file", changed, "--trust", public_key(), "--json"});
  EXPECT_EQ(ran.exit, 1);
  ASSERT_EQ(ran.json()["findings"].size(), 1u) << ran.out;
  EXPECT_EQ(ran.json()["findings"][0]["kind"], "unsigned");
  EXPECT_EQ(ran.json()["findings"][0]["run"], run);

  sql("DROP DATABASE IF EXISTS trusting");
  sql("CREATE DATABASE trusting");
  const std::string other = dsn() + " dbname=trusting";
  cairn_ok({"migrate", "--dsn", other});
  expect_refused(cairn({"import", changed, "--trust", public_key(), "--dsn", other}), 4, "trusted key");
  cairn_ok({"import", sound, "--trust", public_key(), "--dsn", other});
  const Json origin = cairn_ok({"show", run, "--json", "--dsn", other}).json()["imported"];
  EXPECT_EQ(origin["database"], sql_text("SELECT id FROM cairn.identity"));
  EXPECT_EQ(origin["file_sha256"], hex(sha256(whole)));
  EXPECT_EQ(origin["key"], fs::path(public_key()).stem().string());
  EXPECT_TRUE(origin["by"].get<std::string>().starts_with("user:"));
  EXPECT_NE(cairn_ok({"show", run, "--dsn", other}).out.find("Imported by "), std::string::npos);
  EXPECT_FALSE(cairn_ok(on_it({"show", run, "--json"})).json().contains("imported"));
}

}  // namespace
}  // namespace cairn::program

// Large values of steps that are executed over HTTP: read and kept apart from the requests about the steps.
#include <gtest/gtest.h>

#include "storage/digest.hpp"
#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

const std::string blobs = "/api/v1/blobs/";

Json turning_graph() {
  return {{"name", "turned"},
          {"start", "turn"},
          {"limits", {{"steps", 20}}},
          {"nodes",
           {{"turn",
             {{"do", "py.turn"},
              {"queue", "large"},
              {"labels", {"ok"}},
              {"with", {{"text", {{"$", "text"}}}, {"small", "s"}}},
              {"on", {{"ok", "end"}}}}},
            {"end", {{"end", {{"status", "done"}, {"output", {{"turned", {{"$", "turned"}}}}}}}}}}}};
}

class LargeValues : public ::testing::Test {
 protected:
  LargeValues() { EXPECT_EQ(server.post("/api/v1/graphs", turning_graph()).status, 201); }

  static Json asked(const std::string& session = "") {
    Json body = {{"worker", "w"}, {"queues", {"large"}}, {"handlers", {"py.turn"}},
                 {"max", 1},      {"wait_ms", 5'000},    {"blobs", true}};
    if (!session.empty()) body["session"] = session;
    return body;
  }
  Json claim_of(const std::string& text) {
    const Json input = {{"text", text}};
    run = server.post(runs, {{"graph", "turned"}, {"input", input}}).json().at("run");
    const Json answer = server.post(claims, asked()).json();
    session = answer.at("session");
    return answer.at("claims").at(0);
  }
  Reply put(const Json& claim, const std::string& hash, const std::string& body) const {
    return ApiConnection(server.port())
        .ask("PUT", blobs + hash + "?claim=" + claim["claim"].get<std::string>(), body,
             {{"Content-Type", "application/json"}});
  }

  Server server;
  std::string run, session;
};

TEST_F(LargeValues, a_worker_reads_and_keeps_them_apart_from_its_requests) {
  const std::string text(100'000, 'a'), turned(200'000, 'b');
  const Json claim = claim_of(text);
  EXPECT_EQ(claim["input"]["small"], "s");
  const Json given = claim["input"]["text"];
  const std::string written = Json(text).dump();
  EXPECT_EQ(given, (Json{{"$blob", hex(sha256(written))}, {"bytes", written.size()}}));
  const Reply got =
      server.get(blobs + given["$blob"].get<std::string>() + "?claim=" + claim["claim"].get<std::string>());
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.json(), text);

  const std::string sent = " " + Json(turned).dump() + "\n";  // another form of the same value
  const Reply kept = put(claim, hex(sha256(sent)), sent);
  EXPECT_EQ(kept.status, 200) << kept.body;
  Json body = asked(session);
  body["wait_ms"] = 0;
  body["finished"] = {{{"claim", claim["claim"]}, {"patch", {{"turned", kept.json()}}}}};
  const Json answer = server.post(claims, body).json();
  EXPECT_EQ(answer.at("results").at(0)["status"], "committed") << answer;
  EXPECT_TRUE(wait_until([&] { return server.get(runs + "/" + run).json()["status"] == "done"; }));
  EXPECT_EQ(server.get(runs + "/" + run).json()["output"]["turned"], turned);
}

TEST_F(LargeValues, one_report_by_itself_takes_them_too_and_without_the_word_a_reference_is_a_value_like_any_other) {
  const std::string kept = Json(std::string(50'000, 'c')).dump();
  for (const bool by_reference : {true, false}) {
    const Json claim = claim_of("t");
    const Json reference = put(claim, hex(sha256(kept)), kept).json();
    Json body = {{"patch", {{"turned", reference}}}};
    if (by_reference) body["blobs"] = true;
    const std::string at = claims + "/" + claim["claim"].get<std::string>() + "/complete";
    EXPECT_EQ(server.post(at, body).status, 200);
    EXPECT_TRUE(wait_until([&] { return server.get(runs + "/" + run).json()["status"] == "done"; }));
    const Json output = server.get(runs + "/" + run).json()["output"]["turned"];
    EXPECT_EQ(output, by_reference ? Json::parse(kept) : reference);
  }
}

// A reference takes a hundred bytes of a request, and megabytes of the server.
TEST_F(LargeValues, those_of_all_reports_of_a_request_are_bounded_together) {
  const Json claim = claim_of("t");
  const std::string kept = Json(std::string(1'000'000, 'c')).dump();
  const Json reference = put(claim, hex(sha256(kept)), kept).json();
  const auto reports = [&](std::size_t count) {
    Json body = asked(session);
    body["wait_ms"] = 0;
    body["max"] = 0;
    const Json report = {{"claim", claim["claim"]}, {"patch", {{"turned", reference}}}};
    body["finished"] = std::vector<Json>(count, report);
    return server.post(claims, body);
  };
  const Reply many = reports(100);
  EXPECT_EQ(many.status, 413) << many.body;
  EXPECT_NE(many.body.find("Expected large values of at most"), std::string::npos) << many.body;
  const Json forty = reports(40).json().at("results");
  const auto committed = [](const Json& one) { return one["status"] == "committed"; };
  EXPECT_EQ(std::count_if(forty.begin(), forty.end(), committed), 1);
}

TEST_F(LargeValues, that_are_too_much_for_one_report_are_refused_as_those_of_many) {
  const Json claim = claim_of("t");
  const std::string kept = Json(std::string(1'000'000, 'c')).dump();
  const Json reference = put(claim, hex(sha256(kept)), kept).json();
  Json body = {{"blobs", true}, {"patch", {{"turned", std::vector<Json>(100, reference)}}}};
  const std::string at = claims + "/" + claim["claim"].get<std::string>() + "/complete";
  const Reply much = server.post(at, body);
  EXPECT_EQ(much.status, 413) << much.body;
  EXPECT_EQ(much.json()["error"]["code"], "limit");
  body["patch"] = {{"turned", reference}};
  EXPECT_EQ(server.post(at, body).status, 200) << "it is still held";
}

TEST_F(LargeValues, are_refused_in_one_sentence) {
  const Json claim = claim_of("t");
  const std::string at = "?claim=" + claim["claim"].get<std::string>(), none(64, 'a');
  const auto says = [](const Reply& reply) { return reply.json()["error"]["message"].get<std::string>(); };
  const Reply other = put(claim, none, "1");
  EXPECT_EQ(other.status, 400);
  EXPECT_TRUE(says(other).starts_with("Expected a body whose SHA-256 is aaa")) << other.body;
  EXPECT_EQ(put(claim, hex(sha256(std::string("{"))), "{").status, 400);
  EXPECT_EQ(server.get(blobs + "x" + at).status, 400);
  EXPECT_EQ(server.get(blobs + none).status, 400);
  EXPECT_EQ(server.get(blobs + none + "?claim=x").status, 400);
  EXPECT_EQ(server.get(blobs + none + at).status, 404);

  Json body = asked(session);
  body["finished"] = {{{"claim", claim["claim"]}, {"patch", {{"turned", {{"$blob", none}, {"bytes", 3}}}}}}};
  const Reply unknown = server.post(claims, body);
  EXPECT_EQ(unknown.status, 400);
  EXPECT_TRUE(says(unknown).starts_with("Expected a value that PUT /api/v1/blobs/HASH has kept")) << unknown.body;

  const std::string release = claims + "/" + claim["claim"].get<std::string>() + "/release";
  EXPECT_EQ(server.post(release, {{"retry_ms", 60'000}}).status, 200);
  const Reply late = server.get(blobs + none + at);
  EXPECT_EQ(late.status, 409);
  EXPECT_TRUE(says(late).starts_with("Expected a claim that is held")) << late.body;
}

}  // namespace
}  // namespace cairn::program

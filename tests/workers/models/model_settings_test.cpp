// Models by name: the models file, and which endpoint a request reaches.
#include "workers/models/model_settings.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <stdlib.h>

#include "tests/paths.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;
using Served = LoopbackServer::Reply;

Served echo_model(const LoopbackServer::Request& request) {
  Json body = {{"id", "c"}};
  const std::string model = Json::parse(request.body())["model"];
  body["choices"].push_back({{"message", {{"role", "assistant"}, {"content", model}}}, {"finish_reason", "stop"}});
  return {.body = body.dump()};
}

std::string answered_by(Model& model, const std::string& asked) {
  ModelRequest request;
  request.model = asked;
  request.messages = {{{"role", "user"}, {"content", "?"}}};
  const ModelAnswer answer = testing::run(model.ask(std::move(request)));
  return answer.failure ? answer.failure->message : answer.reply.value.get<std::string>();
}

std::unique_ptr<Model> made(const ModelSettings& settings) {
  Result<std::unique_ptr<Model>> model = make_model(settings);
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  return model ? *std::move(model) : nullptr;
}

TEST(NamedModels, a_node_names_an_endpoint_a_model_of_it_or_one_of_the_default) {
  LoopbackServer large(echo_model);
  LoopbackServer small(echo_model);
  const testing::TemporaryFolder folder;
  ModelSettings settings;
  settings.url = small.url("/v1");
  settings.model = "tiny";
  settings.file = folder.write("models.json",
                               Json{{"models", {{"thinker", {{"url", large.url("/v1")}, {"model", "huge"}}}}}}.dump());
  const auto model = made(settings);
  EXPECT_EQ(answered_by(*model, ""), "tiny");
  EXPECT_EQ(answered_by(*model, "other"), "other");
  EXPECT_EQ(answered_by(*model, "org/other"), "org/other") << "no endpoint has that name";
  EXPECT_EQ(small.requests().size(), 3U);
  EXPECT_EQ(answered_by(*model, "thinker"), "huge");
  EXPECT_EQ(answered_by(*model, "thinker/org/vast"), "org/vast");
  EXPECT_EQ(large.requests().size(), 2U);
}

TEST(NamedModels, each_has_a_key_of_its_own_and_one_may_be_the_default) {
  LoopbackServer server(echo_model);
  const testing::TemporaryFolder folder;
  setenv("CAIRN_TEST_MODEL_KEY", "a-key-for-the-test", 1);
  const Json file = {{"models",
                      {{"main",
                        {{"url", server.url("/v1")},
                         {"model", "m"},
                         {"key", {{"env", "CAIRN_TEST_MODEL_KEY"}}},
                         {"api", "chat"},
                         {"format", "text"},
                         {"stream", "never"},
                         {"ms", 5000},
                         {"cost_in", 0.5},
                         {"cost_out", 2}}}}},
                     {"default", "main"}};
  ModelSettings settings;
  settings.file = folder.write("models.json", file.dump());
  const auto model = made(settings);
  unsetenv("CAIRN_TEST_MODEL_KEY");
  EXPECT_EQ(answered_by(*model, ""), "m");
  EXPECT_EQ(server.requests().at(0)["authorization"], "Bearer a-key-for-the-test");
  const Result<NamedEndpoints> read = parse_models(Json::parse(R"({"models": {"a": {"url": "http://h/v1", "model": "m",
      "api": "responses", "format": "json_object", "ms": 7, "cost_in": 0.5, "cost_out": 2}}})"));
  ASSERT_TRUE(read);
  const ModelEndpoint& endpoint = read->endpoints.at("a");
  EXPECT_EQ(endpoint.api, ModelApi::responses);
  EXPECT_EQ(endpoint.format, ReplyFormat::json_object);
  EXPECT_EQ(endpoint.timeout_ms, 7);
  EXPECT_EQ(endpoint.cost_in, 0.5);
  EXPECT_TRUE(endpoint.streams);
}

TEST(ModelSettings, are_read_from_the_environment) {
  std::string format = "?";
  LoopbackServer server([&format](const LoopbackServer::Request& request) -> Served {
    const Json body = Json::parse(request.body());
    format = body.value(Json::json_pointer("/text/format/type"), "none");
    Json content = {{{"type", "output_text"}, {"text", "{}"}}};
    return {.body = Json{{"output", {{{"type", "message"}, {"content", content}}}}}.dump()};
  });
  const std::map<std::string, std::string> variables = {{"CAIRN_MODEL_URL", server.url("/v1")},
                                                        {"CAIRN_MODEL", "tiny"},
                                                        {"CAIRN_MODEL_API", "responses"},
                                                        {"CAIRN_MODEL_MS", "5000"},
                                                        {"CAIRN_MODEL_STREAM", "never"}};
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const auto ask = [](const char* wanted) {
    setenv("CAIRN_MODEL_FORMAT", wanted, 1);
    ModelRequest request;
    request.messages = {{{"role", "user"}, {"content", "?"}}};
    request.schema = {{"type", "object"}};
    EXPECT_FALSE(testing::run(made(model_settings_from_environment())->ask(std::move(request))).failure) << wanted;
  };
  const std::vector<std::pair<const char*, const char*>> formats = {
      {"json_schema", "json_schema"}, {"json_object", "json_object"}, {"none", "none"}, {"text", "none"}};
  for (const auto& [wanted, sent] : formats) {
    ask(wanted);
    EXPECT_EQ(format, sent) << wanted;
  }
  setenv("CAIRN_MODEL_FORMAT", "xml", 1);
  EXPECT_EQ(make_model(model_settings_from_environment()).error().message,
            "Expected CAIRN_MODEL_FORMAT to be one of json_object, json_schema, none, text, but it is \"xml\".");
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
  unsetenv("CAIRN_MODEL_FORMAT");
  EXPECT_EQ(server.requests().size(), 4U);
  for (const auto& request : server.requests()) {
    EXPECT_EQ(request.target(), "/v1/responses");
    EXPECT_FALSE(Json::parse(request.body()).contains("stream"));
  }
}

TEST(NamedModels, without_a_default_only_what_the_file_names_is_there) {
  LoopbackServer server(echo_model);
  const testing::TemporaryFolder folder;
  ModelSettings settings;
  settings.file =
      folder.write("models.json", Json{{"models", {{"a", {{"url", server.url("/v1")}, {"model", "m"}}}}}}.dump());
  const auto model = made(settings);
  EXPECT_EQ(answered_by(*model, "a"), "m");
  EXPECT_EQ(answered_by(*model, "b"), "Expected a model of this worker, but there is no \"b\" here.");
}

TEST(NamedModels, the_file_of_the_guide_is_one) {
  std::ifstream file(std::filesystem::path(testing::source_dir()) / "ops/guide/running.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = page.find("{ \"models\"");
  ASSERT_NE(begin, std::string::npos);
  setenv("THINKER_KEY", "a-key-for-the-test", 1);
  const Result<NamedEndpoints> read = parse_models(Json::parse(page.substr(begin, page.find("```", begin) - begin)));
  unsetenv("THINKER_KEY");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->endpoints.size(), 2U);
}

TEST(NamedModels, a_faulty_file_is_one_sentence) {
  const auto fault = [](const std::string& document) {
    const Result<NamedEndpoints> read = parse_models(Json::parse(document));
    return read ? std::string("none") : read.error().message;
  };
  EXPECT_NE(fault("[]").find("Expected a models file like"), std::string::npos);
  EXPECT_NE(fault(R"({"models": {}})").find("Expected a models file like"), std::string::npos);
  EXPECT_NE(fault(R"({"models": {"a": {"url": "http://h/v1"}}})").find("\"url\" and \"model\" of model \"a\""),
            std::string::npos);
  EXPECT_NE(fault(R"({"models": {"a/b": {"url": "http://h/v1", "model": "m"}}})").find("the name of a model"),
            std::string::npos);
  EXPECT_NE(fault(R"({"models": {"a": {"url": "ftp://h", "model": "m"}}})").find("\"a\": url: Expected a URL"),
            std::string::npos);
  EXPECT_NE(fault(R"({"models": {"a": {"url": "http://h", "model": "m", "ms": "5"}}})").find("to be a number"),
            std::string::npos);
  EXPECT_NE(
      fault(R"({"models": {"a": {"url": "http://h", "model": "m", "api": "soap"}}})").find("one of chat, responses"),
      std::string::npos);
  EXPECT_NE(fault(R"({"models": {"a": {"url": "http://h", "model": "m", "cost_in": -1}}})").find("at least 0"),
            std::string::npos);
  EXPECT_NE(fault(R"({"models": {"a": {"url": "http://h", "model": "m", "colour": 1}}})").find("Expected only url"),
            std::string::npos);
  EXPECT_NE(fault(R"({"models": {"a": {"url": "http://h", "model": "m", "key": {"env": "CAIRN_TEST_NO_SUCH"}}}})")
                .find("no such variable"),
            std::string::npos);
  EXPECT_NE(
      fault(R"({"models": {"a": {"url": "http://h", "model": "m"}}, "default": "b"})").find("\"default\" to be one of"),
      std::string::npos);
  EXPECT_NE(fault(R"({"models": {"a": {"url": "http://h", "model": "m"}}, "extra": 1})").find("Expected only models"),
            std::string::npos);
  ModelSettings settings;
  settings.file = "/no/such/models.json";
  EXPECT_EQ(make_model(settings).error().code, Code::not_found);
  settings.file.clear();
  settings.url = "http://127.0.0.1:1/v1";
  settings.stream = "always";
  EXPECT_EQ(make_model(settings).error().message,
            "Expected CAIRN_MODEL_STREAM to be one of auto, never, but it is \"always\".");
}

}  // namespace
}  // namespace cairn

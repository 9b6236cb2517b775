#include "workers/gateway/remote_worker.hpp"

#include "engine/json.hpp"

namespace cairn {
namespace {

// Its steps are given to the worker, so that this is never called.
boost::asio::awaitable<StepResult> runs_elsewhere(StepInput, Ports&) {
  CHECK(false);
  co_return Failure{};
}

class ModelElsewhere : public Model {
 public:
  boost::asio::awaitable<ModelAnswer> ask(ModelRequest) override {
    CHECK(false);
    co_return ModelAnswer();
  }
};

class ToolsElsewhere : public Tools {
 public:
  explicit ToolsElsewhere(const ToolTable& table) : table_(table) {}
  boost::asio::awaitable<ToolAnswer> call(ToolCall) override {
    CHECK(false);
    co_return Failure{};
  }
  const ToolTable& table() const override { return table_; }

 private:
  const ToolTable& table_;
};

}  // namespace

struct RemoteWorker::Elsewhere {
  explicit Elsewhere(const ToolTable& table) : tools(table) {}
  ModelElsewhere model;
  ToolsElsewhere tools;
  Ports ports{model, tools};
};

RemoteWorker::RemoteWorker(RemoteWorkerSays says) : says_(std::move(says)) {
  CHECK(!says_.queues.empty());
  for (const RemoteHandler& one : says_.handlers) {
    Handler handler;
    handler.name = one.name;
    handler.labels = one.labels.empty() ? std::vector<std::string>{"ok"} : one.labels;
    handler.reads = one.reads;
    handler.reads_plan = one.reads_plan;
    handler.version = one.version;
    handler.run = EffectHandler(runs_elsewhere);
    handlers_.add(std::move(handler));
  }
  for (const RemoteTool& one : says_.tools) {
    ToolFacts facts;
    facts.queue = one.queue.empty() ? says_.queues.front() : one.queue;
    facts.about = one.about;
    tools_.emplace(one.name, std::move(facts));
  }
  ports_ = std::make_unique<Elsewhere>(tools_);
}
RemoteWorker::~RemoteWorker() = default;

Executor RemoteWorker::executor(SessionId id) const { return {handlers_, ports_->ports, id}; }

SessionRow RemoteWorker::row(SessionId id) const {
  SessionRow row;
  row.id = id;
  row.host = says_.name;
  row.queues = says_.queues;
  row.handlers.emplace();
  for (const RemoteHandler& one : says_.handlers) row.handlers->push_back(one.name);
  row.tools.emplace();
  for (const RemoteTool& one : says_.tools) row.tools->push_back(one.name);
  row.has_model = false;
  row.allows.emplace();
  row.alone = "";
  row.caller = says_.caller;
  Json tools = Json::array(), handlers = Json::array();
  for (const RemoteTool& one : says_.tools)
    tools.push_back(
        {{"name", one.name}, {"queue", tools_.at(one.name).queue}, {"about", one.about}, {"schema", one.schema}});
  for (const RemoteHandler& one : says_.handlers)
    handlers.push_back({{"name", one.name},
                        {"version", one.version},
                        {"labels", handlers_.find(one.name)->labels},
                        {"schema", one.schema}});
  row.declares = canonical({{"handlers", std::move(handlers)}, {"tools", std::move(tools)}});
  return row;
}

RemoteWorkerRef declared_worker(const SessionRow& row) {
  CHECK(row.caller && row.declares);
  const Json declared = parse_stored(*row.declares);
  RemoteWorkerSays says{row.host, *row.caller, row.queues, {}, {}};
  for (const Json& one : declared.value("handlers", Json::array()))
    says.handlers.push_back({.name = one.at("name").get<std::string>(),
                             .version = one.at("version").get<std::int32_t>(),
                             .labels = one.at("labels").get<std::vector<std::string>>(),
                             .schema = one.value("schema", Json())});
  for (const Json& one : declared.value("tools", Json::array()))
    says.tools.push_back({.name = one.at("name").get<std::string>(),
                          .queue = one.at("queue").get<std::string>(),
                          .about = one.at("about").get<std::string>(),
                          .schema = one.value("schema", Json())});
  return std::make_shared<const RemoteWorker>(std::move(says));
}

}  // namespace cairn

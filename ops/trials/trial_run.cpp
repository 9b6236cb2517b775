#include "ops/trials/trial_run.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "engine/run_json.hpp"
#include "ops/trials/checks.hpp"
#include "ops/trials/recordings.hpp"
#include "ops/trials/stand_in.hpp"
#include "storage/memory/memory_store.hpp"
#include "workers/client.hpp"
#include "workers/runtime/worker.hpp"
#include "workers/tools/corpus/corpus_tool.hpp"

namespace cairn {
namespace {

constexpr std::chrono::seconds patience_a_task{180};
constexpr std::chrono::minutes patience_with_model{30};  // a model of one's own machine takes its time
constexpr int turns_max = 100;
constexpr std::int32_t events_max = 20'000;
constexpr const char* corpus_of_task = "task";

std::string text_of_member(const Json& object, const char* name) {
  const auto at = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

Json with_places(Json value, const std::map<std::string, std::string>& names) {
  if (value.is_structured()) {
    for (Json& member : value) member = with_places(std::move(member), names);
    return value;
  }
  if (!value.is_string()) return value;
  std::string text = value.get<std::string>();
  for (const auto& [name, place] : names)
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + place.size()))
      text.replace(at, name.size(), place);
  return text;
}

// A document's paragraphs are its passages.
Document document_of(const std::string& name, const std::string& text) {
  Document document{std::string(corpus_of_task) + "/" + name, name, {}};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", at), text.size());
    if (end > at) document.passages.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  return document;
}

// --- judging ---------------------------------------------------------------------------------------------------------
// Whether the run itself says that something is not certain or not there.
bool is_doubt(const Json& document) {
  const Json output = document.value("output", Json::object());
  if (!output.is_object()) return true;
  const std::string answer = text_of_member(output, "answer");
  for (const char* word : {"not certain", "could not", "cannot", "not found", "I am sorry", "missing"})
    if (answer.find(word) != std::string::npos) return true;
  for (const char* list : {"assumptions", "conflicts", "missing", "unreadable"})
    if (output.contains(list) && output[list].is_structured() && !output[list].empty()) return true;
  const Json result = output.value("result", Json::object());
  return result.is_object() && result.contains("failed_nodes") && !result["failed_nodes"].empty();
}

std::string outcome_of(const Json& document) {
  const std::string status = text_of_member(document, "status");
  const Json output = document.value("output", Json::object());
  const std::string outcome = text_of_member(output, "outcome");
  if (status == "waiting" || outcome == "clarification") return "asked_back";
  if (status != "done" || outcome == "failed" || outcome == "blocked" || outcome == "partial") return "failed";
  const Json result = output.is_object() ? output.value("result", Json::object()) : Json::object();
  if (result.is_object() && result.contains("created_tasks") && result["created_tasks"].empty()) return "failed";
  return "wrong";
}

// --- one task --------------------------------------------------------------------------------------------------------
class Trial {
 public:
  Trial(const TrialTask& task, Catalogue& catalogue, std::chrono::seconds patience)
      : task_(task),
        patience_(patience),
        store_(make_memory_store(1)),
        catalogue_(catalogue),
        client_(*store_, catalogue, "measure") {
    client_.load_graphs();
  }

  // The run's document, when it has ended or waits for an answer that the task does not have. Refuses what the planner
  // refuses to begin.
  Result<Json> run(const std::string& planner, Json input, Places& places) {
    StartRun start;
    start.graph = planner;
    start.input = std::move(input);
    if (const GraphRef graph = client_.graphs().current(planner)) start.version = graph->version;  // begins at once
    const Result<Started> started = client_.start(std::move(start), "");
    if (!started) return started.error();
    run_ = started->run;
    places[to_string(run_)] = "{{run}}";
    limit_ = std::chrono::steady_clock::now() + patience_;
    for (int turn = 0; turn < turns_max; ++turn) {
      work();
      const Result<RunState> state = client_.state(run_);
      if (!state) return state.error();
      if (is_ended(state->status) || !answer(*state)) break;
    }
    return document();
  }

 private:
  void work() {
    WorkerOptions options;
    options.until = [this] {
      const std::optional<RunRow> row = store_->run(run_);
      return std::chrono::steady_clock::now() > limit_ || (row && (is_ended(row->status) || row->waiting));
    };
    Worker(*store_, catalogue_, options).run();
  }

  // Whether a person of the task answers what the run asks.
  bool answer(const RunState& state) {
    const Json shown = state_json(state);
    const Json questions = shown.value("questions", Json::array());
    if (questions.empty()) return false;
    const Json& question = questions.front();
    const std::string asked = canonical(question);
    for (std::size_t i = 0; i < task_.answers.size(); ++i) {
      const Json& said = task_.answers[i];
      if (used_.contains(i) || asked.find(said.value("if", std::string())) == std::string::npos) continue;
      used_.insert(i);
      Answer command;
      command.question = question.value("id", std::string());
      command.value = said["value"];
      command.by = "measure";
      return client_.command(run_, std::move(command)).ok();
    }
    return false;
  }

  Result<Json> document() {
    const Result<RunState> state = client_.state(run_);
    if (!state) return state.error();
    Json shown = client_.expand_blobs(state_json(*state), 0);
    const Result<std::vector<Event>> events = client_.events(run_, 0, events_max);
    if (!events) return events.error();
    shown["events"] = Json::object();
    shown["calls"] = 0;
    shown["repairs"] = 0;
    for (const Event& event : *events) {
      const Json line = event_json(run_, event);
      const std::string type = text_of_member(line, "type");
      shown["events"][type] = shown["events"].value(type, 0) + 1;
      if (type != "model_called") continue;
      shown["calls"] = shown["calls"].get<int>() + 1;
      if (line.value("ok", Json()) == false) shown["repairs"] = shown["repairs"].get<int>() + 1;
    }
    return shown;
  }

  const TrialTask& task_;
  std::chrono::seconds patience_;
  std::unique_ptr<Store> store_;
  Catalogue& catalogue_;
  Client client_;
  RunId run_;
  std::chrono::steady_clock::time_point limit_;
  std::set<std::size_t> used_;
};

// --- all tasks -------------------------------------------------------------------------------------------------------
class Trials {
 public:
  Trials(const TrialOptions& options, const ReachServer& server)
      : options_(options),
        around_(options.folder, server),
        model_server_([this](const LocalRequest& request) { return stand_in_.answer(request); }) {}

  Result<std::vector<TrialVerdict>> run() {
    const Result<std::vector<TrialFile>> files = read_trials(options_.folder, options_.planners);
    if (!files) return files.error();
    std::vector<TrialVerdict> verdicts;
    for (const TrialFile& file : *files) {
      if (const Status is_read = begin_planner(file.planner); !is_read) return is_read.error();
      for (const TrialTask& task : file.tasks) {
        const auto& names = options_.tasks;
        if (!names.empty() && std::find(names.begin(), names.end(), task.name) == names.end()) continue;
        const Result<TrialVerdict> verdict = run_task(file, task);
        if (!verdict) return verdict.error();
        if (options_.judged) options_.judged(*verdict);
        verdicts.push_back(*verdict);
        if (!keeps_recordings()) continue;
        if (const Status kept = write_recordings(options_.recordings, file.planner, recorded_); !kept)
          return kept.error();
      }
    }
    if (verdicts.empty()) return Error{Code::not_found, "Expected tasks of these names, but there are none."};
    return verdicts;
  }

 private:
  bool keeps_recordings() const { return options_.answers != TrialAnswers::recordings && !options_.recordings.empty(); }

  std::chrono::seconds patience() const {
    return options_.answers == TrialAnswers::model ? patience_with_model : patience_a_task;
  }

  // Recordings of tasks that are not measured this time are kept.
  Status begin_planner(const std::string& planner) {
    recorded_.clear();
    const bool goes_on = keeps_recordings() && !options_.tasks.empty() && has_recordings(options_.recordings, planner);
    if (options_.answers != TrialAnswers::recordings && !goes_on) return Done{};
    Result<std::map<std::string, Recorded>> read = read_recordings(options_.recordings, planner);
    if (!read) return read.error();
    recorded_ = *std::move(read);
    return Done{};
  }

  CatalogueOptions catalogue_options(const TrialFile& file, const TrialTask& task) {
    CatalogueOptions made;
    if (options_.answers == TrialAnswers::model) made.models = model_settings_from_environment();
    if (options_.answers == TrialAnswers::stand_in) {
      made.models.url = model_server_.url() + "/v1";
      made.models.model = "stand-in";
      made.models.ms = std::to_string(stand_in_patience_ms);
    }
    if (file.planner == "page_agent") made.browser_pages = around_.pages() + "/";
    std::vector<Document> documents;
    for (const std::string& name : task.documents)
      documents.push_back(document_of(name, text_of_member(file.documents, name.c_str())));
    if (!documents.empty()) made.corpora = corpora_in_memory({{corpus_of_task, std::move(documents)}});
    return made;
  }

  Result<std::unique_ptr<Catalogue>> catalogue_for(const TrialFile& file, const TrialTask& task) {
    Result<std::unique_ptr<Catalogue>> catalogue = make_catalogue(catalogue_options(file, task));
    if (!catalogue || task.database.empty()) return catalogue;
    Result<Dataset> dataset = around_.database(task.database);
    if (!dataset) return dataset.error();
    (*catalogue)->dataset = *std::move(dataset);
    return catalogue;
  }

  Result<std::map<std::string, std::string>> places_of(const TrialFile& file, const TrialTask& task) {
    std::map<std::string, std::string> places;
    if (file.planner == "page_agent") places["{{pages}}"] = around_.pages();
    if (task.repository.empty()) return places;
    Result<std::string> folder = around_.repository(file.planner, task.repository, file.repositories[task.repository]);
    if (!folder) return folder.error();
    places["{{repository}}"] = *std::move(folder);
    return places;
  }

  // Puts the recorder, or the recordings, in the place of the catalogue's model; gives back the model itself.
  std::unique_ptr<Model> take_model(Catalogue& catalogue, const TrialTask& task, const Places& places) {
    std::unique_ptr<Model> own = std::move(catalogue.model);
    Recorded& recorded = recorded_[task.name];
    if (options_.answers == TrialAnswers::recordings) {
      catalogue.model = make_recorded_model(recorded, places);
      catalogue.has_model = true;
    } else {
      recorded.exchanges.clear();
      catalogue.model = make_recording_model(*own, places, recorded);
    }
    return own;
  }

  Result<TrialVerdict> run_task(const TrialFile& file, const TrialTask& task) {
    const Result<std::map<std::string, std::string>> named = places_of(file, task);
    if (!named) return named.error();
    Places places;
    for (const auto& [name, place] : *named) places[place] = name;
    Result<std::unique_ptr<Catalogue>> catalogue = catalogue_for(file, task);
    if (!catalogue) return catalogue.error();
    const std::unique_ptr<Model> own = take_model(**catalogue, task, places);
    stand_in_.begin(task.replies);
    Json input = with_places(task.input, *named);
    if (!task.documents.empty()) input["corpus"] = corpus_of_task;
    Result<Json> document = Trial(task, **catalogue, patience()).run(file.planner, std::move(input), places);
    if (!document) document = Json{{"status", "refused"}, {"reason", document.error().message}, {"output", nullptr}};
    return judge(file, task, *document);
  }

  TrialVerdict judge(const TrialFile& file, const TrialTask& task, const Json& document) {
    const bool is_stand_in = options_.answers == TrialAnswers::stand_in;
    TrialVerdict verdict{file.planner, task.name, task.kind, "", false, is_stand_in && task.has_faults(), 0, 0, 0, ""};
    verdict.calls = document.value("calls", 0);
    verdict.repairs = document.value("repairs", 0);
    const bool has_other = verdict.is_faulted && !task.checks_with_faults.is_null();
    const Status held = hold_checks(has_other ? task.checks_with_faults : task.checks, document);
    if (!held) verdict.why = held.error().message;
    if (is_stand_in) {
      for (const std::string& complaint : stand_in_.complaints()) verdict.why += " The stand-in: " + complaint;
      if (verdict.why.empty() && stand_in_.faults_left() > 0)
        verdict.why = "The run did not come to a fault that was mixed in.";
    }
    verdict.changed = recorded_[task.name].changed;
    verdict.is_doubted = is_doubt(document);
    verdict.outcome = verdict.why.empty() ? "right" : outcome_of(document);
    return verdict;
  }

  const TrialOptions& options_;
  TrialSurroundings around_;
  StandIn stand_in_;
  LocalServer model_server_;
  std::map<std::string, Recorded> recorded_;  // of the planner at hand, by task
};

}  // namespace

std::string_view to_string(TrialAnswers answers) {
  switch (answers) {
    case TrialAnswers::offline:
      return "offline";
    case TrialAnswers::stand_in:
      return "stand-in";
    case TrialAnswers::model:
      return "model";
    case TrialAnswers::recordings:
      return "recordings";
  }
  return "";
}

Result<std::vector<TrialVerdict>> run_trials(const TrialOptions& options, const ReachServer& server) {
  return Trials(options, server).run();
}

}  // namespace cairn

// The page agent end to end: its plan, its actions, and what surrounds a task. S2_nn in a name is the requirement that
// the test holds.
#include "tests/workers/planners/page_agent/page_agent_turns.hpp"

namespace cairn::test::paging {
namespace {

// --- the plan --------------------------------------------------------------------------------------------------------
TEST(PageAgent, S2_01_a_plan_is_made_only_when_there_is_none) {
  Turns task({});
  EXPECT_EQ(task.calls("planning"), 1);
  task.turn();
  EXPECT_EQ(task.calls("planning"), 1);
  EXPECT_EQ(task.labels("planning"), (std::vector<std::string>{"planned", "reused"}));
}

TEST(PageAgent, S2_02_a_new_task_is_analysed_searched_and_planned_from_all_that_is_known) {
  const auto asked = std::make_shared<std::vector<Json>>();
  Turns task({says("context_analysis", analysis(true))},
             {{"search", {{"tool", "find"}}}, {"rag_chunks", {"chunk one"}}, {"has_org_knowledge", true}},
             finder(asked));
  EXPECT_EQ(task.planner.path(task.run),
            (std::vector<std::string>{"observe", "context_analysis", "web_search", "create_task", "planning",
                                      "step_refinement", "outcome_prediction", "finalize"}));
  const std::vector<Json> created = task.events("plan_created");
  ASSERT_EQ(created.size(), 1U);
  EXPECT_EQ(created[0]["version"], 1);
  EXPECT_EQ(task.index(), 0);
  const Json data = task.data("planning");
  EXPECT_EQ(data["goal"], "Add a new patient with name Jas");
  EXPECT_EQ(data["url"], home);
  EXPECT_EQ(data["dom"], dom_of(4));
  EXPECT_EQ(data["rag_chunks"], Json::array({"chunk one"}));
  EXPECT_EQ(data["has_org_knowledge"], true);
  EXPECT_EQ(data["web_search_result"]["found"], "how to add a patient");
  EXPECT_EQ(data["context"]["id"], to_string(task.run));
  for (const Json& call : task.events("model_called")) {
    EXPECT_TRUE(call["node"] != "planning" || has(call["request"].dump(), "chunk one"));
  }
}

TEST(PageAgent, S2_03_the_analysis_alone_decides_on_searching) {
  const auto asked = std::make_shared<std::vector<Json>>();
  Json searching = step("Search the web");
  searching["tool_type"] = "SERVER";
  Turns task({says("context_analysis", analysis(false)), says("planning", plan_of({searching}))},
             {{"search", {{"tool", "find"}}}}, finder(asked));
  EXPECT_TRUE(asked->empty());
  EXPECT_FALSE(task.visited("web_search"));
}

TEST(PageAgent, S2_04_the_plan_is_kept_when_all_workers_are_gone_between_turns) {
  Turns task({});
  const Json before = task.channel("plan");
  task.turn();  // by another worker, which knows nothing of the first
  EXPECT_EQ(task.channel("plan"), before);
  EXPECT_EQ(task.channel("plan_version"), 1);
}

TEST(PageAgent, S2_05_the_index_is_fixed_within_a_turn) {
  Turns task({});
  task.turns(2);
  std::vector<std::string> setters;
  for (const Json& event : task.events("step_succeeded")) {
    if (event["patch"].contains("turn")) setters.push_back(event["node"].get<std::string>());
  }
  EXPECT_EQ(setters, (std::vector<std::string>{"create_task", "planning", "load_context", "load_context"}));
  EXPECT_EQ(task.index(), 2);
}

TEST(PageAgent, S2_06_the_index_is_the_plans_own_or_the_full_count_of_actions) {
  const Json settings = {{"velocity_limit", 100}};
  Turns counted({}, {{"plan", plan_of(steps(20))}, {"settings", settings}});
  counted.turns(14);
  EXPECT_EQ(counted.index(), 14);
  EXPECT_EQ(counted.data("step_refinement")["previous_actions"].size(), 10U);
  Json own = plan_of(steps(20));
  own["current_step_index"] = 3;
  Turns given({}, {{"plan", own}, {"settings", settings}});
  EXPECT_EQ(given.index(), 3);
  EXPECT_EQ(given.data("step_refinement")["step"]["description"], "step 3");
}

TEST(PageAgent, S2_07_after_a_new_plan_the_index_counts_from_it) {
  Turns task({says("replanning", checked(false, Json::array(), true))},
             {{"plan", plan_of(steps(20))}, {"settings", {{"velocity_limit", 100}}}});
  task.turns(6);
  EXPECT_EQ(task.index(), 6);
  task.turn(dom_of(4), "http://b/");
  EXPECT_EQ(task.index(), 0);
  EXPECT_EQ(task.channel("actions").size(), 7U);
  task.turn(dom_of(4), "http://b/");
  EXPECT_EQ(task.index(), 1);
}

TEST(PageAgent, S2_08_beyond_the_last_step_an_action_is_generated) {
  Turns task({says("planning", plan_of(steps(1)))});
  task.turn();
  EXPECT_EQ(task.calls("step_refinement"), 1) << "only for the step there is";
  EXPECT_EQ(task.labels("step_refinement"), (std::vector<std::string>{"refined", "fallback"}));
  EXPECT_EQ(task.calls("action_generation"), 1);
}

// --- acting ----------------------------------------------------------------------------------------------------------
TEST(PageAgent, S2_09_a_step_becomes_an_action_on_a_numbered_element) {
  Turns task({says("step_refinement", refines("setValue(3, \"Jas\")"))});
  const std::vector<Json> proposed = task.events("decision_proposed");
  EXPECT_EQ(proposed.back()["action"], "setValue(3, \"Jas\")");
  EXPECT_EQ(proposed.back()["index"], 0);
  EXPECT_EQ(proposed.back()["target"], "1.1");
  const std::vector<Json> asked = task.events("question_asked");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0]["kind"], "client_action");
  EXPECT_EQ(asked[0]["prompt"]["action"], "setValue(3, \"Jas\")");
  EXPECT_EQ(task.planner.path(task.run).back(), "finalize");
}

TEST(PageAgent, S2_10_a_failed_refinement_and_a_server_tool_fall_back) {
  for (const Json& reply :
       {says("step_refinement", refines("", "SERVER")), says("step_refinement", refines("click(1)", "SERVER")),
        says("step_refinement", refines("click(77)")), says("step_refinement", refines("dance(1)")),
        says("step_refinement", "free text")}) {
    Turns task({reply, says("action_generation", acts("click(2)"))});
    EXPECT_EQ(task.labels("step_refinement"), std::vector<std::string>{"fallback"}) << reply;
    EXPECT_EQ(task.channel("pending")["action"], "click(2)") << reply;
  }
  Turns refused({fails("step_refinement")});
  EXPECT_EQ(refused.labels("step_refinement"), std::vector<std::string>{"error"});
  EXPECT_TRUE(refused.visited("action_generation"));
}

TEST(PageAgent, S2_11_without_a_plan_an_action_is_generated) {
  Turns task({fails("planning")});
  EXPECT_FALSE(task.visited("step_refinement"));
  EXPECT_EQ(task.labels("action_generation"), std::vector<std::string>{"generated"});
  EXPECT_TRUE(task.channel("plan").is_null());
}

TEST(PageAgent, S2_12_a_generated_action_is_structured_or_asked_for_again) {
  const Json free_text = {{"node", "action_generation"},
                          {"reply", {{"role", "assistant"}, {"content", "Just click it."}}}};
  Turns task({fails("planning"), free_text, says("action_generation", acts("click(2)"))});
  EXPECT_EQ(task.calls("action_generation"), 2);
  ASSERT_EQ(task.events("step_failed").size(), 2U);  // the planning, and this
  EXPECT_EQ(task.events("step_failed")[1]["error"], "bad_reply");
  EXPECT_TRUE(task.data("action_generation").contains("last_attempt_failed"));
  EXPECT_EQ(task.channel("pending")["action"], "click(2)");
  Turns dances(
      {fails("planning"), says("action_generation", acts("dance(1)")), says("action_generation", acts("click(2)"))});
  EXPECT_EQ(dances.calls("action_generation"), 2) << "a form that fits and an action that is none";
  EXPECT_EQ(dances.channel("pending")["action"], "click(2)");
}

TEST(PageAgent, S2_13_of_many_actions_the_last_ten_and_a_count_are_told) {
  const auto recent_of = [](int count) {
    Json actions = Json::array();
    for (int i = 0; i < count; ++i) actions.push_back(i);
    return page_agent::recent_actions(actions, 0, 10);
  };
  EXPECT_EQ(recent_of(10).summary, "");
  EXPECT_EQ(recent_of(10).actions.size(), 10U);
  EXPECT_EQ(recent_of(11).summary, "1 earlier steps completed.");
  EXPECT_EQ(recent_of(11).actions.front(), 1);
  EXPECT_EQ(recent_of(25).summary, "15 earlier steps completed.");
  Turns task({}, {{"plan", plan_of(steps(20))}, {"settings", {{"velocity_limit", 100}}}});
  task.turns(11);
  EXPECT_TRUE(has(task.prompt("step_refinement"), "\n1 earlier steps completed.\n{")) << task.prompt("step_refinement");
}

// --- around it -------------------------------------------------------------------------------------------------------
TEST(PageAgent, S2_41_without_a_verification_there_is_no_sentence_and_no_error) {
  Turns task({says("verification", verdict(true, false)), fails("verification")});
  task.turn();
  EXPECT_TRUE(has(task.prompt("step_refinement"), "Previous action succeeded"));
  task.turn();
  EXPECT_FALSE(has(task.prompt("step_refinement"), "Previous action succeeded"));
  EXPECT_EQ(task.status(), "running");
}

struct StepEnd {
  std::string node;
  std::int32_t attempt = 0;  // 0: closed by the engine: a question, for which no process worked
  SessionId worker = 0;
  bool has_failed = false;
};

std::optional<StepEnd> end_of(const EventBody& body) {
  if (const auto* done = std::get_if<StepSucceeded>(&body)) return StepEnd{done->node, done->attempt, done->worker};
  if (const auto* failed = std::get_if<StepFailed>(&body))
    return StepEnd{failed->node, failed->attempt, failed->worker, true};
  return std::nullopt;
}

struct StepEvent {
  Event event;
  std::optional<StepEnd> end;  // of the attempt in which it was written: the next one of its step
};

// The events of steps, the latest first.
std::vector<StepEvent> events_of_steps(const std::vector<EventRow>& rows) {
  std::vector<StepEvent> events;
  std::map<StepId, StepEnd> next;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    const Event event = *event_of(*row);
    if (event.step == 0) continue;
    if (std::optional<StepEnd> end = end_of(event.body)) next[event.step] = *std::move(end);
    const auto found = next.find(event.step);
    events.push_back({event, found == next.end() ? std::nullopt : std::optional(found->second)});
  }
  return events;
}

// The task is the run, the session a tag of it, the process that of the worker of each attempt: from every event of a
// step in the store one comes to all three. Two tasks of two people, each turn by a worker of its own.
TEST(PageAgent, S2_42_every_node_is_on_record_with_process_session_and_task) {
  PlannerRun planner(
      make_scripted_model(script_of({says("verification", verdict(true, false)), fails("verification")})));
  struct AtWork {
    std::string session;  // in whose turn it was there first
    SessionRow row;
  };
  std::string turn_of;
  std::map<SessionId, AtWork> at_work;  // that were there when a model was asked
  planner.before_each_request([&](const ModelRequest&) {
    for (const SessionRow& row : planner.store().sessions().all()) at_work.try_emplace(row.id, AtWork{turn_of, row});
  });
  std::map<std::string, RunId> tasks;
  for (const char* session : {"s-7", "s-8"}) {
    StartRun start;
    start.graph = "page_agent";
    start.input = {{"goal", "g"}, {"client", true}, {"url", home}, {"dom", dom_of(2)}};
    start.tags = {{"session", session}};
    tasks[session] = planner.client().start(start, "")->run;
    turn_of = session;
    planner.work(tasks[session]);
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (const auto& [session, task] : tasks) {
      turn_of = session;
      const Json answer = {{"dom", dom_of(2)}, {"url", home}, {"session", session}};
      ASSERT_TRUE(planner.client().command(task, Answer{"", answer, "", {}}));
      planner.work(task);
    }
  }
  EXPECT_GE(at_work.size(), 4U);
  std::map<std::string, int> failed;
  for (const auto& [session, task] : tasks) {
    RunFilter of_session;
    of_session.tags = {{"session", session}};
    const std::vector<RunRow> found = planner.store().runs(of_session);
    ASSERT_EQ(found.size(), 1U) << session;
    EXPECT_EQ(found[0].id, task);
    EXPECT_EQ(planner.events(task, "run_started").at(0)["tags"]["session"], session);
    std::set<SessionId> workers;
    std::set<StepId> open;
    for (const auto& [event, end] : events_of_steps(planner.store().events(found[0].id, 0, 10'000))) {
      if (!end) open.insert(event.step);
      if (!end) continue;
      EXPECT_FALSE(end->node.empty()) << type_of(event.body);
      if (end->attempt == 0) continue;
      ASSERT_TRUE(at_work.contains(end->worker)) << type_of(event.body) << " of " << end->node;
      const AtWork& worker = at_work.at(end->worker);
      EXPECT_EQ(worker.session, session) << type_of(event.body) << " of " << end->node;
      EXPECT_FALSE(worker.row.host.empty() || worker.row.pid == 0) << "the worker names its process";
      workers.insert(end->worker);
      if (end->has_failed && end_of(event.body)) ++failed[session];
    }
    EXPECT_LE(open.size(), 1U) << "the question that waits";
    EXPECT_GE(workers.size(), 2U) << "each turn by another worker";
  }
  EXPECT_EQ(failed.size(), 1U) << "one verification failed, and is on record too";
}

TEST(PageAgent, S2_43_a_large_page_is_stored_once) {
  Turns task({});
  task.turn(dom_of(4, "<p>" + std::string(2'000'000, 'x') + "</p>"));
  std::map<std::string, int> hashes;
  for (const char* type : {"question_answered", "step_succeeded"}) {
    for (const Json& event : task.events(type)) {
      const Json value =
          type == std::string("question_answered") ? event["value"] : event["patch"].value("page", Json());
      const Json before = event.value("patch", Json::object()).value("before", Json());
      for (const Json& part : {value, before}) {
        if (part.is_object() && part.contains("$blob")) ++hashes[part["$blob"].get<std::string>()];
      }
      EXPECT_LT(event.dump().size(), 40'000U) << event["node"];
    }
  }
  ASSERT_EQ(hashes.size(), 1U);
  EXPECT_GE(hashes.begin()->second, 3);
  EXPECT_LT(task.data("step_refinement")["dom"].get<std::string>().size(), 30'000U);
}

TEST(PageAgent, S2_44_a_turn_of_another_tenant_user_or_session_is_refused) {
  PlannerRun planner(make_scripted_model(script_of({})));
  StartRun start;
  start.graph = "page_agent";
  start.input = {{"goal", "g"}, {"client", true}, {"url", home}, {"dom", dom_of(2)}};
  start.tags = {{"tenant", "clinic"}, {"user", "ann"}, {"session", "s-7"}};
  const Result<Started> started = planner.client().start(start, "");
  ASSERT_TRUE(started);
  planner.work(started->run);
  const auto answer = [&](Json more) {
    Json value = {{"dom", dom_of(2)}, {"url", home}};
    value.update(more);
    return planner.client().command(started->run, Answer{"", value, "", {}});
  };
  const Json own = {{"tenant", "clinic"}, {"user", "ann"}, {"session", "s-7"}};
  for (const auto& [name, value] : own.items()) {
    Json wrong = own;
    wrong[name] = "other";
    Json lacking = own;
    lacking.erase(name);
    for (const Json& who : {wrong, lacking}) {
      const Status refused = answer(who);
      ASSERT_FALSE(refused) << who;
      EXPECT_EQ(refused.error().code, Code::invalid);
    }
  }
  EXPECT_TRUE(answer(own));
  Turns other({});  // without a run a new task
  EXPECT_NE(to_string(other.run), to_string(started->run));
}

TEST(PageAgent, S2_45_what_else_a_verification_says_is_kept_and_not_read) {
  Json said = verdict(true, false);
  said["state_drift"] = {{"client_witness", "override"}};
  said["before_dom_hash"] = "abc";
  Turns task({says("verification", said)});
  task.turn();
  EXPECT_EQ(task.channel("verification"), said);
  EXPECT_EQ(task.labels("verification"), std::vector<std::string>{"passed"});
}

TEST(PageAgent, S2_46_the_search_is_the_configured_one_when_knowledge_does_not_suffice) {
  const auto asked = std::make_shared<std::vector<Json>>();
  const Json search = {{"tool", "find"}, {"domains", {"clinic.example"}}};
  Turns low({says("context_analysis", analysis(true, true, 0.69))}, {{"search", search}}, finder(asked));
  ASSERT_EQ(asked->size(), 1U);
  EXPECT_EQ((*asked)[0]["domains"], Json::array({"clinic.example"}));
  ASSERT_EQ(low.events("tool_called").size(), 1U);
  EXPECT_EQ(low.events("tool_called")[0]["tool"], "find");
  Turns sure({says("context_analysis", analysis(true, true, 0.7))}, {{"search", search}}, finder(asked));
  EXPECT_EQ(sure.labels("web_search"), std::vector<std::string>{"grounded"});
  EXPECT_EQ(asked->size(), 1U);
  Turns lacking({says("context_analysis", analysis(true, false, 0.9))}, {{"search", search}}, finder(asked));
  EXPECT_EQ(asked->size(), 2U);
  const Json options = {{"web_search_options", Json::object()}, {"reasoning_effort", "high"}};
  Turns grounded({says("context_analysis", analysis(true))}, {{"model_options", {{"planning", options}}}});
  EXPECT_EQ(grounded.labels("web_search"), std::vector<std::string>{"grounded"});
  EXPECT_EQ(grounded.planner.model().of("planning").back().options, options);
}

// Grounding is the model's own: the prompt of the plan asks for it, and nothing was called in its place.
TEST(PageAgent, S2_46_without_a_search_the_plan_is_to_be_grounded_by_default) {
  Turns grounded({says("context_analysis", analysis(true))});
  EXPECT_EQ(grounded.labels("web_search"), std::vector<std::string>{"grounded"});
  EXPECT_EQ(grounded.events("decision_enforced").at(0)["action"], "ground_plan");
  EXPECT_TRUE(grounded.events("tool_called").empty());
  EXPECT_EQ(grounded.data("planning")["grounded"], true);
  const std::string system = grounded.planner.model().of("planning").back().messages[0]["content"];
  EXPECT_TRUE(has(system, "If `grounded` is true")) << system;
  Turns enough({says("context_analysis", analysis(false))});
  EXPECT_EQ(enough.data("planning")["grounded"], false);
  Turns searched({says("context_analysis", analysis(true))}, {{"search", {{"tool", "find"}}}},
                 finder(std::make_shared<std::vector<Json>>()));
  EXPECT_EQ(searched.data("planning")["grounded"], false);
  EXPECT_EQ(searched.data("planning")["web_search_result"]["found"], "how to add a patient");
}

TEST(PageAgent, S2_47_a_turn_without_its_page_is_refused_and_the_question_stays) {
  Turns task({});
  for (const Json& value :
       {Json{{"url", home}}, Json{{"dom", dom_of(1)}}, Json{{"dom", ""}, {"url", home}}, Json("done")}) {
    const Status refused = task.try_answer(value);
    ASSERT_FALSE(refused) << value;
    EXPECT_EQ(refused.error().code, Code::invalid);
  }
  EXPECT_EQ(task.planner.state(task.run).questions.size(), 1U);
  EXPECT_TRUE(task.events("replan_decided").empty());
  task.turn();
  EXPECT_EQ(task.events("question_answered").size(), 1U);
}

TEST(PageAgent, an_input_without_a_page_fails_in_one_sentence) {
  PlannerRun planner(make_scripted_model(script_of({})));
  const RunId run = planner.run("page_agent", {{"goal", "g"}, {"client", true}, {"url", home}});
  EXPECT_EQ(planner.state(run).status, RunStatus::failed);
  EXPECT_TRUE(has(planner.state(run).reason, "the client's dom is missing")) << planner.state(run).reason;
}

}  // namespace
}  // namespace cairn::test::paging

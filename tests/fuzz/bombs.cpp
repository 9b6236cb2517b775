#include "tests/fuzz/bombs.hpp"

#include <random>

#include "engine/json.hpp"
#include "tests/fuzz/targets.hpp"

namespace cairn::fuzz {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int n = 0; n < times; ++n) all += text;
  return all;
}

std::string number(int n) { return std::to_string(n); }

// --- graphs ---------------------------------------------------------------------------------------------------------

Json graph_of(Json nodes) {
  return {{"name", "bomb"}, {"start", "a"}, {"limits", {{"steps", 1'000'000'000}}}, {"nodes", std::move(nodes)}};
}

Json step_to_the_end(Json more) {
  Json node = {{"do", "x.y"}, {"labels", {"ok"}}, {"on", {{"ok", "z"}}}};
  node.update(more);
  return graph_of({{"a", node}, {"z", {{"end", "done"}}}});
}

Json asks_with(const Json& schema) {
  const Json ask = {{"kind", "question"}, {"prompt", "?"}, {"schema", schema}};
  return graph_of({{"a", {{"ask", ask}, {"on", {{"answered", "z"}, {"expired", "z"}}}}}, {"z", {{"end", "done"}}}});
}

// A start that leads to four calls of the same graph, without any step of a worker's.
Json calls_itself() {
  Json nodes = {{"a", {{"map", "sub_goals"}, {"on", {{"joined", {"c1", "c2", "c3", "c4"}}}}}},
                {"j", {{"do", "x.y"}, {"labels", {"ok"}}, {"join", true}, {"on", {{"ok", "z"}}}}},
                {"z", {{"end", "done"}}}};
  for (int n = 1; n <= 4; ++n) nodes["c" + number(n)] = {{"call", "bomb"}, {"on", {{"done", "j"}, {"failed", "j"}}}};
  return graph_of(nodes);
}

// Each node leads to twelve others.
Json dense(int count) {
  Json nodes = {{"z", {{"end", "done"}}}};
  const auto name = [&](int n) { return n == 0 ? std::string("a") : n < count ? "n" + number(n) : std::string("z"); };
  for (int n = 0; n < count; ++n) {
    Json edges = Json::object();
    Json labels = Json::array();
    for (int edge = 1; edge <= 12; ++edge) {
      edges["l" + number(edge)] = name(std::min(n + edge, count));
      labels.push_back("l" + number(edge));
    }
    nodes[name(n)] = {{"do", "x.y"}, {"labels", labels}, {"on", edges}};
  }
  return graph_of(nodes);
}

// Fan-outs in fan-outs: two branches each, and a join for each.
Json nested(int depth) {
  Json nodes = {{"z", {{"end", "done"}}}};
  const auto step = [](const Json& next) { return Json{{"do", "x.y"}, {"labels", {"ok"}}, {"on", {{"ok", next}}}}; };
  for (int n = 0; n < depth; ++n) {
    const std::string inner = n + 1 < depth ? "f" + number(n + 1) : "m" + number(n);
    nodes[n == 0 ? "a" : "f" + number(n)] = step({inner, "s" + number(n)});
    nodes["s" + number(n)] = step("j" + number(n));
    if (n + 1 == depth) nodes[inner] = step("j" + number(n));
    nodes["j" + number(n)] = step(n == 0 ? "z" : "j" + number(n - 1));
    nodes["j" + number(n)]["join"] = true;
  }
  return graph_of(nodes);
}

std::string many(const std::string& value, int count) { return "[" + value + repeated("," + value, count - 1) + "]"; }

// --- schemas --------------------------------------------------------------------------------------------------------

// Each definition refers twice to the next.
Json doubling(int depth) {
  Json defs = Json::object();
  for (int n = 0; n < depth; ++n) {
    const Json next = {{"$ref", "#/$defs/a" + number(n + 1)}};
    defs["a" + number(n)] = {{"allOf", {next, next}}};
  }
  defs["a" + number(depth)] = {{"type", "string"}};
  return {{"$ref", "#/$defs/a0"}, {"$defs", defs}};
}

Json distinct(int count) {
  Json values = Json::array();
  for (int n = 0; n < count; ++n) values.push_back(n);
  return values;
}

struct SchemaBomb {
  std::string name;
  Json schema;
  Json value;
};
std::vector<SchemaBomb> schema_bombs() {
  const std::string branches = "^(a|a|b)*$";
  return {{"H2_pattern_of_95000", {{"pattern", repeated("a", 95'000)}}, "a"},
          {"H2_pattern_nested", {{"pattern", repeated("(", 20'000) + "a" + repeated(")", 20'000)}}, "a"},
          {"H2_pattern_slow", {{"pattern", branches}}, repeated("a", 31)},
          {"H2_pattern_slow_and_long", {{"pattern", branches + "|" + repeated("c", 1'000)}}, repeated("a", 31) + "!"},
          {"H2_pattern_counted", {{"pattern", "(((a{1,99}){1,99}){1,99}){1,99}"}}, repeated("a", 500)},
          {"H2_doubling_references", doubling(48), "text"},
          {"H2_unique_items", {{"uniqueItems", true}}, distinct(100'000)},
          {"H2_pattern_properties",
           {{"patternProperties", {{"^(a|a)*$", {{"type", "string"}}}}}},
           {{repeated("a", 25) + "!", "x"}}}};
}

void add_schemas(std::vector<Bomb>& all) {
  for (const SchemaBomb& bomb : schema_bombs()) {
    const Json reply = {{"schema", bomb.schema}, {"reply", {{"content", bomb.value.dump()}}}};
    all.push_back({"model_reply", bomb.name, reply.dump()});
    all.push_back({"graph", bomb.name, asks_with(bomb.schema).dump()});
  }
}

// --- plans ----------------------------------------------------------------------------------------------------------

Json input_of(Json plan) { return {{"goal", "g"}, {"sub_goals", std::move(plan)}}; }
Json goal_of(int n, Json inputs) { return {{"id", "g" + number(n)}, {"tool", "echo"}, {"inputs", std::move(inputs)}}; }
Json slot_of(int n) { return {{"from_sub_goal", "g" + number(n)}, {"slot", "x"}}; }

// Each takes the slot of the one before into 180 arrays.
Json wrapped_plan(int count) {
  Json plan = Json::array();
  for (int n = 0; n < count; ++n) {
    Json value = n == 0 ? Json(1) : slot_of(n - 1);
    for (int depth = 0; depth < 180; ++depth) value = Json::array({std::move(value)});
    plan.push_back(goal_of(n, {{"x", std::move(value)}}));
  }
  return input_of(plan);
}

// Each comes after all before it.
Json dense_plan(int count) {
  Json plan = Json::array();
  Json before = Json::array();
  for (int n = 0; n < count; ++n) {
    Json goal = goal_of(n, Json::object());
    goal["after"] = before;
    before.push_back("g" + number(n));
    plan.push_back(std::move(goal));
  }
  return input_of(plan);
}

Json wide_plan(int count) {
  Json plan = Json::array();
  for (int n = 0; n < count; ++n) plan.push_back(goal_of(n, {{"x", n}}));
  return input_of(plan);
}

// One slot, named again and again by one sub-goal.
Json repeating_plan(int count) {
  Json slots = Json::array();
  for (int n = 0; n < count; ++n) slots.push_back(slot_of(0));
  return input_of(Json::array({goal_of(0, {{"x", repeated("y", 900)}}), goal_of(1, {{"x", std::move(slots)}})}));
}

void add_plans(std::vector<Bomb>& all) {
  all.push_back({"plan", "A2_wrapped_slots", wrapped_plan(400).dump()});
  all.push_back({"plan", "A7_wide", wide_plan(10'000).dump()});
  all.push_back({"plan", "A19_all_after_all", dense_plan(300).dump()});
  all.push_back({"plan", "A9_one_slot_a_thousand_times", repeating_plan(1'000).dump()});
  all.push_back(
      {"plan", "A1_a_long_id", input_of(Json::array({Json{{"id", repeated("i", 6'000)}, {"tool", "echo"}}})).dump()});
}

// --- texts ----------------------------------------------------------------------------------------------------------

void add_texts(std::vector<Bomb>& all) {
  all.push_back({"foreign", "A2_open_arrays", repeated("[", 1'000'000)});
  all.push_back({"foreign", "A2_open_objects", repeated("{\"a\":", 150'000)});
  all.push_back({"foreign", "H9_escapes", repeated("\033]52;c;x\a\033[2J", 60'000)});
  all.push_back({"foreign", "H9_a_text_of_escapes", "\"" + repeated("\\u009b\\u202e", 60'000) + "\""});
  all.push_back({"foreign", "many_numbers", many("0.1", 200'000)});
  all.push_back({"foreign", "long_number", repeated("1", 900'000)});
  all.push_back({"codec", "A2_deep_payload", std::string("\1\1", 2) + repeated("[", 150) + repeated("]", 150)});
  all.push_back({"codec", "many_values", std::string("\4\1", 2) + R"({"patch":{"x":)" + many("1", 300'000) + "}}"});
  all.push_back({"history", "many_events", repeated(std::string("\1\0\1\0\0\1\2\3\4\5\6\7\10\11", 14), 5'000)});
  all.push_back({"history", "many_goals", repeated(std::string("\0\1\4\0\0\1\0\0", 8), 5'000)});
}

Json schedule_with(Json more) {
  Json fields = {{"graph", "g"}, {"cron", Json::array({"* * * * *"})}};
  fields.update(more);
  return fields;
}

// Lines that eat memory or time elsewhere, and a zone that says that it is very large.
void add_schedules(std::vector<Bomb>& all) {
  const Json without_days = Json::array({"SUN,MON,TUE,WED,THU,FRI,SAT"});
  Json lines = Json::array(), rare = Json::array(), ranges = Json::array();
  for (int n = 0; n < 20; ++n) {
    lines.push_back("1--100000000 * * * *");
    rare.push_back(number(n) + " 0 29 2 " + number(n % 7) + "#5");
    ranges.push_back(repeated("0001-01-01..9999-12-31,", 11) + "12-25");
  }
  all.push_back({"schedule", "a_range_of_a_hundred_million", schedule_with({{"cron", lines}}).dump()});
  all.push_back({"schedule", "days_of_which_all_are_left_out", schedule_with({{"exclude", without_days}}).dump()});
  all.push_back({"schedule", "many_left_out", schedule_with({{"exclude", ranges}}).dump()});
  all.push_back({"schedule", "rare_lines", schedule_with({{"cron", rare}, {"exclude", without_days}}).dump()});
  all.push_back(
      {"schedule", "seconds_left_out", schedule_with({{"every_ms", 1'000}, {"exclude", without_days}}).dump()});
  all.push_back({"schedule", "a_long_list", schedule_with({{"cron", Json::array({repeated("1,", 100'000)})}}).dump()});
  std::string head = "TZif2" + std::string(15, '\0');
  for (int n = 0; n < 6; ++n) head += "\x7f\xff\xff\xff";
  all.push_back({"time_zone", "counts_beyond_the_file", head});
  all.push_back({"time_zone", "a_large_file", head + std::string(1'100'000, '\1')});
}

// States after many events, and each with a number that points elsewhere.
void add_states(std::vector<Bomb>& all) {
  std::minstd_rand random(7);
  for (int n = 0; n < 60; ++n) {
    std::string bytes;
    for (int byte = 0; byte < 40 + 30 * n; ++byte) bytes += static_cast<char>(random() % 256);
    all.push_back({"state", "after_" + number(40 + 30 * n) + "_choices", state_after(bytes)});
  }
  Json state = parse_stored(all.back().bytes);
  for (Json& branch : state["branches"])
    if (branch.is_object()) branch["parent"] = branch.value("id", 1);
  all.push_back({"state", "A11_branches_of_themselves", state.dump()});
}

void add_graphs(std::vector<Bomb>& all) {
  const auto add = [&](const char* name, const Json& graph) { all.push_back({"graph", name, graph.dump()}); };
  add("A1_long_queue", step_to_the_end({{"queue", repeated("q", 6'000)}}));
  add("A12_calls_itself", calls_itself());
  add("H3_repeated_references", step_to_the_end({{"with", {{"x", Json::parse(many("\"$a\"", 1'500))}}}}));
  add("H8_dense", dense(400));
  add("H18_attempts", step_to_the_end({{"retry", {{"attempts", 1'000'000'000}}}}));
  add("nested_fan_outs", nested(200));
}

Json logic_of(const char* handler, Json with) {
  return graph_of(
      {{"a", {{"do", handler}, {"with", std::move(with)}, {"on", {{"ok", "z"}}}}}, {"z", {{"end", "done"}}}});
}

Json asks_in_a_circle(Json prompt) {
  const Json ask = {{"kind", "question"}, {"prompt", std::move(prompt)}};
  return graph_of(
      {{"a", {{"ask", ask}, {"on", {{"answered", "z"}, {"expired", "z"}, {"error", "a"}}}}}, {"z", {{"end", "done"}}}});
}

// A circle of nodes that need no worker, with names of a thousand bytes.
Json circle() {
  const std::string name = repeated("n", 1'000);
  Json graph = graph_of(
      {{name, {{"map", "sub_goals"}, {"on", {{"joined", name}, {"partial", "z"}}}}}, {"z", {{"end", "done"}}}});
  graph["start"] = name;
  return graph;
}

// Graphs that an author may write, and a run then multiplies.
void add_runs(std::vector<Bomb>& all) {
  const auto add = [&](const char* name, const Json& graph, const Json& input) {
    all.push_back({"run", name, Json{{"graph", graph}, {"input", input}}.dump()});
  };
  const Json references = Json::parse(many("\"$a\"", 1'500));
  const Json large = {{"a", repeated("y", 900'000)}};
  Json takes = Json::object();
  for (int n = 0; n < 2'000; ++n) takes["k" + number(n)] = "";
  add("A12_calls_itself", calls_itself(), Json::object());
  add("A12_a_circle", circle(), Json::object());
  add("H3_repeated_references", logic_of("data.set", {{"set", {{"x", references}}}}), large);
  add("H3_a_prompt_of_references", asks_in_a_circle(references), large);
  add("H3_a_failure_in_a_circle", asks_in_a_circle("$a/" + repeated("p", 900'000)), Json::object());
  add("H3_one_element_taken_often", logic_of("data.map", {{"over", "$a"}, {"take", takes}}),
      {{"a", Json::array({repeated("y", 900'000)})}});
  add("H3_a_long_separator", logic_of("data.compute", {{"set", {{"x", {{"join", {"$a", "$b"}}}}}}}),
      {{"a", Json(20'000, 0)}, {"b", repeated("s", 100'000)}});
  add("H2_a_list_in_itself", logic_of("data.map", {{"over", "$a"}, {"where", {{"at", ""}, {"in", "$a"}}}}),
      {{"a", distinct(100'000)}});
}

}  // namespace

std::vector<Bomb> bombs() {
  std::vector<Bomb> all;
  add_graphs(all);
  add_schemas(all);
  add_plans(all);
  add_runs(all);
  add_texts(all);
  add_schedules(all);
  add_states(all);
  return all;
}

}  // namespace cairn::fuzz

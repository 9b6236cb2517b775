// The 39 broken graphs of the review of 2026 (F6, F7 of its list): one sound graph, spoiled in one place each, and what
// the check says of it.
#include <algorithm>
#include <gtest/gtest.h>
#include <ostream>

#include "engine/graph_parsing.hpp"
#include "workers/catalogue.hpp"

namespace cairn {
namespace {

const Json& order() {
  static const Json graph = Json::parse(R"({
    "name": "order", "start": "ask_size", "limits": {"steps": 20},
    "nodes": {
      "ask_size": {"ask": {"kind": "question", "prompt": "Which size?", "schema": {"enum": ["small", "large"]},
                           "default": "small"}, "into": "size", "expires_ms": 3600000,
                   "on": {"answered": "choose", "expired": "none"}},
      "choose": {"do": "data.pick", "labels": ["small", "large"], "with": {"value": "$size"},
                 "on": {"small": "make", "large": "make"}},
      "make": {"do": "tool.call", "with": {"tool": "echo", "inputs": {"size": "$size"}, "into": "cup"},
               "retry": {"attempts": 3, "backoff_ms": 500}, "on": {"ok": "served", "error": "none"}},
      "served": {"end": {"status": "done", "output": {"cup": "$cup"}}},
      "none": {"end": {"status": "failed", "reason": "No coffee today."}}}})");
  return graph;
}

const Catalogue& catalogue() {
  static const auto made = *make_catalogue({});
  return *made;
}

GraphReview reviewed(const Json& graph) { return review_graph(graph, surroundings_of(catalogue())); }

enum class Is { fault, warning };

struct Broken {
  std::string name;
  std::string merged;  // into the sound graph, as RFC 7396 says: null removes
  Is kind = Is::fault;
  std::string says;
};

void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.name; }

// The six that are no JSON are in BadInput.no_door_for_json_takes_what_is_none_of_ours; these can be read.
const std::vector<Broken> broken_graphs = {
    {"no_start", R"({"start": null})", Is::fault, "Expected the graph's start to be a node, but it is missing."},
    {"unknown_start", R"({"start": "nowhere"})", Is::fault, "there is no \"nowhere\""},
    {"no_limits", R"({"limits": null})", Is::fault, "Expected the graph's limits to be an object, but it is missing."},
    {"limit_of_nothing", R"({"limits": {"steps": 0}})", Is::fault,
     "to be an integer from 1 to 1000000000, but it is 0."},
    {"limit_as_text", R"({"limits": {"steps": "20"}})", Is::fault, "but it is \"20\"."},
    {"unknown_limit", R"({"limits": {"tokens": 5}})", Is::fault, "it has \"tokens\""},
    {"edge_to_nowhere", R"({"nodes": {"make": {"on": {"ok": "serve"}}}})", Is::fault, "there is no \"serve\""},
    {"edge_to_a_number", R"({"nodes": {"make": {"on": {"ok": 3}}}})", Is::fault,
     "to lead to a node or to a list of nodes"},
    {"no_edge_for_a_label", R"({"nodes": {"choose": {"on": {"large": null}}}})", Is::fault,
     "Expected node \"choose\" to have an edge for \"large\", but it has none."},
    {"edge_for_no_label", R"({"nodes": {"choose": {"on": {"huge": "make"}}}})", Is::fault,
     "it has an edge for \"huge\""},
    {"two_verbs", R"({"nodes": {"make": {"wait": {"ms": 1}}}})", Is::fault, "it has do and wait"},
    {"no_verb", R"({"nodes": {"make": {"do": null}}})", Is::fault, "it has none"},
    {"unknown_key", R"({"nodes": {"make": {"retries": 3}}})", Is::fault, "it has \"retries\""},
    {"key_of_another_verb", R"({"nodes": {"make": {"expires_ms": 3}}})", Is::fault, "it has \"expires_ms\""},
    {"name_with_capitals", R"({"name": "Order"})", Is::fault,
     "to be lower-case letters, digits and _, but it is \"Order\""},
    {"node_name_with_a_dash", R"({"nodes": {"no-one": {"end": "done"}}})", Is::fault, "\"no-one\" to be named by"},
    {"unreachable_node", R"({"nodes": {"alone": {"end": "done"}}})", Is::fault, "node \"alone\" to be reachable from"},
    {"no_end_in_reach", R"({"nodes": {"make": {"on": {"ok": "make", "error": "make"}}}})", Is::fault, "reach"},
    {"attempts_of_none", R"({"nodes": {"make": {"retry": {"attempts": 0}}}})", Is::fault, "but it is 0."},
    {"jitter_above_one", R"({"nodes": {"make": {"retry": {"jitter": 1.5}}}})", Is::fault,
     "a number from 0 to 1, but it is 1.5"},
    {"join_outside_a_fan_out", R"({"nodes": {"make": {"join": true}}})", Is::fault, "join"},
    {"budget_not_declared", R"({"nodes": {"make": {"spends": "tries"}}})", Is::fault, "there is no \"tries\""},
    {"expiry_as_text", R"({"nodes": {"ask_size": {"expires_ms": "soon"}}})", Is::fault, "but it is \"soon\""},
    {"unknown_reducer", R"({"channels": {"size": {"reducer": "mean"}}})", Is::fault, "but it is \"mean\""},
    {"unknown_status", R"({"nodes": {"none": {"end": {"status": "broken"}}}})", Is::fault, "but it is \"broken\""},
    {"handler_without_a_dot", R"({"nodes": {"make": {"do": "call"}}})", Is::fault, "to be a name like planner.node"},
    // The ten that passed.
    {"handler_with_a_typo", R"({"nodes": {"choose": {"do": "data.pik"}}})", Is::warning,
     "Expected a handler that this program has, but node \"choose\" names \"data.pik\" (did you mean data.pick?)."},
    {"tool_with_a_typo", R"({"nodes": {"make": {"with": {"tool": "ecoh"}}}})", Is::warning,
     "Expected a tool that this program has, but node \"make\" calls \"ecoh\" (did you mean echo?)."},
    {"channel_with_a_typo", R"({"nodes": {"make": {"with": {"inputs": {"size": "$sise"}}}}})", Is::warning,
     "Expected channel \"sise\" (did you mean size?) to be written before node \"make\" reads it, but only a run's "
     "input may bring it, and the graph's \"input\" does not name it."},
    {"pointer_into_a_text", R"({"nodes": {"make": {"with": {"inputs": {"size": "$size/foo/bar"}}}}})", Is::fault,
     "Expected channel \"size\" to be an object or a list where node \"make\" reads $size/foo/bar, but it is a text."},
    {"channel_with_a_typo_and_an_input",
     R"({"input": {"additionalProperties": false}, "nodes": {"make": {"with": {"inputs": {"size": "$sise/a"}}}}})",
     Is::fault, "but nothing does, and the graph's \"input\" forbids it."},
    {"call_without_with", R"({"nodes": {"make": {"with": null}}})", Is::fault,
     "Expected the \"with\" of node \"make\" to have \"tool\", which tool.call needs, but it has not."},
    {"setting_with_a_typo", R"({"nodes": {"make": {"with": {"tool": null, "toool": "echo"}}}})", Is::fault,
     "to have settings of tool.call, but it has \"toool\" (did you mean tool?)."},
    {"schema_of_no_type", R"({"nodes": {"ask_size": {"ask": {"schema": {"type": "strng"}}}}})", Is::fault,
     "In the schema of the question of node \"ask_size\": Expected a JSON Schema that can be used"},
    {"default_past_the_schema", R"({"nodes": {"ask_size": {"ask": {"default": "huge"}}}})", Is::fault,
     "In the default of the question of node \"ask_size\": "},
    {"output_of_no_schema", R"({"output": {"contains": {}, "maxContains": 2}})", Is::fault,
     "In the graph's output: Expected a JSON Schema that can be used, but maxContains is not known."},
    {"output_that_lacks_a_field", R"({"output": {"required": ["cup", "price"]}})", Is::warning,
     "In the output of node \"served\": Expected \"price\", but it is missing."},
    {"output_of_another_kind",
     R"({"output": {"properties": {"cup": {"type": "number"}}}, "nodes": {"served": {"end": {"output": {"cup": "?"}}}}})",
     Is::warning, "In the output of node \"served\": Expected the value at /cup to fit"},
    {"call_of_no_graph", R"({"nodes": {"choose": {"do": null, "labels": null, "with": null, "call": "tool_agnt",
                             "on": {"small": null, "large": null, "done": "make", "failed": "none"}}}})",
     Is::warning, "calls \"tool_agnt\" (did you mean tool_agent?)."},
    {"pick_of_no_label", R"({"nodes": {"choose": {"with": {"labels": {"S": "small", "L": "tiny"}}}}})", Is::fault,
     "Expected node \"choose\" to leave by one of its labels, but its \"with\" names \"tiny\"."},
    {"error_that_cannot_be", R"({"nodes": {"served": {"end": {"output": "$error/message"}}}})", Is::fault,
     "Expected an edge for a failure before node \"served\", which reads $error, but none leads there."},
    // Those of the acceptance of issue 19.
    {"pattern_that_is_none",
     R"({"nodes": {"choose": {"do": "data.test", "labels": null,
         "with": {"value": null, "if": {"or": [{"matches": ["$size", "("]}]}},
         "on": {"small": null, "large": null, "true": "make", "false": "make"}}}})",
     Is::fault,
     "In the \"with\" of node \"choose\": Expected a regular expression of at most 256 bytes, but found \"(\"."},
    {"object_into_a_channel_of_lists", R"({"channels": {"cup": {"reducer": "append"}}})", Is::fault,
     "Expected node \"make\" to give channel \"cup\", whose reducer is append, a list, but it gives an object."},
    {"text_into_a_channel_of_numbers", R"({"channels": {"size": {"reducer": "sum"}}})", Is::fault,
     "Expected node \"ask_size\" to give channel \"size\", whose reducer is sum, a number, but it gives a text."},
    {"decision_without_a_label",
     R"({"nodes": {"choose": {"do": "model.decide", "with": {"value": null, "prompt": "Which?", "label_field": "size",
         "schema": {"properties": {"size": {"enum": ["small", "tall"]}}}}}}})",
     Is::fault, "Expected node \"choose\" to leave by one of its labels, but its \"with\" names \"tall\""},
    {"pick_without_a_label", R"({"nodes": {"choose": {"labels": ["small"], "on": {"large": null}}}})", Is::warning,
     "to have a label for each value that it may pick by, but it has none for \"large\", and no \"default\"."},
    {"queue_with_a_typo", R"({"nodes": {"make": {"queue": "defualt"}}})", Is::warning,
     "but node \"make\" waits in \"defualt\" (did you mean default?)."},
    {"braces_that_do_not_close", R"({"nodes": {"none": {"end": {"reason": "No {{cup today."}}}})", Is::warning,
     "Expected braces that close, but node \"none\" has \"{{cup\" without }} after it."},
    {"budget_that_nothing_spends", R"({"budgets": {"tries": {"cap": 3}}})", Is::warning,
     "Expected a node that spends budget \"tries\", but none does."},
    {"channel_that_nothing_uses", R"({"channels": {"notes": {"reducer": "append"}}})", Is::warning,
     "Expected channel \"notes\" of \"channels\" to be used"},
    {"call_of_itself_on_every_way",
     R"({"nodes": {"ask_size": {"on": {"expired": "choose"}},
         "choose": {"do": null, "labels": null, "with": null, "call": "order",
                    "on": {"small": null, "large": null, "done": "make", "failed": "none"}}}})",
     Is::warning, "Expected a way to an end on which the graph does not call itself"},
    {"input_that_a_tool_does_not_take",
     R"({"nodes": {"make": {"with": {"tool": "sleep", "inputs": {"size": null, "mss": 5}}}}})", Is::warning,
     "Expected inputs that tool sleep takes, but node \"make\" gives it \"mss\" (did you mean ms?)."},
    {"question_that_no_value_answers", R"({"nodes": {"ask_size": {"ask": {"schema": {"enum": []}, "default": null}}}})",
     Is::fault,
     "In the schema of the question of node \"ask_size\": Expected one that some value fits, but none does."},
    {"choices_of_another_type", R"({"nodes": {"ask_size": {"ask": {"schema": {"type": "integer"}}}}})", Is::fault,
     "Expected one that some value fits, but none does."},
    {"field_of_error_with_a_typo", R"({"nodes": {"none": {"end": {"reason": "No cup: {{error/mesage}}"}}}})",
     Is::warning,
     "Expected error, message, node, step or attempt of $error, but node \"none\" reads \"mesage\" (did you mean "
     "message?)."},
    {"default_of_a_reference_with_a_typo",
     R"({"nodes": {"make": {"with": {"inputs": {"size": {"$": "size", "defualt": "small"}}}}}})", Is::warning,
     "Expected \"$\" and \"default\" alone in a reference, but node \"make\" has \"defualt\" (did you mean default?) "
     "next to it: the object stands for itself."},
    {"input_of_a_called_graph_with_a_typo",
     R"({"nodes": {"make": {"do": null, "retry": null, "call": "plan_runner", "into": "cup",
         "with": {"tool": null, "inputs": null, "into": null, "gaol": "a cup", "sub_goals": []},
         "on": {"ok": null, "error": null, "done": "served", "failed": "none"}}}})",
     Is::warning,
     "Expected inputs that graph plan_runner reads, but node \"make\" gives it \"gaol\" (did you mean goal?)."},
    {"fewer_steps_than_any_way_has",
     R"({"limits": {"steps": 2}, "nodes": {"ask_size": {"on": {"expired": "choose"}}}})", Is::warning,
     "Expected limits.steps to allow a way to an end, but it is 2, and the shortest way has 3 steps."},
    {"expiry_beyond_the_time_of_a_run", R"({"limits": {"ms": 60000}})", Is::warning,
     "Expected node \"ask_size\" to leave within the time of a run, limits.ms 60000, but it waits for 3600000 ms."},
    // Maps over items.
    {"map_with_a_setting_with_a_typo",
     R"({"nodes": {"make": {"do": null, "with": null, "on": {"ok": null, "joined": "served"},
         "map": {"over": ["$size"], "do": "tool.call", "with": {"tool": "echo", "input": "$item"}, "into": "cup"}}}})",
     Is::fault, "to have settings of tool.call, but it has \"input\" (did you mean inputs?)."},
    {"map_of_a_graph_with_a_typo",
     R"({"nodes": {"make": {"do": null, "with": null, "retry": null, "on": {"ok": null, "joined": "served"},
         "map": {"over": ["$size"], "call": "tool_agnt", "into": "cup"}}}})",
     Is::warning, "calls \"tool_agnt\" (did you mean tool_agent?)."},
    {"item_read_outside_of_a_map", R"({"nodes": {"none": {"end": {"reason": "{{item}}"}}}})", Is::warning,
     "Expected channel \"item\" to be written before node \"none\" reads it"},
    {"written_only_on_success", R"({"nodes": {"none": {"end": {"reason": "{{cup}}"}}}})", Is::warning,
     "Expected channel \"cup\" to be written before node \"none\" reads it"},
    // Logic that never has a result.
    {"order_of_an_operation",
     R"({"nodes": {"choose": {"do": "data.test", "labels": null,
         "with": {"value": null, "if": {"gt": [{"count": "$size"}, 0]}},
         "on": {"small": null, "large": null, "true": "make", "false": "make"}}}})",
     Is::fault, "for gt, but found {\"count\":\"$size\"}: operations do not nest; compute it in a step before."},
    {"equality_with_an_operation",
     R"({"nodes": {"choose": {"do": "data.test", "labels": null,
         "with": {"value": null, "if": {"not": {"eq": [{"count": "$size"}, 3]}}},
         "on": {"small": null, "large": null, "true": "make", "false": "make"}}}})",
     Is::warning,
     "Expected values for eq, but {\"count\":\"$size\"} stands for itself: operations do not nest; compute it in a "
     "step before."},
    {"order_of_a_number_and_a_text",
     R"({"nodes": {"choose": {"do": "data.test", "labels": null, "with": {"value": null, "if": {"gt": [3, "b"]}},
         "on": {"small": null, "large": null, "true": "make", "false": "make"}}}})",
     Is::fault, "Expected two numbers or two texts of one kind for gt"},
    {"a_number_in_a_text",
     R"({"nodes": {"choose": {"do": "data.test", "labels": null, "with": {"value": null, "if": {"in": [3, "123"]}},
         "on": {"small": null, "large": null, "true": "make", "false": "make"}}}})",
     Is::fault, "Expected a text for in, but found 3."},
    {"order_of_a_text_channel_and_a_number",
     R"({"nodes": {"choose": {"do": "data.test", "labels": null, "with": {"value": null, "if": {"gt": ["$size", 3]}},
         "on": {"small": null, "large": null, "true": "make", "false": "make"}}}})",
     Is::fault, "Expected channel \"size\" to be a number where node \"choose\" takes it for gt, but it is a text."},
    {"condition_beside_cases",
     R"({"nodes": {"choose": {"do": "data.test", "labels": null,
         "with": {"value": null, "if": {"eq": [1, 1]}, "cases": [{"if": {"eq": [1, 1]}, "label": "true"}]},
         "on": {"small": null, "large": null, "true": "make", "false": "make"}}}})",
     Is::fault, "Expected either \"if\" or \"cases\", but found both."},
    {"neither_a_condition_nor_cases",
     R"({"nodes": {"choose": {"do": "data.test", "labels": null, "with": {"value": null, "default": "true"},
         "on": {"small": null, "large": null, "true": "make", "false": "make"}}}})",
     Is::fault, "Expected either \"if\" or \"cases\", but found none of them."},
    {"case_with_then",
     R"({"nodes": {"choose": {"do": "data.test", "labels": null,
         "with": {"value": null, "cases": [{"if": {"eq": [1, 1]}, "then": "true"}]},
         "on": {"small": null, "large": null, "true": "make", "false": "make"}}}})",
     Is::fault, "Expected an \"if\" and a \"label\" in each case, but found"},
    {"sum_of_a_number",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null, "with": {"value": null, "set": {"n": {"sum": 5}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected a list of numbers for sum, but found 5."},
    {"sum_of_a_text",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"sum": ["a", 1]}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected a number for sum, but found \"a\"."},
    {"sum_of_an_operation",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"sum": [{"count": "$size"}, 1]}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "for sum, but found {\"count\":\"$size\"}: operations do not nest; compute it in a step before."},
    {"difference_of_three",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"difference": [1, 2, 3]}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected two numbers for difference, but found [1,2,3]."},
    {"quotient_by_nothing",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"quotient": ["$size", 0]}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected a divisor that is not 0 for quotient"},
    {"round_to_too_many_digits",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"round": [1.5, 16]}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected a number and how many digits, 0 to 15, for round"},
    {"count_of_a_number",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null, "with": {"value": null, "set": {"n": {"count": 5}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected a text or a list or an object for count, but found 5."},
    {"least_of_nothing",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null, "with": {"value": null, "set": {"n": {"min": []}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected at least one value for min"},
    {"most_of_unlike_values",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"max": [1, "a"]}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected numbers or texts of one kind for max"},
    {"texts_with_a_number",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"concat": ["a", 1]}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected a text or a list for concat, but found 1."},
    {"list_without_a_separator",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"join": [["a"]]}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected a list and a separator for join"},
    {"group_by_nothing",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"group": ["a"]}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected a JSON Pointer as \"by\" for group"},
    {"direction_as_a_text",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"sort": [2, 1], "descending": "yes"}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected true or false as \"descending\" for sort"},
    {"round_of_a_channel",
     R"({"nodes": {"ask_size": {"ask": {"schema": {"enum": null, "type": "array"}, "default": null}},
         "choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"round": "$size"}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::warning, "Expected [NUMBER, DIGITS] for round, but \"$size\" has to hold both."},
    {"count_of_a_boolean_channel",
     R"({"nodes": {"ask_size": {"ask": {"schema": {"enum": null, "type": "integer"}, "default": 3}},
         "choose": {"do": "data.compute", "labels": null,
         "with": {"value": null, "set": {"n": {"count": "$size"}}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault,
     "Expected channel \"size\" to be a text or a list or an object where node \"choose\" takes it for count"},
    // Settings that no step can use.
    {"chat_without_a_prompt",
     R"({"nodes": {"make": {"do": "model.chat", "with": {"tool": null, "inputs": null, "into": "cup"}}}})", Is::fault,
     "Expected either \"prompt\" or \"messages\", but found none of them."},
    {"chat_with_two_prompts",
     R"({"nodes": {"make": {"do": "model.chat", "with": {"tool": null, "inputs": null, "into": "cup",
         "prompt": "Hi", "messages": [{"role": "user", "content": "Hi"}]}}}})",
     Is::fault, "Expected either \"prompt\" or \"messages\", but found both."},
    {"messages_as_a_text",
     R"({"nodes": {"make": {"do": "model.chat", "with": {"tool": null, "inputs": null, "into": "cup",
         "messages": "hi"}}}})",
     Is::fault, "Expected a list as \"messages\", but found \"hi\"."},
    {"results_that_call_again_without_what_came_of_it",
     R"({"nodes": {"make": {"do": "tool.results", "labels": ["ok", "asks"], "on": {"asks": "served"},
         "with": {"tool": null, "inputs": null, "into": "cup", "messages": [], "asked_into": "asked"}}}})",
     Is::fault, "Expected \"asked\" with \"asked_into\", but it is missing."},
    {"inputs_as_a_text", R"({"nodes": {"make": {"with": {"inputs": "x"}}}})", Is::fault,
     "Expected an object as \"inputs\", but found \"x\"."},
    {"labels_as_a_list", R"({"nodes": {"choose": {"with": {"labels": ["small"]}}}})", Is::fault,
     "Expected an object as \"labels\", but found [\"small\"]."},
    {"set_as_a_list",
     R"({"nodes": {"choose": {"do": "data.set", "labels": null, "with": {"value": null, "set": [1]},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected an object as \"set\", but found [1]."},
    // Kinds of channels.
    {"map_over_a_text",
     R"({"nodes": {"make": {"do": null, "with": null, "retry": null, "on": {"ok": null, "joined": "served"},
         "map": {"over": "$size", "do": "tool.call", "with": {"tool": "echo", "inputs": {"a": "$item"}},
         "into": "cup"}}}})",
     Is::fault, "Expected channel \"size\" to be a list where node \"make\" takes it for its map, but it is a text."},
    {"wait_for_a_text",
     R"({"nodes": {"choose": {"do": null, "labels": null, "with": null, "wait": {"ms": "$size"},
         "on": {"small": null, "large": null, "fired": "make"}}}})",
     Is::fault, "Expected channel \"size\" to be a number where node \"choose\" takes it for its time"},
    {"text_channel_into_a_sum",
     R"({"channels": {"total": {"reducer": "sum"}},
         "nodes": {"choose": {"do": "data.set", "labels": null, "with": {"value": null, "set": {"total": "$size"}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault,
     "Expected channel \"size\" to be a number where node \"choose\" takes it for channel \"total\", whose reducer is "
     "sum, but it is a text."},
    // Schemas that nothing fits.
    {"input_that_is_a_list", R"({"input": {"type": "array"}})", Is::fault,
     "In the graph's input: Expected a schema that some object fits, but none does: no run could begin."},
    {"input_that_forbids_what_it_asks_for",
     R"({"input": {"required": ["name"], "properties": {"nme": {}}, "additionalProperties": false}})", Is::fault,
     "In the graph's input: Expected a schema that some object fits"},
    {"question_with_bounds_that_leave_nothing",
     R"({"nodes": {"ask_size": {"ask": {"schema": {"enum": null, "type": "integer", "minimum": 5, "maximum": 1},
         "default": null}}}})",
     Is::fault, "Expected one that some value fits, but none does."},
    // Channels that may be missing.
    {"cleanup_that_reads_what_may_not_be_there",
     R"({"finally": "tidy", "nodes": {"tidy": {"do": "tool.call", "with": {"tool": "echo", "inputs": {"a": "$cup"}},
         "on": {"ok": "over"}}, "over": {"end": "failed"}}})",
     Is::warning,
     "Expected a default for channel \"cup\" where node \"tidy\" of the cleanup reads it, as a run may end before "
     "anything has written it."},
    {"read_after_nothing_arrived", R"({"nodes": {"none": {"end": {"reason": "No {{size}} cup.", "output": null}},
         "make": {"on": {"error": "lost"}}, "lost": {"end": "failed"}}})",
     Is::warning, "Expected channel \"size\" to be written before node \"none\" reads it"},
    {"join_that_was_forgotten",
     R"({"nodes": {"ask_size": {"on": {"answered": ["choose", "make"]}},
         "choose": {"do": "data.set", "labels": null, "with": {"value": null, "set": {"lid": 1}},
         "on": {"small": null, "large": null, "ok": "both"}}, "make": {"on": {"ok": "both", "error": "both"}},
         "both": {"do": "data.set", "with": {"set": {"all": ["$lid", "$cup"]}}, "on": {"ok": "met"}},
         "met": {"do": "data.set", "join": true, "with": {"set": {"x": 1}}, "on": {"ok": "served"}}}})",
     Is::warning,
     "Expected \"join\": true at node \"both\", which reads \"lid\" and \"cup\" of two branches, but it is executed "
     "once for each of them."},
    // Texts that stand for themselves.
    {"dollar_inside_of_a_text", R"({"nodes": {"none": {"end": {"reason": "No cup of size $size."}}}})", Is::warning,
     "Expected {{size}} for a value in a text, but node \"none\" has \"No cup of size $size.\", which stands for "
     "itself."},
    {"dollar_inside_of_braces", R"({"nodes": {"none": {"end": {"reason": "No {{$size}}."}}}})", Is::warning,
     "Expected {{size}} for a value in a text"},
    {"three_braces", R"({"nodes": {"none": {"end": {"reason": "No {{{size}}}."}}}})", Is::warning,
     "Expected {{size}} for a value in a text"},
    {"dollar_twice", R"({"nodes": {"make": {"with": {"inputs": {"size": {"$": "$size"}}}}}})", Is::warning,
     "Expected a channel's name after \"$\", but node \"make\" has \"$size\": write size."},
    {"braces_inside_of_a_reference", R"({"nodes": {"served": {"end": {"output": "$cup/{{size}}"}}}})", Is::warning,
     "Expected a channel and a pointer after \"$\", but node \"served\" has \"cup/{{size}}\", in which nothing is "
     "filled "
     "in: a text that begins with a dollar begins with \"$$\"."},
    {"price_at_the_beginning_of_a_text", R"({"nodes": {"none": {"end": {"reason": "$5 are too much."}}}})", Is::warning,
     "but node \"none\" has \"5 are too much.\", in which nothing is filled in"},
    {"dots_in_a_reference", R"({"nodes": {"served": {"end": {"output": "{{cup.size.name}}"}}}})", Is::warning,
     "node \"served\" reads \"cup.size.name\": write cup/size/name."},
    {"dollar_before_a_channel_that_is_written",
     R"({"nodes": {"choose": {"do": "data.set", "labels": null, "with": {"value": null, "set": {"$size": 1}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::warning, "Expected the name of a channel, but node \"choose\" writes \"$size\": write size."},
    {"signal_with_braces",
     R"({"nodes": {"make": {"do": null, "with": null, "retry": null, "wait": {"signal": "made {{size}}"},
         "on": {"ok": null, "error": null, "fired": "none"}}, "served": null}})",
     Is::warning,
     "Expected a signal that stands in the graph, but node \"make\" has \"made {{size}}\", in which nothing"},
    {"queue_of_a_channel", R"({"nodes": {"make": {"queue": "$size"}}})", Is::warning,
     "Expected a queue that stands in the graph, but node \"make\" has \"$size\", in which nothing is filled in."},
    {"kind_with_braces", R"({"nodes": {"ask_size": {"ask": {"kind": "{{size}}"}}}})", Is::warning,
     "Expected a kind of question that stands in the graph"},
    {"written_channel_with_braces",
     R"({"nodes": {"choose": {"do": "data.set", "labels": null, "with": {"value": null, "set": {"cup {{size}}": 1}},
         "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::warning, "Expected the name of a channel that stands in the graph, but node \"choose\" has \"cup {{size}}\""},
    // Cleanups.
    {"cleanup_that_ends_as_failed",
     R"({"finally": "tidy", "nodes": {"tidy": {"do": "data.set", "with": {"set": {"x": 1}}, "on": {"ok": "none"}}}})",
     Is::warning,
     "Expected an end of the cleanup that is done, but \"none\" is failed: however it went, it would count as a "
     "cleanup "
     "that failed."},
    // Maps.
    {"group_without_by",
     R"({"nodes": {"choose": {"do": "data.compute", "labels": null, "with": {"value": null,
         "set": {"x": {"group": "$size"}}}, "on": {"small": null, "large": null, "ok": "make"}}}})",
     Is::fault, "Expected a JSON Pointer as \"by\" for group, but found {\"group\":\"$size\"}."},
    {"results_and_failures_in_one_channel",
     R"({"nodes": {"make": {"do": null, "with": null, "retry": null, "on": {"ok": null, "joined": "served"},
         "map": {"over": [1], "do": "tool.call", "with": {"tool": "echo", "inputs": {"a": "$item"}}, "into": "cup",
         "failures": "cup"}}}})",
     Is::fault, "to be two channels, but both are \"cup\"."},
    {"map_over_an_object",
     R"({"nodes": {"make": {"do": null, "with": null, "retry": null, "on": {"ok": null, "joined": "served"},
         "map": {"over": {"a": 1}, "do": "tool.call", "with": {"tool": "echo", "inputs": {}}, "into": "cup"}}}})",
     Is::fault, "to go \"over\" a list or a $channel that gives one, but it is {\"a\":1}."},
    {"index_with_a_typo",
     R"({"nodes": {"make": {"do": null, "with": null, "retry": null, "on": {"ok": null, "joined": "served"},
         "map": {"over": [1], "do": "tool.call", "with": {"tool": "echo", "inputs": {"a": "$indx"}}, "into": "cup"}}}})",
     Is::warning, "Expected channel \"indx\" (did you mean index?) to be written"},
    {"default_that_no_run_gets",
     R"({"input": {"properties": {"milk": {"type": "integer", "default": 2}}},
         "nodes": {"make": {"with": {"inputs": {"milk": "$milk"}}}}})",
     Is::warning,
     "Expected a default where node \"make\" reads \"milk\", as no run gets the one of the graph's \"input\": write "
     "{\"$\":\"milk\",\"default\":2}."},
    {"map_that_keeps_nothing",
     R"({"nodes": {"make": {"do": null, "with": null, "retry": null, "on": {"ok": null, "joined": "none"},
         "map": {"over": [1], "do": "tool.call", "with": {"tool": "echo", "inputs": {"a": "$item"}}}},
         "served": null}})",
     Is::warning, "Expected \"into\", \"failures\" or an edge \"partial\" of map \"make\", but it has none"},
};

TEST(BuiltInGraphs, each_describes_the_fields_of_its_input) {
  for (const GraphRef& graph : catalogue().graphs) {
    const Json properties = graph->input.is_object() ? graph->input.value("properties", Json::object()) : Json();
    EXPECT_GE(properties.size(), 2u) << graph->name;
    for (const auto& [name, field] : properties.items())
      EXPECT_TRUE(field.value("description", Json()).is_string()) << graph->name << " " << name;
    const bool was_before_inputs = graph->name != "mcp_call";
    EXPECT_FALSE(was_before_inputs && graph->input.contains("required")) << graph->name << ": what was accepted is";
  }
}

class BrokenGraphs : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenGraphs, F6_each_is_caught) {
  Json graph = order();
  graph.merge_patch(Json::parse(GetParam().merged));
  const GraphReview review = reviewed(graph);
  const std::vector<std::string>& said = GetParam().kind == Is::fault ? review.faults : review.warnings;
  const auto is_it = [](const std::string& one) { return one.find(GetParam().says) != std::string::npos; };
  std::string all;
  for (const std::string& one : review.faults) all += "\n  fault: " + one;
  for (const std::string& one : review.warnings) all += "\n  warning: " + one;
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), is_it)) << GetParam().says << all;
  EXPECT_EQ(GetParam().kind == Is::warning && !review.faults.empty(), false) << all;
}
INSTANTIATE_TEST_SUITE_P(Each, BrokenGraphs, ::testing::ValuesIn(broken_graphs),
                         [](const auto& each) { return each.param.name; });

// A graph that runs was refused.
TEST(GraphReview, a_pick_after_a_guard_that_leaves_it_fewer_values_is_no_fault) {
  const Json graph = parse_stored(R"({"name": "guarded", "start": "is_free", "limits": {"steps": 9},
      "input": {"type": "object", "properties": {"tier": {"enum": ["free", "pro", "team"]}}, "required": ["tier"]},
      "nodes": {
        "is_free": {"do": "data.test", "with": {"if": {"eq": ["$tier", "free"]}}, "on": {"true": "done", "false": "pick"}},
        "pick": {"do": "data.pick", "with": {"value": "$tier"}, "labels": ["pro", "team"],
                 "on": {"pro": "done", "team": "done"}},
        "done": {"end": "done"}}})");
  const GraphReview review = reviewed(graph);
  EXPECT_TRUE(review.faults.empty()) << review.faults.front();
  ASSERT_EQ(review.warnings.size(), 1u);
  EXPECT_NE(review.warnings[0].find("it has none for \"free\""), std::string::npos) << review.warnings[0];
}

TEST(GraphReview, a_channel_that_the_key_of_starts_reads_is_used) {
  Json graph = order();
  graph["channels"]["customer"] = Json::object();
  graph["singleton"] = {{"key", "/customer"}};
  for (const std::string& warning : reviewed(graph).warnings)
    EXPECT_EQ(warning.find("\"customer\""), std::string::npos) << warning;
}

TEST(GraphReview, a_sound_graph_has_no_faults_and_no_warnings) {
  const GraphReview review = reviewed(order());
  EXPECT_EQ(review.faults, std::vector<std::string>{});
  EXPECT_EQ(review.warnings, std::vector<std::string>{});
}

TEST(GraphReview, the_built_in_graphs_have_no_faults) {
  Surroundings around = surroundings_of(catalogue());
  around.tools->push_back("mcp.call");  // of workers with servers
  for (const GraphRef& graph : catalogue().graphs) {
    const GraphReview review = review_graph(parse_stored(graph->text), around);
    EXPECT_EQ(review.faults, std::vector<std::string>{}) << graph->name;
    EXPECT_EQ(review.warnings, std::vector<std::string>{}) << graph->name;
  }
}

// A value with a default may be missing; `history` comes of a run that is continued; the channels that another
// program's handler writes are not known.
TEST(GraphReview, nothing_is_said_of_what_may_be_missing_or_cannot_be_known) {
  Json graph = order();
  graph["nodes"]["make"]["with"]["inputs"] = {{"a", {{"$", "limit"}, {"default", 1}}},
                                              {"b", "{{name|you}}"},
                                              {"c", "$history"},
                                              {"d", "$$x"},
                                              {"e", "{{{{x}}"}};
  EXPECT_EQ(reviewed(graph).warnings, std::vector<std::string>{});
  graph["nodes"]["choose"] = {{"do", "elsewhere.choose"}, {"labels", {"small"}}, {"on", {{"small", "make"}}}};
  graph["nodes"]["make"]["with"]["inputs"] = "$anything";
  EXPECT_EQ(reviewed(graph).warnings.size(), 1u) << "the handler alone";
}

// A fault is certain: what a run's input, another writer or a way around the question may bring is no fault.
TEST(GraphReview, an_object_with_a_dollar_and_an_error_that_a_node_writes_are_left_alone) {
  Json graph = order();
  graph["nodes"]["make"]["with"]["inputs"] = {{"a", {{"$", 5}, {"unit", "EUR"}}}, {"b", {{"$", "size"}}}};
  EXPECT_EQ(reviewed(graph).warnings, std::vector<std::string>{});
  graph["nodes"]["ask_size"]["into"] = "error";
  graph["nodes"]["choose"]["with"]["value"] = "$error";
  graph["nodes"]["make"]["with"]["inputs"] = {{"a", {{"$", "error/size"}, {"default", 1}}}};
  for (const std::string& warning : reviewed(graph).warnings)
    EXPECT_EQ(warning.find("of $error"), std::string::npos) << warning;
}

TEST(GraphReview, values_that_may_come_from_elsewhere_are_left_alone) {
  const auto faults = [](Json graph, const char* merged) {
    graph.merge_patch(Json::parse(merged));
    return reviewed(graph).faults;
  };
  const std::vector<std::string> none;
  Json graph = order();
  graph["nodes"]["make"]["with"]["inputs"] = {{"size", "$size/foo"}};
  EXPECT_EQ(faults(graph, "{}").size(), 1u);
  EXPECT_EQ(faults(graph, R"({"nodes": {"ask_size": {"on": {"expired": "make"}}}})"), none) << "the input may bring it";
  EXPECT_EQ(faults(graph, R"({"input": {"properties": {"size": {"type": "string"}}},
                              "nodes": {"ask_size": {"on": {"expired": "make"}}}})")
                .size(),
            1u)
      << "or only a text";
  EXPECT_EQ(faults(graph, R"({"nodes": {"ask_size": {"ask": {"schema": {"type": ["object", "string"], "enum": null},
                                                             "default": null}}}})"),
            none);
  EXPECT_EQ(faults(graph, R"({"nodes": {"ask_size": {"ask": {"schema": null, "default": null}}}})"), none);
  EXPECT_EQ(faults(graph, R"({"nodes": {"make": {"with": {"inputs": {"size": {"$": "size/foo", "default": 1}}}}}})"),
            none)
      << "with a default it may be missing";
  EXPECT_EQ(faults(graph, R"({"nodes": {"choose": {"do": "elsewhere.choose"}}})"), none) << "it may write any channel";
  EXPECT_EQ(faults(order(), R"({"nodes": {"choose": {"labels": ["small"], "with": {"default": "small"},
                                                     "on": {"large": null}}}})"),
            none);
  EXPECT_EQ(faults(order(), R"({"nodes": {"choose": {"labels": ["small"], "on": {"large": null, "error": "none"}}}})"),
            none)
      << "an edge for the others";
}

TEST(GraphReview, one_way_without_a_call_of_itself_is_enough) {
  Json graph = order();
  graph["nodes"]["make"] = {{"call", "order"}, {"on", {{"done", "served"}, {"failed", "none"}}}, {"into", "cup"}};
  EXPECT_EQ(reviewed(graph).warnings, std::vector<std::string>{}) << "a question that expires ends the run";
}

TEST(GraphReview, a_loop_brings_what_was_written_further_on) {
  Json graph = order();
  graph["nodes"]["make"]["on"]["ok"] = "test";
  graph["nodes"]["test"] = {{"do", "data.test"},
                            {"with", {{"if", {{"eq", {"$cup", 1}}}}}},
                            {"on", {{"true", "served"}, {"false", "choose"}}}};
  graph["nodes"]["choose"]["with"]["value"] = "$cup";
  EXPECT_EQ(reviewed(graph).warnings, std::vector<std::string>{});
  EXPECT_EQ(reviewed(graph).faults, std::vector<std::string>{});
}

TEST(GraphReview, a_call_of_a_singleton_is_told_that_its_key_does_not_hold_it_back) {
  const Json once = Json::parse(R"({"name": "once", "start": "end", "limits": {"steps": 5},
      "singleton": {"when": "queue"}, "nodes": {"end": {"end": "done"}}})");
  const GraphRef known = stored_graph(once, "v1");
  Surroundings around = surroundings_of(catalogue());
  around.graphs = Names{"once"};
  around.find_graph = [&](const std::string&) { return known; };
  const Json calls = Json::parse(R"({"name": "calls", "start": "call", "limits": {"steps": 5}, "nodes": {
      "call": {"call": "once", "on": {"done": "end", "failed": "end"}}, "end": {"end": "done"}}})");
  const std::vector<std::string> expected = {
      "Expected a graph of which any number of runs may be open, but node \"call\" calls \"once\": its singleton "
      "counts "
      "starts, and a call is none."};
  EXPECT_EQ(review_graph(calls, around).warnings, expected);
}

TEST(GraphReview, a_child_gets_what_its_input_asks_for) {
  Surroundings around = surroundings_of(catalogue());
  Json child = order();
  child["name"] = "child";
  child["input"] = {{"required", {"size"}}, {"properties", {{"size", {{"type", "string"}}}}}};
  const GraphRef known = stored_graph(child, "v1");
  around.graphs = Names{"child"};
  around.find_graph = [&](const std::string&) { return known; };
  Json graph = order();
  graph["nodes"]["make"] = {{"call", "child"}, {"on", {{"done", "none"}, {"failed", "none"}}}};
  graph["nodes"].erase("served");
  EXPECT_EQ(review_graph(graph, around).warnings.size(), 1u);
  graph["nodes"]["make"]["with"] = {{"size", 3}};
  EXPECT_EQ(review_graph(graph, around).warnings.size(), 1u) << "of another type";
  graph["nodes"]["make"]["with"] = {{"size", "$size"}};
  EXPECT_EQ(review_graph(graph, around).warnings, std::vector<std::string>{});
  graph["nodes"]["make"]["with"] = {{"$", "size"}};
  EXPECT_EQ(review_graph(graph, around).warnings, std::vector<std::string>{}) << "what the channel has is not known";
}

TEST(GraphReview, what_stands_next_to_a_reference_is_checked_against_the_input_of_the_child) {
  Surroundings around = surroundings_of(catalogue());
  Json child = order();
  child["name"] = "child";
  child["input"] = Json::parse(R"({"properties": {"size": {"$ref": "#/$defs/word"}, "of": {"type": "string"}},
      "additionalProperties": false, "$defs": {"word": {"type": "string"}}})");
  GraphRef known = stored_graph(child, "v1");
  around.graphs = Names{"child"};
  around.find_graph = [&](const std::string&) { return known; };
  Json graph = order();
  graph["nodes"].erase("served");
  const auto warnings = [&](const Json& with) {
    graph["nodes"]["make"] = {{"call", "child"}, {"with", with}, {"on", {{"done", "none"}, {"failed", "none"}}}};
    return review_graph(graph, around).warnings;
  };
  const std::vector<std::string> none;
  EXPECT_EQ(warnings({{"size", "small"}, {"of", "$size"}}), none);
  const std::vector<std::string> misfit = warnings({{"size", 3}, {"of", "$size"}});
  ASSERT_EQ(misfit.size(), 1u);
  EXPECT_NE(misfit.front().find("the value at /size"), std::string::npos) << misfit.front();
  const std::string unknown =
      "In the \"with\" of node \"make\", the input of graph child: Expected keys that its schema allows, but found "
      "\"kettle\".";
  EXPECT_EQ(warnings({{"kettle", 3}, {"of", "$size"}}), std::vector<std::string>{unknown});
  EXPECT_EQ(warnings({{"kettle", "$size"}, {"of", "x"}}), std::vector<std::string>{unknown});
  child["input"].erase("additionalProperties");
  known = stored_graph(child, "v2");
  EXPECT_EQ(warnings({{"kettle", "$size"}, {"of", "x"}}), none);
}

TEST(GraphReview, a_queue_that_no_worker_serves_is_told) {
  Surroundings around = surroundings_of(catalogue());
  around.queues = Names{"default", "model"};
  Json graph = order();
  graph["nodes"]["make"]["queue"] = "modle";
  ASSERT_EQ(review_graph(graph, around).warnings.size(), 1u);
  EXPECT_EQ(review_graph(graph, around).warnings.front(),
            "Expected a queue that this program serves, but node \"make\" waits in \"modle\" (did you mean model?).");
}

}  // namespace
}  // namespace cairn

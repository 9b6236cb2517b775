#include "engine/graph_drawing.hpp"

namespace cairn {
namespace {

struct Brackets {
  std::string_view open;
  std::string_view close;
};

Brackets mermaid_shape(Verb verb) {
  switch (verb) {
    case Verb::do_:
      return {"[", "]"};
    case Verb::ask:
      return {"[/", "/]"};
    case Verb::map:
      return {"[[", "]]"};
    case Verb::wait:
      return {"{{", "}}"};
    case Verb::call:
      return {"[(", ")]"};
    case Verb::end:
      return {"([", "])"};
  }
  CHECK(false);
}

std::string_view dot_shape(Verb verb) {
  switch (verb) {
    case Verb::do_:
      return "box";
    case Verb::ask:
      return "parallelogram";
    case Verb::map:
      return "box3d";
    case Verb::wait:
      return "hexagon";
    case Verb::call:
      return "component";
    case Verb::end:
      return "oval";
  }
  CHECK(false);
}

// A wait's settings as the graph has them.
Json wait_json(const WaitNode& wait) {
  Json json = Json::object();
  if (wait.signal) json["signal"] = *wait.signal;
  if (!wait.due) return json;
  const bool is_moment = wait.due->kind == DueSetting::Kind::at_time;
  json[is_moment ? "until" : wait.signal ? "timeout_ms" : "ms"] = wait.due->value;
  return json;
}

// The line under a node's name.
struct Subtitle {
  std::string operator()(const DoNode& work) const { return "do " + work.handler; }
  std::string operator()(const AskNode& ask) const { return "ask " + excerpt(ask.kind, 40); }
  std::string operator()(const MapNode& map) const {
    if (!map.items) return "map sub_goals";
    const auto* work = std::get_if<DoNode>(&map.items->each);
    return "map " + excerpt(map.items->over, 40) + ": " +
           (work == nullptr ? (*this)(std::get<CallNode>(map.items->each)) : (*this)(*work));
  }
  std::string operator()(const WaitNode& wait) const { return "wait " + excerpt(wait_json(wait), 40); }
  std::string operator()(const CallNode& call) const { return "call " + call.graph; }
  std::string operator()(const EndNode& end) const { return "end " + excerpt(std::string(to_string(end.status)), 40); }
};

std::string subtitle(const Node& node) { return std::visit(Subtitle{}, node.settings); }

std::string escaped(std::string_view text, std::string_view quote, std::string_view backslash) {
  std::string safe;
  for (const char c : text) {
    if (c == '"') {
      safe += quote;
    } else if (c == '\\') {
      safe += backslash;
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string mermaid_text(const Node& node) {
  std::string text = "\"";
  text += escaped(node.name + "<br/>" + subtitle(node), "#quot;", "#92;");
  return text += '"';
}

std::string mermaid_id(NodeIndex node) { return std::string("n") + std::to_string(node); }

std::string dot_text(std::string_view text) {
  std::string quoted = "\"";
  quoted += escaped(text, "\\\"", "\\\\");
  return quoted += '"';
}

}  // namespace

std::string mermaid(const Graph& graph) {
  std::string text = "flowchart TD\n  start((start)) --> " + mermaid_id(graph.start) + "\n";
  if (graph.finally >= 0) text += "  finally((finally)) -.-> " + mermaid_id(graph.finally) + "\n";
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Brackets shape = mermaid_shape(graph.nodes[i].verb());
    text.append("  ").append(mermaid_id(static_cast<NodeIndex>(i)));
    text.append(shape.open).append(mermaid_text(graph.nodes[i])).append(shape.close).append("\n");
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const auto& [label, targets] : graph.nodes[i].on) {
      const std::string arrow = targets.size() > 1 ? " ==>|" : " -->|";
      for (const NodeIndex target : targets) {
        text += "  " + mermaid_id(static_cast<NodeIndex>(i)) + arrow + label + "| " + mermaid_id(target) + "\n";
      }
    }
  }
  return text;
}

std::string dot(const Graph& graph) {
  const auto name_of = [&](NodeIndex node) { return dot_text(graph.node(node).name); };
  std::string text = "digraph " + dot_text(graph.name) + " {\n  rankdir=TB;\n  \".\" [shape=circle, label=\"\"];\n";
  for (const Node& node : graph.nodes) {
    text += "  " + dot_text(node.name) + " [shape=" + std::string(dot_shape(node.verb())) + ", label=\"" +
            escaped(node.name, "\\\"", "\\\\") + "\\n" + escaped(subtitle(node), "\\\"", "\\\\") + "\"];\n";
  }
  text += "  \".\" -> " + name_of(graph.start) + ";\n";
  if (graph.finally >= 0)
    text += "  \".finally\" [shape=circle, label=\"finally\"];\n  \".finally\" -> " + name_of(graph.finally) +
            " [style=dashed];\n";
  for (const Node& node : graph.nodes) {
    for (const auto& [label, targets] : node.on) {
      const std::string style = targets.size() > 1 ? ", style=bold" : "";
      for (const NodeIndex target : targets) {
        text += "  " + dot_text(node.name) + " -> " + name_of(target) + " [label=" + dot_text(label) + style + "];\n";
      }
    }
  }
  return text + "}\n";
}

}  // namespace cairn

#include "engine/graph_texts.hpp"

#include <cctype>
#include <functional>
#include <string_view>

#include "engine/graph_uses.hpp"
#include "engine/graph_walk.hpp"
#include "engine/json.hpp"
#include "engine/references.hpp"

namespace cairn {
namespace {

// A write of "$size" is likely meant for the channel size, and makes no channel known.
ChannelNames known_channels(const Graph& graph, const Handlers& handlers) {
  ChannelNames known;
  filled_channels(graph, handlers, known);
  std::erase_if(known, [](const std::string& channel) { return channel.starts_with('$'); });
  return known;
}

void each_text(const Json& setting, const std::function<void(const std::string&)>& see) {
  if (setting.is_string()) return see(setting.get_ref<const std::string&>());
  if (setting.is_structured())
    for (const Json& one : setting) each_text(one, see);
}

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The known channel that the text names at its beginning; "" if it names none.
std::string_view channel_at(std::string_view text, const ChannelNames& known) {
  std::size_t length = 0;
  while (length < text.size() && is_of_name(text[length])) ++length;
  const std::string_view name = text.substr(0, length);
  return known.contains(name) ? name : std::string_view();
}

// The channel after a "$" inside of the text, or inside of braces, or of three braces.
std::string_view meant_channel(std::string_view text, const ChannelNames& known) {
  for (std::size_t at = text.find('$', 1); at != std::string_view::npos; at = text.find('$', at + 1))
    if (text[at - 1] != '$')
      if (const auto name = channel_at(text.substr(at + 1), known); !name.empty()) return name;
  for (std::size_t at = text.find("{{{"); at != std::string_view::npos; at = text.find("{{{", at + 4)) {
    if (text.substr(at).starts_with("{{{{")) continue;
    const auto name = channel_at(text.substr(at + 3), known);
    if (!name.empty() && text.substr(at + 3 + name.size()).starts_with("}")) return name;
  }
  return {};
}

class Texts {
 public:
  Texts(const Graph& graph, const Handlers& handlers)
      : graph_(graph), handlers_(handlers), known_(known_channels(graph, handlers)) {}

  std::vector<std::string> all() {
    for (const Node& node : graph_.nodes) {
      each_setting(node, [&](const Json& setting, bool) {
        each_text(setting, [&](const std::string& text) { inside(node, text); });
        each_reference(setting, [&](std::string_view reference, bool) { named(node, reference); });
      });
      each_write(node, handlers_, [&](const ChannelWrite& write) { written(node, write.channel); });
      if (node.work() != nullptr) constant(node, "a queue", node.work()->queue);
      if (const auto* ask = node.as<AskNode>()) constant(node, "a kind of question", ask->kind);
      if (const auto* wait = node.as<WaitNode>()) constant(node, "a signal", wait->signal.value_or(""));
    }
    return std::move(says_);
  }

 private:
  void inside(const Node& node, const std::string& text) {
    constexpr std::size_t scanned_max = 64 << 10;
    const std::string_view begin = std::string_view(text).substr(0, scanned_max);
    if (const auto name = meant_channel(begin, known_); !name.empty())
      says_.push_back("Expected {{" + std::string(name) + "}} for a value in a text, but node " + in_quotes(node.name) +
                      " has " + excerpt(Json(text), 60) + ", which stands for itself.");
  }

  void named(const Node& node, std::string_view reference) {
    const std::string channel(reference.substr(0, reference.find('/')));
    const std::size_t dot = channel.find('.');
    if (channel.empty())
      says_.push_back("Expected a channel's name in a reference, but node " + in_quotes(node.name) + " has " +
                      in_quotes(reference) + " without one.");
    if (known_.contains(channel) && reference.find("{{") == std::string_view::npos) return;
    if (reference.find("{{") != std::string_view::npos || channel.find(' ') != std::string::npos)
      says_.push_back("Expected a channel and a pointer after \"$\", but node " + in_quotes(node.name) + " has " +
                      in_quotes(reference) +
                      ", in which nothing is filled in: a text that begins with a dollar begins with \"$$\".");
    if (channel.starts_with('$') && known_.contains(channel.substr(1)))
      says_.push_back("Expected a channel's name after \"$\", but node " + in_quotes(node.name) + " has " +
                      in_quotes(channel) + ": write " + channel.substr(1) + ".");
    if (dot == std::string::npos || !known_.contains(channel.substr(0, dot))) return;
    std::string meant(reference);
    for (std::size_t at = dot; at < channel.size(); ++at)
      if (meant[at] == '.') meant[at] = '/';
    says_.push_back("Expected a / before what a value holds, but node " + in_quotes(node.name) + " reads " +
                    in_quotes(reference) + ": write " + meant + ".");
  }

  // Where no reference is read.
  void constant(const Node& node, const std::string& what, const std::string& text) {
    if (has_reference(Json(text)))
      says_.push_back("Expected " + what + " that stands in the graph, but node " + in_quotes(node.name) + " has " +
                      in_quotes(text) + ", in which nothing is filled in.");
  }

  void written(const Node& node, const std::string& channel) {
    if (channel.find("{{") != std::string::npos) return constant(node, "the name of a channel", channel);
    if (channel.starts_with('$') && known_.contains(channel.substr(1)))
      says_.push_back("Expected the name of a channel, but node " + in_quotes(node.name) + " writes " +
                      in_quotes(channel) + ": write " + channel.substr(1) + ".");
  }

  const Graph& graph_;
  const Handlers& handlers_;
  const ChannelNames known_;
  std::vector<std::string> says_;
};

}  // namespace

std::vector<std::string> texts_for_themselves(const Graph& graph, const Handlers& handlers) {
  return Texts(graph, handlers).all();
}

}  // namespace cairn

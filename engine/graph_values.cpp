#include "engine/graph_values.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "engine/graph_uses.hpp"
#include "engine/graph_walk.hpp"
#include "engine/json.hpp"
#include "engine/references.hpp"

namespace cairn {
namespace {

using SettingMeans = HandlerSetting::Means;

constexpr std::size_t writers_max = 60;

// One bit for each writer of a channel; the first is anything at all, the second a run's start.
using Writers = std::uint64_t;
constexpr Writers anything = 1;
constexpr std::size_t start_bit = 1;

std::uint8_t kinds_taken(Reducer reducer) {
  switch (reducer) {
    case Reducer::last:
      return JsonKinds::any;
    case Reducer::append:
      return JsonKinds::list;
    case Reducer::merge:
      return JsonKinds::object;
    case Reducer::sum:
    case Reducer::max:
      return JsonKinds::number;
  }
  return JsonKinds::any;
}

// A node's writes of one channel.
struct WritesAt {
  Writers added = 0;
  bool replaces = false;  // what was there before
};

// The values of a channel before each node, by the writers from which they may come on all ways to the node.
class ChannelFlow {
 public:
  ChannelFlow(const Graph& graph, const std::string& channel) : graph_(graph), channel_(channel) {
    spaces_ = {ValueSpace{}, at_the_start()};
  }

  // REQUIRES: all writes are added before before() is called.
  void add(std::size_t node, const ChannelWrite& write) {
    if (spaces_.size() >= writers_max) return add_unknown(node);
    WritesAt& at = writes_[node];
    at.added |= Writers{1} << spaces_.size();
    at.replaces = at.replaces || (write.is_sure && graph_.reducer(channel_) == Reducer::last);
    spaces_.push_back(write.space);
  }
  void add_unknown(std::size_t node) { writes_[node].added |= anything; }

  // By node; nothing was written where it has no kinds.
  std::vector<ValueSpace> before() {
    const std::vector<Writers> writers = spread();
    std::vector<ValueSpace> spaces;
    for (const Writers mask : writers) spaces.push_back(space_of(mask));
    return spaces;
  }

 private:
  // That of the run's input.
  ValueSpace at_the_start() {
    const Json* properties = find_member(graph_.input, "properties");
    const Json* own = properties == nullptr ? nullptr : find_member(*properties, channel_);
    const bool refers = graph_.input.is_object() && graph_.input.contains("$ref");
    if (channel_ == "history" || channel_ == "error" || refers) return {};
    if (own != nullptr) return space_of_schema(*own);
    const Json* more = find_member(graph_.input, "additionalProperties");
    const bool forbids = more != nullptr && *more == false && !graph_.input.contains("patternProperties");
    return forbids ? ValueSpace{0, {}} : ValueSpace{};
  }

  ValueSpace space_of(Writers mask) const {
    ValueSpace space{0, std::vector<Json>()};
    for (std::size_t bit = 0; bit < spaces_.size(); ++bit)
      if ((mask >> bit & 1) != 0 && spaces_[bit].kinds != 0) space = either_of(std::move(space), spaces_[bit]);
    return space;
  }

  Writers after(std::size_t node, const std::string& label, Writers before) const {
    const auto found = writes_.find(node);
    if (found == writes_.end() || label == "error" || label == "exhausted") return before;
    const bool is_late = label == "expired" || label == "timeout";  // nothing arrived
    if (found->second.replaces && !is_late) before = 0;
    return before | found->second.added;
  }

  std::vector<Writers> spread() const {
    std::vector<Writers> before(graph_.nodes.size());
    std::vector<bool> seen(graph_.nodes.size());
    std::vector<NodeIndex> open{graph_.start};
    before[static_cast<std::size_t>(graph_.start)] |= Writers{1} << start_bit;
    if (graph_.finally >= 0) {  // a run may end anywhere
      open.push_back(graph_.finally);
      Writers& cleanup = before[static_cast<std::size_t>(graph_.finally)];
      cleanup |= Writers{1} << start_bit;
      for (const auto& [node, writes] : writes_) cleanup |= writes.added;
    }
    while (!open.empty()) {
      const auto from = static_cast<std::size_t>(open.back());
      open.pop_back();
      seen[from] = true;
      for (const auto& [label, targets] : graph_.nodes[from].on) {
        const Writers brought = after(from, label, before[from]);
        for (const NodeIndex target : targets) {
          const auto to = static_cast<std::size_t>(target);
          const bool grows = (brought & ~before[to]) != 0;
          before[to] |= brought;
          if (grows || !seen[to]) open.push_back(target);
          seen[to] = true;
        }
      }
    }
    return before;
  }

  const Graph& graph_;
  const std::string& channel_;
  std::vector<ValueSpace> spaces_;  // of each writer
  std::map<std::size_t, WritesAt> writes_;
};

// A node's setting that a channel's value must fit.
struct ValueUse {
  std::size_t node = 0;
  std::string pointer = {};  // into the value
  std::uint8_t kinds = 0;    // that it must be of
  std::string taken_for = {};
  bool is_picked = false;  // the node picks a label by it
};

class ValueReview {
 public:
  ValueReview(const Graph& graph, const Handlers& handlers) : graph_(graph), handlers_(handlers) {}

  ValueFindings all() {
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      writes(at);
      pointers(at);
      picks(at);
      parts(at);
      same_channel(at);
    }
    for (const auto& [channel, uses] : uses_) values_of(channel, uses);
    return {by_nodes(std::move(faults_)), by_nodes(std::move(warnings_))};
  }

 private:
  using Sentences = std::vector<std::pair<std::size_t, std::string>>;  // each about a node

  static std::vector<std::string> by_nodes(Sentences found) {
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> sentences;
    for (auto& [node, says] : found) sentences.push_back(std::move(says));
    return sentences;
  }

  struct WriteAt {
    std::size_t node;
    ChannelWrite write;
  };

  void fault(std::size_t node, std::string says) { faults_.emplace_back(node, std::move(says)); }
  std::string named(std::size_t node) const { return "node " + in_quotes(graph_.nodes[node].name); }

  // --- what nodes write ---
  void writes(std::size_t at) {
    const auto see = [&](const ChannelWrite& write) {
      fits_reducer(at, write);
      writes_[write.channel].push_back({at, write});
    };
    if (!each_write(graph_.nodes[at], handlers_, see)) unknown_.push_back(at);
  }

  void fits_reducer(std::size_t at, const ChannelWrite& write) {
    const Reducer reducer = graph_.reducer(write.channel);
    if (!write.copied.empty() && kinds_taken(reducer) != JsonKinds::any)
      uses_[write.copied].push_back({.node = at,
                                     .kinds = kinds_taken(reducer),
                                     .taken_for = "channel " + in_quotes(write.channel) + ", whose reducer is " +
                                                  std::string(to_string(reducer))});
    if ((kinds_taken(reducer) & write.space.kinds) != 0) return;
    fault(at, "Expected " + named(at) + " to give channel " + in_quotes(write.channel) + ", whose reducer is " +
                  std::string(to_string(reducer)) + ", " + kinds_in_words(kinds_taken(reducer)) + ", but it gives " +
                  kinds_in_words(write.space.kinds) + ".");
  }

  // --- what nodes read ---
  // References with a default are left out: they may find nothing.
  void pointers(std::size_t at) {
    std::set<std::string> seen;
    each_setting(graph_.nodes[at], [&](const Json& setting, bool of_item) {
      each_reference(setting, [&](std::string_view reference, bool may_lack) {
        const std::size_t slash = reference.find('/');
        const std::string channel(reference.substr(0, slash));
        const bool is_other = may_lack || slash == std::string_view::npos || channel == "error";
        if (is_other || (of_item && is_channel_of_item(channel)) || !seen.emplace(reference).second) return;
        uses_[channel].push_back({.node = at, .pointer = std::string(reference.substr(slash))});
      });
    });
  }

  const HandlerSetting* setting_of(const DoNode& work, SettingMeans means) const {
    const auto known = handlers_.find(work.handler);
    if (known == handlers_.end() || !known->second.settings) return nullptr;
    for (const HandlerSetting& setting : *known->second.settings)
      if (setting.means == means) return &setting;
    return nullptr;
  }

  const Json* value_of(const DoNode& work, SettingMeans means) const {
    const HandlerSetting* setting = setting_of(work, means);
    const Json* value = setting == nullptr ? nullptr : find_member(work.with, setting->name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  // A node that has an edge for an error, or a label for all others, may be meant to leave so.
  void picks(std::size_t at) {
    const Node& node = graph_.nodes[at];
    const auto* work = node.as<DoNode>();
    const Json* picked = work == nullptr ? nullptr : value_of(*work, SettingMeans::picked);
    if (picked == nullptr || value_of(*work, SettingMeans::label) != nullptr || node.on.contains("error")) return;
    if (!has_reference(*picked)) return has_label(at, space_of_setting(*picked), true);
    if (!picked->is_string() || !picked->get_ref<const std::string&>().starts_with('$')) return;
    const std::string reference = picked->get<std::string>().substr(1);
    if (reference.find('/') == std::string::npos) uses_[reference].push_back({.node = at, .is_picked = true});
  }

  void same_channel(std::size_t at) {
    const Node& node = graph_.nodes[at];
    if (node.items() != nullptr && !node.into.empty() && node.into == node.items()->failures)
      fault(at, "Expected \"into\" and \"failures\" of map " + in_quotes(node.name) +
                    " to be two channels, but both are " + in_quotes(node.into) + ".");
  }

  // Checks the parts that the engine and the handler take only if they are of some kinds.
  void parts(std::size_t at) {
    const Node& node = graph_.nodes[at];
    const auto see = [&](const Json& setting, std::uint8_t kinds, const std::string& taken_for) {
      const std::string channel = whole_channel(setting);
      if (channel.empty() || channel == "error" || (node.items() != nullptr && is_channel_of_item(channel))) return;
      uses_[channel].push_back({.node = at, .kinds = kinds, .taken_for = taken_for});
    };
    if (const MapNode::Items* items = node.items()) see(items->over, JsonKinds::list, "its map");
    const auto* wait = node.as<WaitNode>();
    if (wait != nullptr && wait->due)
      see(wait->due->value, wait->due->kind == DueSetting::Kind::after_ms ? JsonKinds::number : JsonKinds::text,
          "its time");
    const auto known = node.work() == nullptr ? handlers_.end() : handlers_.find(node.handler());
    if (known == handlers_.end() || known->second.parts == nullptr) return;
    for (const ValuePart& part : known->second.parts(node.work()->with)) see(part.setting, part.kinds, part.of);
  }

  // Each value of the space reaches the node for certain if it is a constant of its own: else a warning.
  void has_label(std::size_t at, const ValueSpace& space, bool is_constant) {
    const DoNode& work = *graph_.nodes[at].as<DoNode>();
    const Json* labels = value_of(work, SettingMeans::labels);
    const bool are_known = labels == nullptr || (labels->is_object() && !labels->contains("$"));
    if (!space.values || !are_known) return;
    for (const Json& value : *space.values) {
      const std::string text = value.is_string() ? value.get<std::string>() : canonical(value);
      const bool has_one =
          labels != nullptr ? labels->contains(text) : value.is_string() && graph_.nodes[at].on.contains(text);
      if (has_one) continue;
      std::string says = "Expected " + named(at) +
                         " to have a label for each value that it may pick by, but it has none for " +
                         excerpt(value, 60) + ", and no \"default\".";
      return void((is_constant ? faults_ : warnings_).emplace_back(at, std::move(says)));
    }
  }

  void values_of(const std::string& channel, const std::vector<ValueUse>& uses) {
    ChannelFlow flow(graph_, channel);
    for (const WriteAt& one : writes_[channel]) flow.add(one.node, one.write);
    for (const std::size_t node : unknown_) flow.add_unknown(node);
    const std::vector<ValueSpace> before = flow.before();
    for (const ValueUse& use : uses) {
      const ValueSpace& space = before[use.node];
      if (space.kinds == 0) continue;
      if (!use.taken_for.empty()) {
        if ((space.kinds & (use.kinds | JsonKinds::null)) == 0)  // what is null may be kept away by a condition
          fault(use.node, "Expected channel " + in_quotes(channel) + " to be " + kinds_in_words(use.kinds) + " where " +
                              named(use.node) + " takes it for " + use.taken_for + ", but it is " +
                              kinds_in_words(space.kinds) + ".");
      } else if (use.is_picked) {
        has_label(use.node, space, false);
      } else if ((space.kinds & (JsonKinds::list | JsonKinds::object)) == 0) {
        fault(use.node, "Expected channel " + in_quotes(channel) + " to be an object or a list where " +
                            named(use.node) + " reads $" + channel + use.pointer + ", but it is " +
                            kinds_in_words(space.kinds) + ".");
      }
    }
  }

  const Graph& graph_;
  const Handlers& handlers_;
  std::map<std::string, std::vector<WriteAt>> writes_;  // by channel
  std::map<std::string, std::vector<ValueUse>> uses_;   // by channel
  std::vector<std::size_t> unknown_;                    // nodes that may write any channel
  Sentences faults_, warnings_;
};

}  // namespace

ValueFindings value_findings(const Graph& graph, const Handlers& handlers) {
  return ValueReview(graph, handlers).all();
}

}  // namespace cairn

#include "workers/planners/plan_decomposer/tree.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t id_bytes_max = 200;
constexpr std::size_t dependencies_max = 50;  // of one task

Error invalid(std::string message) { return {Code::invalid, std::move(message)}; }

std::optional<std::string> id_text(const Json& id) {
  if (id.is_number_integer()) return id.dump();
  if (!id.is_string()) return std::nullopt;
  const std::string& text = id.get_ref<const std::string&>();
  if (text.empty() || readable_line(text, id_bytes_max) != text) return std::nullopt;
  return text;
}

// --- reading the JSON form -------------------------------------------------------------------------------------------
const std::set<std::string, std::less<>> node_fields = {"id",          "parent_id",    "position", "name",
                                                        "instruction", "dependencies", "context",  "leaf"};

Result<std::vector<std::string>> read_ids(const Json& list, const std::string& what) {
  if (!list.is_array())
    return invalid("Expected " + what + " to be a list of ids, but it is " + excerpt(list, 60) + ".");
  std::vector<std::string> ids;
  for (const Json& entry : list) {
    std::optional<std::string> id = id_text(entry);
    if (!id) return invalid("Expected " + what + " to hold ids, but one is " + excerpt(entry, 60) + ".");
    ids.push_back(*std::move(id));
  }
  return ids;
}

struct Given {
  PlanNode node;
  std::int64_t position = 0;
};

Result<Given> read_node(const std::string& id, const Json& fields) {
  const std::string which = "Expected task " + id + " of the plan to ";
  if (!fields.is_object()) return invalid(which + "be an object, but it is " + excerpt(fields, 60) + ".");
  for (const auto& [name, value] : fields.items()) {
    if (!node_fields.contains(name)) return invalid(which + "have no field " + name + ", but it has.");
  }
  if (fields.contains("id") && id_text(fields["id"]) != id) return invalid(which + "have no other id, but it has.");
  Given given;
  given.node.id = id;
  const Json name = fields.value("name", Json());
  if (!name.is_string() || readable_line(name.get<std::string>(), id_bytes_max).empty())
    return invalid(which + "have a name, but it has none.");
  given.node.name = name.get<std::string>();
  const Json instruction = fields.value("instruction", Json(""));
  if (!instruction.is_string()) return invalid(which + "have a text as instruction, but it has none.");
  given.node.instruction = instruction.get<std::string>();
  const Json parent = fields.value("parent_id", Json());
  if (const std::optional<std::string> text = id_text(parent)) given.node.parent = *text;
  if (given.node.parent.empty() && !parent.is_null())
    return invalid(which + "have an id as parent_id, but it has " + excerpt(parent, 60) + ".");
  const Json position = fields.value("position", Json(0));
  const Json leaf = fields.value("leaf", Json(false));
  if (!position.is_number_integer() || !leaf.is_boolean())
    return invalid(which + "have a whole number as position and true or false as leaf, but it has not.");
  given.position = position.get<std::int64_t>();
  given.node.leaf = leaf.get<bool>();
  given.node.context = fields.value("context", Json());
  Result<std::vector<std::string>> dependencies =
      read_ids(fields.value("dependencies", Json::array()), "the dependencies of task " + id);
  if (!dependencies) return dependencies.error();
  given.node.dependencies = *std::move(dependencies);
  return given;
}

using GivenNodes = std::map<std::string, Given>;

Result<GivenNodes> read_nodes(const Json& plan) {
  const Json nodes = plan.value("nodes", Json());
  if (!nodes.is_object())
    return invalid("Expected the plan to have an object of nodes, but it has " + excerpt(nodes, 60) + ".");
  if (Status fits = check_task_count(nodes.size()); !fits) return std::move(fits).error();
  GivenNodes read;
  for (const auto& [id, fields] : nodes.items()) {
    if (!id_text(id))
      return invalid("Expected an id of at most 200 plain characters, but found " + excerpt(id, 60) + ".");
    Result<Given> node = read_node(id, fields);
    if (!node) return node.error();
    read.emplace(id, *std::move(node));
  }
  for (const auto& [id, given] : read) {
    const std::string& parent = given.node.parent;
    if (!parent.empty() && !read.contains(parent))
      return invalid("Expected the parent of task " + id + " to be a task of the plan, but there is no task " + parent +
                     ".");
    for (const std::string& before : given.node.dependencies) {
      if (!read.contains(before))
        return invalid("Expected the dependencies of task " + id + " to be tasks of the plan, but there is no task " +
                       before + ".");
    }
  }
  return read;
}

// Adds a task and all below it, siblings by position. Counts what it added: what a cycle of parents holds is not
// reached.
void add_below(PlanTree& tree, const std::vector<std::string>& roots, const GivenNodes& given) {
  std::map<std::string, std::vector<const Given*>> children;
  for (const auto& [id, one] : given) {
    if (!one.node.parent.empty()) children[one.node.parent].push_back(&one);
  }
  for (auto& [parent, list] : children)
    std::stable_sort(list.begin(), list.end(),
                     [](const Given* a, const Given* b) { return a->position < b->position; });
  std::vector<std::string> level = roots;
  for (const std::string& id : roots) tree.add(given.at(id).node);
  while (!level.empty()) {
    std::vector<std::string> next;
    for (const std::string& id : level) {
      for (const Given* child : children[id]) {
        tree.add(child->node);
        next.push_back(child->node.id);
      }
    }
    level = std::move(next);
  }
}

Status check_roots(const std::vector<std::string>& roots, const GivenNodes& given) {
  std::set<std::string> seen;
  for (const std::string& id : roots) {
    if (!given.contains(id))
      return invalid("Expected the roots to be tasks of the plan, but there is no task " + id + ".");
    if (!given.at(id).node.parent.empty())
      return invalid("Expected root " + id + " to have no parent, but it has one.");
    if (!seen.insert(id).second) return invalid("Expected each root once, but " + id + " is named twice.");
  }
  return Done{};
}

// --- order -----------------------------------------------------------------------------------------------------------
// Every task is two moments, its begin and its end; an edge leads from what comes first to what comes after it.
class Moments {
 public:
  explicit Moments(std::size_t tasks) : after_(2 * tasks), before_(2 * tasks), seen_(2 * tasks, 0) {}
  static std::size_t begin(std::size_t task) { return 2 * task; }
  static std::size_t end(std::size_t task) { return 2 * task + 1; }

  void order(std::size_t first, std::size_t then) {
    after_[first].push_back(then);
    before_[then].push_back(first);
  }
  void order_tasks(std::size_t first, std::size_t then) { order(end(first), begin(then)); }

  bool can_all_come() const {
    std::vector<std::size_t> waits;
    std::vector<std::size_t> ready;
    for (std::size_t moment = 0; moment < before_.size(); ++moment) {
      waits.push_back(before_[moment].size());
      if (waits[moment] == 0) ready.push_back(moment);
    }
    std::size_t come = 0;
    while (!ready.empty()) {
      const std::size_t moment = ready.back();
      ready.pop_back();
      ++come;
      for (const std::size_t next : after_[moment]) {
        if (--waits[next] == 0) ready.push_back(next);
      }
    }
    return come == waits.size();
  }

  // The knots: moments of one knot are those from each of which a way leads to each other, so that a circle has only
  // such. The number of each moment's.
  std::vector<std::size_t> knots() const {
    std::vector<std::size_t> knots(after_.size(), none);
    const std::vector<std::size_t> last_first = last_ended_first();
    std::size_t count = 0;
    for (const std::size_t root : last_first) {
      if (knots[root] != none) continue;
      knots[root] = count;
      for (std::vector<std::size_t> ahead{root}; !ahead.empty();) {
        const std::size_t moment = ahead.back();
        ahead.pop_back();
        for (const std::size_t before : before_[moment])
          if (knots[before] == none) {
            knots[before] = count;
            ahead.push_back(before);
          }
      }
      ++count;
    }
    return knots;
  }

  // True if a way leads from one moment to another. It is sought from both sides in turn, since one of them is often
  // short: in a list, one after the other, the side that the tasks are added from.
  // REQUIRES: both are in one knot; the way does not leave it.
  bool leads(std::size_t from, std::size_t to, const std::vector<std::size_t>& knots) {
    Side forth{after_, seen_mark_ + 1, {from}};
    Side back{before_, seen_mark_ + 2, {to}};
    seen_mark_ += 2;
    seen_[from] = forth.mark;
    seen_[to] = back.mark;
    while (!forth.ahead.empty() && !back.ahead.empty()) {
      if (meets(forth, back, knots) || meets(back, forth, knots)) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  // The moments in the order in which a search in depth is done with them, turned round.
  std::vector<std::size_t> last_ended_first() const {
    std::vector<std::size_t> done;
    std::vector<std::size_t> next(after_.size(), none);  // of a moment's edges; none: not begun
    for (std::size_t root = 0; root < after_.size(); ++root) {
      if (next[root] != none) continue;
      next[root] = 0;
      for (std::vector<std::size_t> way{root}; !way.empty();) {
        const std::size_t moment = way.back();
        if (next[moment] == after_[moment].size()) {
          done.push_back(moment);
          way.pop_back();
        } else if (const std::size_t then = after_[moment][next[moment]++]; next[then] == none) {
          next[then] = 0;
          way.push_back(then);
        }
      }
    }
    std::reverse(done.begin(), done.end());
    return done;
  }

  using Edges = std::vector<std::vector<std::size_t>>;
  struct Side {
    const Edges& edges;
    std::size_t mark;  // set on each moment that it has seen
    std::vector<std::size_t> ahead;
  };

  // One moment further on one side. REQUIRES: there is one ahead.
  bool meets(Side& side, const Side& other, const std::vector<std::size_t>& knots) {
    const std::size_t moment = side.ahead.back();
    side.ahead.pop_back();
    for (const std::size_t next : side.edges[moment]) {
      if (knots[next] != knots[moment]) continue;
      if (seen_[next] == other.mark) return true;
      if (std::exchange(seen_[next], side.mark) != side.mark) side.ahead.push_back(next);
    }
    return false;
  }

  Edges after_;
  Edges before_;
  std::vector<std::size_t> seen_;  // the mark of the last side that saw a moment
  std::size_t seen_mark_ = 0;
};

std::size_t place_of(const PlanTree& plan, std::string_view id) {
  const PlanNode* node = plan.find(id);
  CHECK(node != nullptr);
  return static_cast<std::size_t>(node - plan.nodes().data());
}

Moments moments_of(const PlanTree& plan) {
  Moments moments(plan.size());
  for (std::size_t task = 0; task < plan.size(); ++task) {
    const PlanNode& node = plan.nodes()[task];
    moments.order(Moments::begin(task), Moments::end(task));
    for (const std::string& before : node.dependencies) moments.order_tasks(place_of(plan, before), task);
    if (node.parent.empty()) continue;
    const std::size_t parent = place_of(plan, node.parent);
    moments.order(Moments::begin(parent), Moments::begin(task));
    moments.order(Moments::end(task), Moments::end(parent));
  }
  return moments;
}

using Waits = std::map<std::string, std::vector<std::string>>;  // by task, the ids that it depends on

// As if all waits were in the plan.
Moments moments_of(const PlanTree& plan, const Waits& waits) {
  Moments moments = moments_of(plan);
  for (const auto& [task, ids] : waits) {
    for (const std::string& id : ids) {
      if (plan.find(id) != nullptr) moments.order_tasks(place_of(plan, id), place_of(plan, task));
    }
  }
  return moments;
}

}  // namespace

// --- the tree --------------------------------------------------------------------------------------------------------
void PlanTree::add(PlanNode node) {
  CHECK(!by_id_.contains(node.id) && (node.parent.empty() || by_id_.contains(node.parent)));
  by_id_[node.id] = nodes_.size();
  by_parent_[node.parent].push_back(nodes_.size());
  used_.insert(node.id);
  nodes_.push_back(std::move(node));
}

void PlanTree::set_dependencies(const std::string& id, std::vector<std::string> dependencies) {
  nodes_[by_id_.at(id)].dependencies = std::move(dependencies);
}

void PlanTree::make_leaf(const std::string& id) { nodes_[by_id_.at(id)].leaf = true; }

void PlanTree::drop_unknown_dependencies() {
  for (PlanNode& node : nodes_)
    std::erase_if(node.dependencies, [this](const std::string& id) { return !by_id_.contains(id); });
}

void PlanTree::clear() {
  nodes_.clear();
  by_id_.clear();
  by_parent_.clear();
}

const PlanNode* PlanTree::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &nodes_[found->second];
}

std::vector<const PlanNode*> PlanTree::children(std::string_view id) const {
  std::vector<const PlanNode*> children;
  const auto found = by_parent_.find(id);
  if (found == by_parent_.end()) return children;
  for (const std::size_t place : found->second) children.push_back(&nodes_[place]);
  return children;
}

std::vector<const PlanNode*> PlanTree::below(std::string_view id) const {
  std::vector<const PlanNode*> below = children(id);
  for (std::size_t i = 0; i < below.size(); ++i) {
    const std::vector<const PlanNode*> deeper = children(below[i]->id);
    below.insert(below.end(), deeper.begin(), deeper.end());
  }
  return below;
}

std::vector<const PlanNode*> PlanTree::path(std::string_view id) const {
  std::vector<const PlanNode*> path;
  for (const PlanNode* node = find(id); node != nullptr; node = find(node->parent)) path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

std::size_t PlanTree::position(const PlanNode& node) const {
  const std::vector<std::size_t>& siblings = by_parent_.find(node.parent)->second;  // in the order they were added
  const auto found = std::lower_bound(siblings.begin(), siblings.end(), by_id_.find(node.id)->second);
  return static_cast<std::size_t>(found - siblings.begin());
}

std::vector<std::string> PlanTree::new_ids(const std::string& parent, std::size_t count) const {
  std::vector<std::string> ids;
  for (std::size_t number = children(parent).size() + 1; ids.size() < count; ++number) {
    std::string id = parent + "." + std::to_string(number);
    if (!used_.contains(id)) ids.push_back(std::move(id));
  }
  return ids;
}

bool PlanTree::is_ordered() const { return moments_of(*this).can_all_come(); }

std::vector<DroppedDependency> add_tasks(PlanTree& plan, std::vector<PlanNode> tasks) {
  std::vector<DroppedDependency> dropped;
  Waits wanted;
  std::map<std::string, std::string> too_many;
  for (PlanNode& task : tasks) {
    std::vector<std::string>& ids = wanted[task.id] = std::exchange(task.dependencies, {});
    if (ids.size() > dependencies_max) {
      too_many[task.id] = std::to_string(ids.size() - dependencies_max) + " more";
      ids.resize(dependencies_max);
    }
    plan.add(task);
  }
  // As a rule they all fit together; only if they do not is each one judged by itself, that lies within a knot.
  const Moments whole = moments_of(plan, wanted);
  const std::vector<std::size_t> knots = whole.can_all_come() ? std::vector<std::size_t>{} : whole.knots();
  Moments moments = moments_of(plan);
  const auto may_close_circle = [&](std::size_t task, std::size_t before) {
    return !knots.empty() && knots[Moments::begin(task)] == knots[Moments::end(before)];
  };
  for (const PlanNode& task : tasks) {
    if (const auto more = too_many.find(task.id); more != too_many.end())
      dropped.push_back({task.id, more->second, "dependencies_max"});
    const std::size_t place = place_of(plan, task.id);
    std::set<std::string> seen;
    std::vector<std::string> kept;
    for (const std::string& id : wanted[task.id]) {
      if (!seen.insert(id).second) continue;
      if (plan.find(id) == nullptr) {
        dropped.push_back({task.id, id, "unknown_dependency"});
      } else if (may_close_circle(place, place_of(plan, id)) &&
                 moments.leads(Moments::begin(place), Moments::end(place_of(plan, id)), knots)) {
        dropped.push_back({task.id, id, "cyclic_dependency"});
      } else {
        kept.push_back(id);
        moments.order_tasks(place_of(plan, id), place);
      }
    }
    plan.set_dependencies(task.id, std::move(kept));
  }
  return dropped;
}

Status check_task_count(std::size_t tasks) {
  if (tasks <= plan_tasks_max) return Done{};
  return Error{Code::limit, "Expected a plan of at most " + std::to_string(plan_tasks_max) + " tasks, but there are " +
                                std::to_string(tasks) + "."};
}

PlanTree without(const PlanTree& plan, const std::set<std::string>& ids) {
  PlanTree left = plan;
  left.clear();
  for (const PlanNode* node : plan.below("")) {
    const bool is_gone = ids.contains(node->id) || (!node->parent.empty() && left.find(node->parent) == nullptr);
    if (is_gone)
      left.retire(node->id);
    else
      left.add(*node);
  }
  left.drop_unknown_dependencies();
  return left;
}

// --- its JSON form ---------------------------------------------------------------------------------------------------
Result<PlanTree> read_plan(const Json& plan) {
  if (!plan.is_object()) return invalid("Expected the plan to be an object, but it is " + excerpt(plan, 60) + ".");
  for (const auto& [name, value] : plan.items()) {
    static const std::set<std::string, std::less<>> fields = {"plan_id", "version", "goal", "roots", "nodes"};
    if (!fields.contains(name)) return invalid("Expected the plan to have no field " + name + ", but it has.");
  }
  const Json version = plan.value("version", Json(1));
  const Json goal = plan.value("goal", Json(""));
  if (!version.is_number_integer() || version < 1 || !goal.is_string())
    return invalid("Expected the plan to have a version of at least 1 and a text as goal, but it has not.");
  const Result<std::vector<std::string>> roots = read_ids(plan.value("roots", Json()), "the roots of the plan");
  if (!roots) return roots.error();
  const Result<GivenNodes> given = read_nodes(plan);
  if (!given) return given.error();
  if (Status fits = check_roots(*roots, *given); !fits) return std::move(fits).error();
  PlanTree tree;
  tree.plan_id = plan.value("plan_id", Json());
  tree.version = version.get<std::int64_t>();
  tree.goal = goal.get<std::string>();
  add_below(tree, *roots, *given);
  for (const auto& [id, one] : *given) {
    if (tree.find(id) == nullptr) return invalid("Expected task " + id + " to hang below a root, but it does not.");
  }
  if (!tree.is_ordered())
    return invalid("Expected the dependencies of the plan to be in an order, but they run in a circle.");
  return tree;
}

Json node_json(const PlanTree& plan, const PlanNode& node) {
  return {{"id", node.id},
          {"parent_id", node.parent.empty() ? Json(nullptr) : Json(node.parent)},
          {"position", plan.position(node)},
          {"name", node.name},
          {"instruction", node.instruction},
          {"dependencies", node.dependencies},
          {"context", node.context},
          {"leaf", node.leaf}};
}

Json plan_json(const PlanTree& plan) {
  Json roots = Json::array();
  for (const PlanNode* root : plan.children("")) roots.push_back(root->id);
  Json nodes = Json::object();
  for (const PlanNode& node : plan.nodes()) nodes[node.id] = node_json(plan, node);
  return {{"plan_id", plan.plan_id},
          {"version", plan.version},
          {"goal", plan.goal},
          {"roots", std::move(roots)},
          {"nodes", std::move(nodes)}};
}

// --- in a run --------------------------------------------------------------------------------------------------------
namespace {

PlanNode node_seen(const GoalView& goal) {
  PlanNode node{goal.id, goal.parent, goal.title, "", goal.after, nullptr, false};
  if (goal.context.is_object()) {
    node.instruction = goal.context.value("instruction", "");
    node.context = goal.context.value("context", Json());
    node.leaf = goal.context.value("leaf", false);
  }
  return node;
}

// Adds the tasks in passes over their list, each of those that hang below one which is there by then: a revision may
// hang a task below one that came later, so that one pass is not always enough. A task waits for its parent until that
// is added, so that no pass is made for those that are not reached.
void add_hanging(PlanTree& tree, const std::vector<const GoalView*>& goals) {
  using Turn = std::pair<std::size_t, std::size_t>;  // pass, place in the list
  std::map<std::string_view, std::vector<std::size_t>> below;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  for (std::size_t place = 0; place < goals.size(); ++place) {
    if (goals[place]->parent.empty())
      turns.emplace(0, place);
    else
      below[goals[place]->parent].push_back(place);
  }
  while (!turns.empty()) {
    const auto [pass, place] = turns.top();
    turns.pop();
    const GoalView& goal = *goals[place];
    if (tree.find(goal.id) != nullptr) continue;
    tree.add(node_seen(goal));
    for (const std::size_t child : below[goal.id]) turns.emplace(child > place ? pass : pass + 1, child);
  }
}

}  // namespace

PlanTree plan_seen(const StepInput& input) {
  PlanTree tree;
  tree.version = input.plan_version;
  std::vector<const GoalView*> tasks;
  for (const GoalView& goal : input.plan) {
    tree.retire(goal.id);
    const bool is_removed = goal.status == GoalStatus::skipped;
    if (goal.tool.empty() && !is_removed) tasks.push_back(&goal);
  }
  add_hanging(tree, tasks);
  tree.drop_unknown_dependencies();
  return tree;
}

PlanChild plan_child(const PlanNode& node) {
  Json context = {{"instruction", node.instruction}};
  if (node.leaf) context["leaf"] = true;
  if (!node.context.is_null()) context["context"] = node.context;
  return {node.id, node.name, node.dependencies, std::move(context)};
}

std::vector<Fact> plan_facts(const PlanTree& plan) {
  const auto stored = [](const std::vector<const PlanNode*>& nodes) {
    std::vector<PlanChild> children;
    for (const PlanNode* node : nodes) children.push_back(plan_child(*node));
    return children;
  };
  std::vector<Fact> facts;
  facts.emplace_back(PlanCreated{plan.version, plan.goal, stored(plan.children(""))});
  std::map<std::string_view, std::int32_t> depths;
  for (const PlanNode* node : plan.below("")) {  // parents first
    const std::vector<const PlanNode*> children = plan.children(node->id);
    const std::int32_t depth = depths[node->id] = node->parent.empty() ? 0 : depths.at(node->parent) + 1;
    if (!children.empty()) facts.emplace_back(TaskDecomposed{node->id, "given", depth, stored(children), {}, 0});
  }
  return facts;
}

}  // namespace cairn

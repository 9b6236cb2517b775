#include "engine/blame.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/blame_record.hpp"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 14> kind_words = {"input",  "origin", "edit",   "answer", "unasked",
                                                         "signal", "timer",  "child",  "model",  "tool",
                                                         "work",   "rule",   "engine", "end"};
constexpr std::array<std::string_view, 9> way_words = {"passed", "channel", "given",  "edge",  "plan",
                                                       "slot",   "failure", "budget", "waited"};

// The points and the versions of a record as the nodes of one graph: first the points, then the versions.
class Slicing {
 public:
  explicit Slicing(const BlameRecord& record)
      : record_(record),
        distance_(record.points.size() + record.versions.size(), unreached),
        is_certain_(distance_.size(), false) {}

  BlameSlice of(BlamePointId target, std::size_t most) {
    reach(target);
    std::vector<BlamePointId> found;
    for (std::size_t id = 0; id < record_.points.size(); ++id)
      if (record_.points[id].is_shown && distance_[id] != unreached && static_cast<BlamePointId>(id) != target)
        found.push_back(static_cast<BlamePointId>(id));
    std::sort(found.begin(), found.end(), [this](BlamePointId a, BlamePointId b) { return comes_before(a, b); });
    BlameSlice slice;
    slice.left_out = static_cast<std::int64_t>(found.size() - std::min(found.size(), most));
    found.resize(std::min(found.size(), most));
    slice.of = outcome(target);
    for (const BlamePointId id : found) slice.causes.push_back(outcome(id));
    link(target, found, slice.causes);
    return slice;
  }

 private:
  static constexpr std::int32_t unreached = -1;
  static constexpr std::size_t passed_max = 10'000;  // nodes between two outcomes, where links are sought

  using Place = std::size_t;

  Place place_of(const BlameDependence& on) const {
    return on.point >= 0 ? static_cast<Place>(on.point) : record_.points.size() + static_cast<Place>(on.version);
  }
  bool is_point(Place place) const { return place < record_.points.size(); }
  bool is_shown(Place place) const { return is_point(place) && record_.points[place].is_shown; }

  // Calls `see` for each dependence of what stands there.
  template <class See>
  void each(Place place, const See& see) const {
    if (is_point(place)) {
      for (const BlameDependence& on : record_.points[place].on) see(on);
      return;
    }
    const BlameVersion& version = record_.versions[place - record_.points.size()];
    if (version.point >= 0) see(BlameDependence{.point = version.point});
    for (const BlameVersionId earlier : {version.before, version.other})
      if (earlier >= 0) see(BlameDependence{.version = earlier});
  }

  // First all that is certain, then what comes to it by uncertain dependences.
  void reach(BlamePointId target) {
    distance_[static_cast<Place>(target)] = 0;
    is_certain_[static_cast<Place>(target)] = true;
    open_.push({0, static_cast<Place>(target)});
    spread(true);
    for (Place place = 0; place < distance_.size(); ++place)
      if (distance_[place] != unreached) open_.push({distance_[place], place});
    spread(false);
  }

  void spread(bool certain_alone) {
    while (!open_.empty()) {
      const auto [distance, from] = open_.top();
      open_.pop();
      if (distance > distance_[from]) continue;
      each(from, [&, here = distance](const BlameDependence& on) {
        if (certain_alone && !on.is_certain) return;
        const Place to = place_of(on);
        const std::int32_t there = here + (is_shown(to) ? 1 : 0);
        const bool is_settled = is_certain_[to] && !certain_alone;
        if (is_settled || (distance_[to] != unreached && distance_[to] <= there)) return;
        distance_[to] = there;
        is_certain_[to] = certain_alone;
        open_.push({there, to});
      });
    }
  }

  bool comes_before(BlamePointId a, BlamePointId b) const {
    const auto rank = [this](BlamePointId id) {
      const auto place = static_cast<Place>(id);
      return std::make_tuple(!is_certain_[place], distance_[place], -record_.points[place].seq);
    };
    return rank(a) < rank(b);
  }

  const std::string& name(BlameNameId id) const { return record_.names[static_cast<std::size_t>(id)]; }

  BlamedOutcome outcome(BlamePointId id) const {
    const BlamePoint& point = record_.points[static_cast<Place>(id)];
    BlamedOutcome shown;
    shown.seq = point.seq;
    shown.step = point.step;
    shown.node = name(point.node);
    shown.kind = point.kind;
    shown.who = name(point.who);
    shown.sub_goal = name(point.sub_goal);
    shown.decision = name(point.decision);
    if (const auto run = record_.runs.find(id); run != record_.runs.end()) shown.run = run->second;
    shown.distance = distance_[static_cast<Place>(id)];
    shown.is_certain = is_certain_[static_cast<Place>(id)];
    return shown;
  }

  void link(BlamePointId target, const std::vector<BlamePointId>& found, std::vector<BlamedOutcome>& causes) const {
    std::unordered_map<Place, std::size_t> places;
    for (std::size_t at = 0; at < found.size(); ++at) places.emplace(static_cast<Place>(found[at]), at);
    link_from(target, places, causes);
    for (const BlamePointId id : found) link_from(id, places, causes);
  }

  // From one outcome to the shown ones that it depends on, whatever lies between. The first name on the way counts.
  void link_from(BlamePointId later, const std::unordered_map<Place, std::size_t>& places,
                 std::vector<BlamedOutcome>& causes) const {
    std::unordered_set<Place> passed;
    std::vector<std::pair<Place, BlameDependence>> open = {{static_cast<Place>(later), {}}};
    while (!open.empty() && passed.size() < passed_max) {
      const auto [from, by] = open.back();
      open.pop_back();
      if (!passed.insert(from).second) continue;
      each(from, [&, way = by](const BlameDependence& on) {
        const BlameDependence named = way.way == BlameWay::passed ? on : way;
        const Place to = place_of(on);
        if (!is_shown(to)) {
          open.emplace_back(to, named);
        } else if (const auto cause = places.find(to); cause != places.end()) {
          add_link(causes[cause->second], later, named);
        }
      });
    }
  }

  void add_link(BlamedOutcome& cause, BlamePointId later, const BlameDependence& by) const {
    BlameLink link{record_.points[static_cast<Place>(later)].seq, by.way, name(by.name)};
    std::vector<BlameLink>& links = cause.leads_to;
    if (links.size() < Blame::links_max && std::find(links.begin(), links.end(), link) == links.end())
      links.push_back(std::move(link));
  }

  const BlameRecord& record_;
  std::vector<std::int32_t> distance_;
  std::vector<bool> is_certain_;
  using Open = std::pair<std::int32_t, Place>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
};

}  // namespace

std::string_view to_string(BlameKind kind) { return kind_words.at(static_cast<std::size_t>(kind)); }
std::string_view to_string(BlameWay way) { return way_words.at(static_cast<std::size_t>(way)); }

bool is_from_outside(BlameKind kind) {
  return kind != BlameKind::timer && kind != BlameKind::rule && kind != BlameKind::engine && kind != BlameKind::end;
}

Blame::Blame(const RunId& run, const Graphs& graphs, ReadsOf reads, std::size_t dependences_most)
    : record_(std::make_unique<BlameRecord>(run, graphs, std::move(reads), dependences_most)) {}
Blame::Blame(Blame&&) noexcept = default;
Blame::~Blame() = default;

void Blame::add(const Event& event) { record_->add(event); }

const RunState& Blame::state() const { return record_->state; }

Result<BlameSlice> Blame::slice(const BlameTarget& target, std::size_t most) const {
  const Result<BlamePointId> point = record_->point_of(target);
  if (!point) return point.error();
  return Slicing(*record_).of(*point, most);
}

}  // namespace cairn

#include "engine/schedule.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "engine/id.hpp"
#include "engine/nearest.hpp"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 6> overlap_words = {"skip",         "buffer_one",      "buffer_all",
                                                           "cancel_other", "terminate_other", "allow_all"};
constexpr std::size_t names_bytes_max = 200;
constexpr std::size_t tags_max = 50;

Error bad_schedule(const std::string& expected, const Json& found) {
  return {Code::invalid, "Expected " + expected + " of a schedule, but found " + excerpt(found, 60) + "."};
}

// The fields of what was asked; the first fault is kept.
class ScheduleFields {
 public:
  explicit ScheduleFields(const Json& asked) : asked_(asked) {}

  std::string text(const char* name, const std::string& without) {
    const Json* value = find(name);
    if (value == nullptr) return without;
    if (value->is_string() && !value->get_ref<const std::string&>().empty() &&
        value->get_ref<const std::string&>().size() <= names_bytes_max)
      return value->get<std::string>();
    refuse(bad_schedule("a text of 1 to " + std::to_string(names_bytes_max) + " bytes as " + name, *value));
    return without;
  }
  std::int64_t number(const char* name, std::int64_t least, std::int64_t without) {
    const Json* value = find(name);
    if (value == nullptr) return without;
    if (value->is_number_integer() && *value >= least && *value <= schedule_span_ms_max)
      return value->get<std::int64_t>();
    refuse(
        bad_schedule("a whole number of milliseconds from " + std::to_string(least) + " to a year as " + name, *value));
    return without;
  }
  // A number of whole seconds.
  std::int64_t seconds(const char* name, std::int64_t least_s) {
    const std::int64_t ms = number(name, least_s * 1'000, 0);
    if (ms % 1'000 != 0) refuse(bad_schedule(std::string("whole seconds as ") + name, ms));
    return ms / 1'000;
  }
  std::vector<std::string> texts(const char* name) {
    const Json* value = find(name);
    std::vector<std::string> all;
    if (value == nullptr) return all;
    const bool is_list = value->is_array() && value->size() <= schedule_lines_max &&
                         std::all_of(value->begin(), value->end(), [](const Json& one) {
                           return one.is_string() && one.get_ref<const std::string&>().size() <= cron_line_bytes_max;
                         });
    if (is_list) return value->get<std::vector<std::string>>();
    refuse(bad_schedule("at most " + std::to_string(schedule_lines_max) + " texts of at most 256 bytes as " + name,
                        *value));
    return all;
  }
  std::optional<UtcSeconds> moment(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    const std::optional<TimeUs> at = value->is_string() ? parse_time(value->get<std::string>()) : std::nullopt;
    if (!at) refuse(bad_schedule(std::string("a time like 2026-11-23T09:00:00Z as ") + name, *value));
    return at ? std::optional<UtcSeconds>(*at / 1'000'000) : std::nullopt;
  }
  Json object(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return Json::object();
    if (!value->is_object()) refuse(bad_schedule(std::string("an object as ") + name, *value));
    return *value;
  }

  const Json* find(const char* name) const {
    const auto found = asked_.find(name);
    return found == asked_.end() || found->is_null() ? nullptr : &*found;
  }
  void refuse(const Error& fault) {
    if (!fault_) fault_ = fault;
  }
  const std::optional<Error>& fault() const { return fault_; }

 private:
  const Json& asked_;
  std::optional<Error> fault_;
};

Status check_fields(const Json& asked) {
  static const std::vector<std::string> known = {"graph",       "input",     "tags", "cron",    "every_ms",
                                                 "phase_ms",    "zone",      "dst",  "exclude", "overlap",
                                                 "catch_up_ms", "jitter_ms", "from", "until"};
  if (!asked.is_object()) return Error{Code::invalid, "Expected a schedule as an object, but found another value."};
  for (auto field = asked.begin(); field != asked.end(); ++field)
    if (std::find(known.begin(), known.end(), field.key()) == known.end())
      return Error{Code::invalid, "Expected the fields of a schedule, but found " + excerpt(Json(field.key()), 60) +
                                      did_you_mean(field.key(), known) + "."};
  return Done{};
}

Status read_times(ScheduleFields& fields, ScheduleDefinition& read) {
  for (const std::string& text : fields.texts("cron")) {
    Result<CronLine> line = parse_cron_line(text);
    if (!line) return line.error();
    read.times.cron.push_back(*std::move(line));
  }
  read.times.every_s = fields.seconds("every_ms", 1);
  read.times.phase_s = fields.seconds("phase_ms", 0);
  read.exclude = fields.texts("exclude");
  for (const std::string& text : read.exclude) {
    const Result<std::vector<ExcludedDays>> days = parse_excluded(text);
    if (!days) return days.error();
    read.times.excluded.insert(read.times.excluded.end(), days->begin(), days->end());
  }
  if (read.times.excluded.size() > schedule_excluded_max)
    return Error{Code::invalid, "Expected at most " + std::to_string(schedule_excluded_max) +
                                    " days and ranges to leave out, but found " +
                                    std::to_string(read.times.excluded.size()) + "."};
  const Result<DstRule> dst = parse_dst(fields.text("dst", "first,next"));
  if (!dst) return dst.error();
  read.times.dst = *dst;
  read.times.from = fields.moment("from");
  read.times.until = fields.moment("until");
  if (fields.fault()) return *fields.fault();
  if (read.times.cron.empty() && read.times.every_s == 0)
    return Error{Code::invalid, "Expected a cron line or an interval of a schedule, but found neither."};
  if (read.times.phase_s != 0 && read.times.phase_s >= read.times.every_s)
    return Error{Code::invalid, "Expected a phase shorter than the interval, but found " +
                                    std::to_string(read.times.phase_s) + " s of " + std::to_string(read.times.every_s) +
                                    " s."};
  if (read.times.from && read.times.until && *read.times.until < *read.times.from)
    return Error{Code::invalid, "Expected a schedule that ends after it begins, but it ends before."};
  return Done{};
}

Result<Tags> read_tags(const Json& tags) {
  if (tags.size() > tags_max) return bad_schedule("at most " + std::to_string(tags_max) + " tags", tags);
  for (auto tag = tags.begin(); tag != tags.end(); ++tag) {
    if (!tag->is_string()) return bad_schedule("texts as tags", *tag);
    if (tag.key() == "schedule" || tag.key() == "occurrence")
      return Error{Code::invalid,
                   "Expected tags of your own, but " + tag.key() + " is what the schedule gives its runs itself."};
  }
  return tags.get<Tags>();
}

}  // namespace

std::string_view to_string(Overlap overlap) { return overlap_words[static_cast<std::size_t>(overlap)]; }

Result<Overlap> parse_overlap(const std::string& text) {
  const auto found = std::find(overlap_words.begin(), overlap_words.end(), text);
  if (found != overlap_words.end()) return static_cast<Overlap>(found - overlap_words.begin());
  return Error{Code::invalid,
               "Expected skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all for occurrences that "
               "overlap, but found " +
                   excerpt(Json(text), 40) + "."};
}

Result<ScheduleDefinition> parse_schedule(const Json& asked) {
  if (const Status known = check_fields(asked); !known) return known.error();
  ScheduleFields fields(asked);
  ScheduleDefinition read;
  read.graph = fields.text("graph", "");
  if (read.graph.empty() && !fields.fault())
    return Error{Code::invalid, "Expected the graph of a schedule, but found none."};
  read.input = fields.object("input");
  if (canonical(read.input).size() > schedule_input_bytes_max)
    return Error{Code::invalid, "Expected an input of a schedule of at most 65536 bytes, but it is larger."};
  read.zone = fields.text("zone", "UTC");
  const Result<Overlap> overlap = parse_overlap(fields.text("overlap", "skip"));
  if (!overlap) return overlap.error();
  read.overlap = *overlap;
  read.catch_up_ms = fields.number("catch_up_ms", 10'000, read.catch_up_ms);
  read.jitter_ms = fields.number("jitter_ms", 0, 0);
  const Json tags = fields.object("tags");
  if (const Status times = read_times(fields, read); !times) return times.error();
  Result<Tags> own = read_tags(tags);
  if (!own) return own.error();
  read.tags = *std::move(own);
  return read;
}

Json schedule_json(const ScheduleDefinition& of) {
  Json cron = Json::array();
  for (const CronLine& line : of.times.cron) cron.push_back(line.text);
  Json shown = {{"graph", of.graph},
                {"input", of.input},
                {"tags", of.tags},
                {"cron", std::move(cron)},
                {"zone", of.zone},
                {"dst", to_string(of.times.dst)},
                {"exclude", of.exclude},
                {"overlap", to_string(of.overlap)},
                {"catch_up_ms", of.catch_up_ms},
                {"jitter_ms", of.jitter_ms}};
  if (of.times.every_s > 0) {
    shown["every_ms"] = of.times.every_s * 1'000;
    shown["phase_ms"] = of.times.phase_s * 1'000;
  }
  if (of.times.from) shown["from"] = time_text(*of.times.from * 1'000'000);
  if (of.times.until) shown["until"] = time_text(*of.times.until * 1'000'000);
  return shown;
}

Status check_schedule_name(const std::string& name) {
  constexpr std::size_t bytes_max = 100;
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto may_stand = [&](char c) { return is_plain(c) || c == '.' || c == '_' || c == '-'; };
  if (!name.empty() && name.size() <= bytes_max && is_plain(name.front()) &&
      std::all_of(name.begin(), name.end(), may_stand))
    return Done{};
  return Error{Code::invalid,
               "Expected a name of a schedule of 1 to 100 letters, digits, dots, underscores and hyphens, but found " +
                   excerpt(Json(name), 60) + "."};
}

}  // namespace cairn

#include "engine/schedule.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "engine/definition_fields.hpp"
#include "engine/id.hpp"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 6> overlap_words = {"skip",         "buffer_one",      "buffer_all",
                                                           "cancel_other", "terminate_other", "allow_all"};
constexpr std::size_t names_bytes_max = 200;
constexpr std::size_t tags_max = 50;
const std::vector<std::string> field_names = {"graph",       "input",     "tags", "cron",    "every_ms",
                                              "phase_ms",    "zone",      "dst",  "exclude", "overlap",
                                              "catch_up_ms", "jitter_ms", "from", "until"};

class ScheduleFields : public DefinitionFields {
 public:
  explicit ScheduleFields(const Json& asked) : DefinitionFields(asked, "schedule", field_names) {}

  std::string text_or(const char* name, const std::string& without) {
    const std::string found = text(name, names_bytes_max);
    return found.empty() ? without : found;
  }
  std::int64_t ms(const char* name, std::int64_t least, std::int64_t without) {
    return number(name, least, schedule_span_ms_max, without);
  }
  // A number of whole seconds.
  std::int64_t seconds(const char* name, std::int64_t least_s) {
    const std::int64_t found = ms(name, least_s * 1'000, 0);
    if (found % 1'000 != 0) refuse(std::string("whole seconds as ") + name, found);
    return found / 1'000;
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
    if (value->is_string()) refuse(std::string("a list of texts as ") + name, *value);
    refuse("at most " + std::to_string(schedule_lines_max) + " texts of at most 256 bytes as " + name, *value);
    return all;
  }
  std::optional<UtcSeconds> moment(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return std::nullopt;
    const std::optional<TimeUs> at = value->is_string() ? parse_time(value->get<std::string>()) : std::nullopt;
    if (!at) refuse(std::string("a time like 2026-11-23T09:00:00Z as ") + name, *value);
    return at ? std::optional<UtcSeconds>(*at / 1'000'000) : std::nullopt;
  }
  Json object(const char* name) {
    const Json* value = find(name);
    if (value == nullptr) return Json::object();
    if (!value->is_object()) refuse(std::string("an object as ") + name, *value);
    return *value;
  }
};

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
  const Result<DstRule> dst = parse_dst(fields.text_or("dst", "first,next"));
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

Result<Tags> read_tags(const ScheduleFields& fields, const Json& tags) {
  if (tags.size() > tags_max) return fields.unlike("at most " + std::to_string(tags_max) + " tags", tags);
  for (auto tag = tags.begin(); tag != tags.end(); ++tag) {
    if (!tag->is_string()) return fields.unlike("texts as tags", *tag);
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
  ScheduleFields fields(asked);
  if (fields.fault()) return *fields.fault();
  ScheduleDefinition read;
  read.graph = fields.text("graph", names_bytes_max);
  if (read.graph.empty() && !fields.fault())
    return Error{Code::invalid, "Expected the graph of a schedule, but found none."};
  read.input = fields.object("input");
  if (canonical(read.input).size() > schedule_input_bytes_max)
    return Error{Code::invalid, "Expected an input of a schedule of at most 65536 bytes, but it is larger."};
  read.zone = fields.text_or("zone", "UTC");
  const Result<Overlap> overlap = parse_overlap(fields.text_or("overlap", "skip"));
  if (!overlap) return overlap.error();
  read.overlap = *overlap;
  read.catch_up_ms = fields.ms("catch_up_ms", 10'000, read.catch_up_ms);
  read.jitter_ms = fields.ms("jitter_ms", 0, 0);
  const Json tags = fields.object("tags");
  if (const Status times = read_times(fields, read); !times) return times.error();
  Result<Tags> own = read_tags(fields, tags);
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

Status check_schedule_name(const std::string& name) { return check_definition_name(name, "schedule", 100); }

}  // namespace cairn

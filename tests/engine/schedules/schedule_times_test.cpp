// Times of schedules against a slow oracle, which walks every fifth minute of a decade with the C library's own reading
// of the zone database, and against sentences of the guide.
#include "engine/schedule_times.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sstream>

#include "engine/id.hpp"

namespace cairn {
namespace {

TimeZone zone_named(const std::string& name) {
  std::ifstream in("/usr/share/zoneinfo/" + name, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  const Result<TimeZone> zone = TimeZone::parse(bytes.str());
  EXPECT_TRUE(zone.ok()) << name;
  return zone ? *zone : TimeZone::utc();
}

UtcSeconds seconds_of(const std::string& text) { return *parse_time(text) / 1'000'000; }

ScheduleTimes cron_times(const std::string& line, const std::string& dst = "first,next") {
  ScheduleTimes times;
  const Result<CronLine> parsed = parse_cron_line(line);
  EXPECT_TRUE(parsed.ok()) << line;
  if (parsed) times.cron.push_back(*parsed);
  times.dst = *parse_dst(dst);
  return times;
}

std::vector<std::string> next_texts(const ScheduleTimes& times, const std::string& zone, const std::string& from,
                                    std::size_t count) {
  const TimeZone of = zone_named(zone);
  std::vector<std::string> found;
  std::optional<UtcSeconds> at = next_time(times, of, seconds_of(from));
  for (; at && found.size() < count; at = next_time(times, of, *at + 1))
    found.push_back(time_text(*at * 1'000'000).substr(0, 19));
  return found;
}

using Texts = std::vector<std::string>;

// --- the oracle
// --------------------------------------------------------------------------------------------------------

constexpr std::int64_t step_s = 60;

struct OracleLine {
  std::string text;
  std::function<bool(const std::tm&)> matches;
  bool is_every_hour = false;
};

bool is_last_of_month(const std::tm& day, int days_more) {
  std::tm later = day;
  later.tm_mday += days_more;
  const std::time_t at = timegm(&later);
  std::tm normal{};
  gmtime_r(&at, &normal);
  return normal.tm_mon != day.tm_mon;
}

const std::vector<OracleLine>& oracle_lines() {
  static const std::vector<OracleLine> lines = {
      {"30 2 * * *", [](const std::tm& t) { return t.tm_min == 30 && t.tm_hour == 2; }},
      {"0 2 * * *", [](const std::tm& t) { return t.tm_min == 0 && t.tm_hour == 2; }},
      {"15,45 0-3 * * *", [](const std::tm& t) { return (t.tm_min == 15 || t.tm_min == 45) && t.tm_hour <= 3; }},
      {"0 9 * * MON-FRI",
       [](const std::tm& t) { return t.tm_min == 0 && t.tm_hour == 9 && t.tm_wday >= 1 && t.tm_wday <= 5; }},
      {"*/20 * * * *", [](const std::tm& t) { return t.tm_min % 20 == 0; }, true},
      {"30 * * * *", [](const std::tm& t) { return t.tm_min == 30; }, true},
      {"5 */2 * * *", [](const std::tm& t) { return t.tm_min == 5 && t.tm_hour % 2 == 0; }},
      {"0 0 1 * *", [](const std::tm& t) { return t.tm_min == 0 && t.tm_hour == 0 && t.tm_mday == 1; }},
      {"0 3 L * *", [](const std::tm& t) { return t.tm_min == 0 && t.tm_hour == 3 && is_last_of_month(t, 1); }},
      {"30 1 * * 0L",
       [](const std::tm& t) { return t.tm_min == 30 && t.tm_hour == 1 && t.tm_wday == 0 && is_last_of_month(t, 7); }},
      {"0 0,2,12 13 * FRI",
       [](const std::tm& t) {
         return t.tm_min == 0 && (t.tm_hour == 0 || t.tm_hour == 2 || t.tm_hour == 12) &&
                (t.tm_mday == 13 || t.tm_wday == 5);
       }},
      {"55 23 31 DEC ?",
       [](const std::tm& t) { return t.tm_min == 55 && t.tm_hour == 23 && t.tm_mday == 31 && t.tm_mon == 11; }},
      {"20 2 ? MAR,OCT,NOV SUN#2",
       [](const std::tm& t) {
         return t.tm_min == 20 && t.tm_hour == 2 && (t.tm_mon == 2 || t.tm_mon == 9 || t.tm_mon == 10) &&
                t.tm_wday == 0 && t.tm_mday > 7 && t.tm_mday <= 14;
       }},
      {"40 1 29 2 *",
       [](const std::tm& t) { return t.tm_min == 40 && t.tm_hour == 1 && t.tm_mday == 29 && t.tm_mon == 1; }},
  };
  return lines;
}

// A time that a gap leaves out.
struct NeverShown {
  std::int64_t local = 0;
  UtcSeconds after_gap = 0;
  UtcSeconds shifted = 0;
};

// The findings of a walk over every minute of a zone, for one line.
struct Walked {
  std::vector<std::pair<std::int64_t, UtcSeconds>> shown;  // what the wall clock showed, and when
  std::vector<NeverShown> never_shown;
};

bool is_step(std::int64_t local) { return local % 300 == 0; }  // all lines name such minutes

std::vector<Walked> walk(const std::string& zone, UtcSeconds from, UtcSeconds until) {
  setenv("TZ", zone.c_str(), 1);
  tzset();
  const std::vector<OracleLine>& lines = oracle_lines();
  std::vector<Walked> walked(lines.size());
  std::int64_t before = 0;
  for (UtcSeconds at = from; at < until; at += step_s) {
    const std::time_t time = at;
    std::tm shown{};
    localtime_r(&time, &shown);
    const std::int64_t local = at + shown.tm_gmtoff;
    for (std::int64_t missing = before + step_s; at > from && missing < local; missing += step_s) {
      const std::time_t of_gap = missing;
      std::tm never{};
      gmtime_r(&of_gap, &never);
      for (std::size_t n = 0; n < lines.size(); ++n)
        if (lines[n].matches(never)) walked[n].never_shown.push_back({missing, at, at + (missing - before - step_s)});
    }
    before = local;
    if (!is_step(local)) continue;
    for (std::size_t n = 0; n < lines.size(); ++n)
      if (lines[n].matches(shown)) walked[n].shown.emplace_back(local, at);
  }
  for (Walked& one : walked) std::sort(one.shown.begin(), one.shown.end());
  return walked;
}

using LeavesOut = std::function<bool(std::int64_t local)>;

std::vector<UtcSeconds> oracle(
    const Walked& walked, bool is_every_hour, const DstRule& dst,
    const LeavesOut& leaves_out = [](std::int64_t) { return false; }) {
  std::vector<UtcSeconds> found;
  for (std::size_t n = 0; n < walked.shown.size(); ++n) {
    const auto [local, at] = walked.shown[n];
    if (leaves_out(local)) continue;
    const bool is_first = n == 0 || walked.shown[n - 1].first != local;
    const bool is_last = n + 1 == walked.shown.size() || walked.shown[n + 1].first != local;
    if (is_every_hour || dst.repeated == Repeated::both || (dst.repeated == Repeated::first ? is_first : is_last))
      found.push_back(at);
  }
  if (!is_every_hour && dst.left_out != LeftOut::skip)
    for (const auto& [local, after_gap, shifted] : walked.never_shown)
      if (!leaves_out(local)) found.push_back(dst.left_out == LeftOut::next ? after_gap : shifted);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::string differing(const std::vector<UtcSeconds>& expected, const std::vector<UtcSeconds>& found) {
  const auto differ = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
  const auto shown = [](auto at, auto end) { return at == end ? "no more" : time_text(*at * 1'000'000); };
  if (differ.first == expected.end() && differ.second == found.end()) return "";
  return "expected " + shown(differ.first, expected.end()) + ", found " + shown(differ.second, found.end());
}

std::size_t compare_decade(const std::string& zone, UtcSeconds from, UtcSeconds until) {
  const std::vector<Walked> walked = walk(zone, from, until);
  const TimeZone parsed = zone_named(zone);
  std::size_t compared = 0;
  for (std::size_t n = 0; n < walked.size(); ++n)
    for (const Repeated repeated : {Repeated::first, Repeated::second, Repeated::both})
      for (const LeftOut left_out : {LeftOut::next, LeftOut::skip, LeftOut::shift}) {
        const OracleLine& line = oracle_lines()[n];
        if (line.is_every_hour && left_out != LeftOut::next) continue;
        ScheduleTimes times = cron_times(line.text);
        times.dst = {repeated, left_out};
        std::vector<UtcSeconds> found;
        for (auto at = next_time(times, parsed, from); at && *at < until; at = next_time(times, parsed, *at + 1))
          found.push_back(*at);
        EXPECT_EQ(differing(oracle(walked[n], line.is_every_hour, times.dst), found), "")
            << zone << " \"" << line.text << "\" " << to_string(times.dst);
        compared += found.size();
      }
  return compared;
}

// The zone of the C library is as it was after this.
class KeptZone {
 public:
  KeptZone() {
    if (const char* before = std::getenv("TZ"); before != nullptr) kept_ = before;
  }
  ~KeptZone() {
    kept_ ? setenv("TZ", kept_->c_str(), 1) : unsetenv("TZ");
    tzset();
  }

 private:
  std::optional<std::string> kept_;
};

// SAT,2011-12-24..2012-01-02,03-27
bool is_left_out(std::int64_t local) {
  const std::time_t time = local;
  std::tm day{};
  gmtime_r(&time, &day);
  const bool is_in_range = (day.tm_year == 111 && day.tm_mon == 11 && day.tm_mday >= 24) ||
                           (day.tm_year == 112 && day.tm_mon == 0 && day.tm_mday <= 2);
  return day.tm_wday == 6 || is_in_range || (day.tm_mon == 2 && day.tm_mday == 27);
}

// Every 100 minutes, 7 minutes after each multiple. REQUIRES: the C library has the zone, as after walk().
std::vector<UtcSeconds> intervals_of_oracle(UtcSeconds from, UtcSeconds until) {
  std::vector<UtcSeconds> found;
  for (UtcSeconds at = from; at < until; at += step_s) {
    const std::time_t time = at;
    std::tm shown{};
    localtime_r(&time, &shown);
    if ((at - 420) % 6'000 == 0 && !is_left_out(at + shown.tm_gmtoff)) found.push_back(at);
  }
  return found;
}

TEST(ScheduleTimes, excluded_days_intervals_and_bounds_agree_with_a_slow_oracle) {
  const KeptZone kept;
  const UtcSeconds from = seconds_of("2010-06-01T00:00:00Z"), until = seconds_of("2012-06-01T00:00:00Z");
  const UtcSeconds begins = seconds_of("2010-10-31T00:07:00Z"), ends = seconds_of("2012-03-31T13:00:00Z");
  std::size_t compared = 0;
  for (const std::string zone : {"Europe/Berlin", "Pacific/Apia", "America/Sao_Paulo"}) {
    const std::vector<Walked> walked = walk(zone, from, until);
    const std::vector<UtcSeconds> intervals = intervals_of_oracle(from, until);
    const TimeZone parsed = zone_named(zone);
    for (std::size_t n = 0; n < walked.size(); ++n)
      for (const char* dst : {"first,next", "second,skip", "both,shift"}) {
        const OracleLine& line = oracle_lines()[n];
        ScheduleTimes times = cron_times(line.text, dst);
        times.every_s = 6'000;
        times.phase_s = 420;
        times.excluded = *parse_excluded("SAT,2011-12-24..2012-01-02,03-27");
        times.from = begins;
        times.until = ends;
        std::vector<UtcSeconds> expected = oracle(walked[n], line.is_every_hour, times.dst, is_left_out);
        expected.insert(expected.end(), intervals.begin(), intervals.end());
        std::sort(expected.begin(), expected.end());
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        std::erase_if(expected, [&](UtcSeconds at) { return at < begins || at > ends; });
        std::vector<UtcSeconds> found;
        for (auto at = next_time(times, parsed, from); at && *at < until; at = next_time(times, parsed, *at + 1))
          found.push_back(*at);
        EXPECT_EQ(differing(expected, found), "") << zone << " \"" << line.text << "\" " << dst;
        compared += found.size();
      }
  }
  EXPECT_GT(compared, 500'000u);
}

TEST(ScheduleTimes, a_decade_over_ten_zones_agrees_with_a_slow_oracle) {
  const KeptZone kept;
  std::size_t compared = 0;
  for (const std::string zone :
       {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns",
        "Africa/Casablanca", "Pacific/Apia", "America/Sao_Paulo", "Antarctica/Troll", "UTC"}) {
    compared += compare_decade(zone, seconds_of("2009-12-01T00:00:00Z"), seconds_of("2019-12-01T00:00:00Z"));
    compared += compare_decade(zone, seconds_of("2037-01-01T00:00:00Z"), seconds_of("2039-01-01T00:00:00Z"));
  }
  EXPECT_GT(compared, 5'000'000u);
}

// --- sentences of the guide
// ----------------------------------------------------------------------------------------------

TEST(ScheduleTimes, a_time_that_occurs_twice_means_the_first_unless_said_otherwise) {
  const auto in_october = [](const std::string& dst) {
    return next_texts(cron_times("30 2 25 10 *", dst), "Europe/Berlin", "2026-10-01T00:00:00Z", 2);
  };
  EXPECT_EQ(in_october("first,next"), (Texts{"2026-10-25T00:30:00", "2027-10-25T00:30:00"}));
  EXPECT_EQ(in_october("second,next").front(), "2026-10-25T01:30:00");
  EXPECT_EQ(in_october("last,next").front(), "2026-10-25T01:30:00");
  EXPECT_EQ(in_october("both,next"), (Texts{"2026-10-25T00:30:00", "2026-10-25T01:30:00"}));
}

TEST(ScheduleTimes, the_second_one_is_found_from_between_the_two) {
  EXPECT_EQ(next_texts(cron_times("30 2 25 10 *", "second,next"), "Europe/Berlin", "2026-10-25T00:45:00Z", 1),
            (Texts{"2026-10-25T01:30:00"}));
  EXPECT_EQ(next_texts(cron_times("30 2 25 10 *", "first,next"), "Europe/Berlin", "2026-10-25T00:45:00Z", 1),
            (Texts{"2027-10-25T00:30:00"}));
}

TEST(ScheduleTimes, a_time_that_does_not_occur_means_the_first_instant_after_the_gap_once) {
  const auto in_march = [](const std::string& line, const std::string& dst) {
    return next_texts(cron_times(line, dst), "Europe/Berlin", "2026-03-28T12:00:00Z", 2);
  };
  EXPECT_EQ(in_march("0,30 2 * * *", "first,next"), (Texts{"2026-03-29T01:00:00", "2026-03-30T00:00:00"}));
  EXPECT_EQ(in_march("30 2,3 * * *", "first,skip"), (Texts{"2026-03-29T01:30:00", "2026-03-30T00:30:00"}));
  EXPECT_EQ(in_march("30 2 * * *", "first,skip"), (Texts{"2026-03-30T00:30:00", "2026-03-31T00:30:00"}));
  EXPECT_EQ(in_march("30 2 * * *", "first,shift"), (Texts{"2026-03-29T01:30:00", "2026-03-30T00:30:00"}));
}

TEST(ScheduleTimes, a_line_of_every_hour_follows_the_hours_that_pass) {
  EXPECT_EQ(next_texts(cron_times("30 * * * *"), "Europe/Berlin", "2026-10-25T00:00:00Z", 3),
            (Texts{"2026-10-25T00:30:00", "2026-10-25T01:30:00", "2026-10-25T02:30:00"}));
  EXPECT_EQ(next_texts(cron_times("30 * * * *"), "Europe/Berlin", "2026-03-29T00:00:00Z", 2),
            (Texts{"2026-03-29T00:30:00", "2026-03-29T01:30:00"}));
}

TEST(ScheduleTimes, a_day_that_a_zone_leaves_out_is_a_gap) {
  EXPECT_EQ(next_texts(cron_times("0 9 30 12 *"), "Pacific/Apia", "2011-12-01T00:00:00Z", 1),
            (Texts{"2011-12-30T10:00:00"}));
  EXPECT_EQ(next_texts(cron_times("0 9 30 12 *", "first,skip"), "Pacific/Apia", "2011-12-01T00:00:00Z", 1),
            (Texts{"2012-12-29T19:00:00"}));
}

TEST(ScheduleTimes, an_interval_counts_seconds_from_its_phase) {
  ScheduleTimes times;
  times.every_s = 5'400;
  times.phase_s = 600;
  EXPECT_EQ(next_texts(times, "Europe/Berlin", "2026-03-29T00:00:00Z", 3),
            (Texts{"2026-03-29T00:10:00", "2026-03-29T01:40:00", "2026-03-29T03:10:00"}));
}

TEST(ScheduleTimes, nothing_falls_on_days_that_are_left_out) {
  ScheduleTimes times = cron_times("0 9 * * *");
  times.excluded = *parse_excluded("SAT,SUN,2026-12-24..2027-01-02,01-06");
  EXPECT_EQ(next_texts(times, "UTC", "2026-12-23T00:00:00Z", 4),
            (Texts{"2026-12-23T09:00:00", "2027-01-04T09:00:00", "2027-01-05T09:00:00", "2027-01-07T09:00:00"}));
  ScheduleTimes hourly;
  hourly.every_s = 43'200;
  hourly.excluded = *parse_excluded("SAT");
  EXPECT_EQ(next_texts(hourly, "America/New_York", "2026-11-27T13:00:00Z", 3),
            (Texts{"2026-11-28T00:00:00", "2026-11-29T12:00:00", "2026-11-30T00:00:00"}))
      << "the local Saturday";
}

TEST(ScheduleTimes, it_begins_and_ends) {
  ScheduleTimes times = cron_times("0 9 * * *");
  times.from = seconds_of("2026-12-01T09:00:00Z");
  times.until = seconds_of("2026-12-02T09:00:00Z");
  EXPECT_EQ(next_texts(times, "UTC", "2026-11-01T00:00:00Z", 9), (Texts{"2026-12-01T09:00:00", "2026-12-02T09:00:00"}));
}

TEST(ScheduleTimes, several_lines_are_one_row_of_times) {
  ScheduleTimes times = cron_times("0 9 * * *");
  times.cron.push_back(*parse_cron_line("0 */3 * * *"));
  EXPECT_EQ(next_texts(times, "UTC", "2026-11-01T08:00:00Z", 3),
            (Texts{"2026-11-01T09:00:00", "2026-11-01T12:00:00", "2026-11-01T15:00:00"}));
}

// --- lines
// -----------------------------------------------------------------------------------------------------------------

std::string refusal_of(const std::string& line) {
  const Result<CronLine> parsed = parse_cron_line(line);
  return parsed ? "" : parsed.error().message;
}

TEST(CronLine, says_what_is_wrong_with_a_line) {
  EXPECT_EQ(refusal_of("1--100000000 * * * *"),
            "Expected a number from 0 to 59, a range, a step or a list as the minute of a cron line, but found "
            "1--100000000.");
  EXPECT_EQ(refusal_of("0 24 * * *"),
            "Expected a number from 0 to 23, a range, a step or a list as the hour of a cron line, but found 24.");
  EXPECT_EQ(refusal_of("0 9 * FOO *"),
            "Expected a number from 1 to 12, a name, a range, a step or a list as the month of a cron line, but found "
            "FOO.");
  EXPECT_EQ(refusal_of("0 9 30 2 *"), "Expected a cron line that some day fits, but no day ever fits \"0 9 30 2 *\".");
  EXPECT_EQ(refusal_of("0 9 * *"),
            "Expected the five fields of a cron line (minute, hour, day of month, month, day of week), or six with the "
            "second in front, but found \"0 9 * *\".");
  EXPECT_EQ(refusal_of(std::string(300, '1')), "Expected a cron line of at most 256 bytes, but found 300.");
  for (const std::string line : {"",
                                 "* * * * * * *",
                                 "*/0 * * * *",
                                 "*/61 * * * *",
                                 "5-1 * * * *",
                                 "1,, * * * *",
                                 "-1 * * * *",
                                 "0 0 0 * *",
                                 "0 0 32 * *",
                                 "0 0 * 13 *",
                                 "0 0 * * 8",
                                 "0 0 * * FRI-MON",
                                 "0 0 LW * *",
                                 "0 0 L-31 * *",
                                 "0 0 * * 5#6",
                                 "0 0 * * #2",
                                 "0 0 * * L",
                                 "@sometimes",
                                 "0 0 31 2,4,6,9,11 *",
                                 "0 0 L-30 2 *",
                                 "0x1 * * * *",
                                 "1e1 * * * *"})
    EXPECT_NE(refusal_of(line), "") << line;
}

TEST(CronLine, reads_what_crontabs_have) {
  for (const std::string line :
       {"0 0 * * 7", "0 0 * * 5-7", "0 0 * * SAT-SUN", "0 0 L-3 * *", "0 0 1,15,L * *", "0 0 29 2 *",
        "*/5 9-17 * * mon", "0 0 ? * 2#1", "30 0 12 * * *", "@daily", "5/15 * * * *", "  0\t9  * * 1 "})
    EXPECT_EQ(refusal_of(line), "") << line;
  EXPECT_EQ(parse_cron_line("  0\t9  * * 1 ")->text, "0 9 * * 1");
}

TEST(CronLine, six_fields_begin_with_the_second) {
  EXPECT_EQ(next_texts(cron_times("15,45 59 23 * * *"), "UTC", "2026-12-31T23:59:16Z", 2),
            (Texts{"2026-12-31T23:59:45", "2027-01-01T23:59:15"}));
  EXPECT_EQ(next_texts(cron_times("*/20 * * * * *"), "UTC", "2026-12-31T23:59:41Z", 2),
            (Texts{"2027-01-01T00:00:00", "2027-01-01T00:00:20"}));
}

TEST(CronLine, a_sunday_has_two_numbers) {
  EXPECT_EQ(next_texts(cron_times("0 0 * * 7"), "UTC", "2026-11-27T00:00:00Z", 1), (Texts{"2026-11-29T00:00:00"}));
  EXPECT_EQ(next_texts(cron_times("0 0 * * 0"), "UTC", "2026-11-27T00:00:00Z", 1), (Texts{"2026-11-29T00:00:00"}));
  EXPECT_EQ(next_texts(cron_times("0 0 * * */2"), "UTC", "2026-11-27T00:00:00Z", 3),
            (Texts{"2026-11-28T00:00:00", "2026-11-29T00:00:00", "2026-12-01T00:00:00"}));
}

TEST(CronLine, days_before_the_last_are_counted_back) {
  EXPECT_EQ(next_texts(cron_times("0 0 L-2 2 *"), "UTC", "2027-01-01T00:00:00Z", 2),
            (Texts{"2027-02-26T00:00:00", "2028-02-27T00:00:00"}));
}

// --- zones
// -------------------------------------------------------------------------------------------------------------------

TEST(TimeZone, damaged_files_are_refused) {
  std::ifstream in("/usr/share/zoneinfo/Europe/Berlin", std::ios::binary);
  std::stringstream read;
  read << in.rdbuf();
  const std::string whole = read.str();
  ASSERT_TRUE(TimeZone::parse(whole).ok());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(TimeZone::parse(whole.substr(0, length)).ok()) << length;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const char c : {'\0', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = c;
      const Result<TimeZone> zone = TimeZone::parse(damaged);
      EXPECT_TRUE(!zone || zone->piece_at(1'800'000'000).ends > 1'800'000'000) << at;
    }
}

// Found by the fuzzer: an offset of a week.
TEST(TimeZone, a_rule_with_an_offset_of_days_is_refused) {
  const std::string part = "TZif2" + std::string(15, '\0') + std::string(12, '\0') + std::string(4, '\0') +
                           std::string("\0\0\0\1\0\0\0\4", 8) + std::string(6, '\0') + std::string("ABC\0", 4);
  EXPECT_TRUE(TimeZone::parse(part + part + "\nABC-25\n").ok());
  EXPECT_FALSE(TimeZone::parse(part + part + "\nABC-100\n").ok());
  EXPECT_FALSE(TimeZone::parse(part + part + "\nABC0DEF100,J1,J2\n").ok());
}

TEST(TimeZone, the_rule_for_later_years_is_read) {
  const TimeZone berlin = zone_named("Europe/Berlin");
  EXPECT_EQ(berlin.piece_at(seconds_of("2100-07-01T00:00:00Z")).offset, 7'200);
  EXPECT_EQ(berlin.piece_at(seconds_of("2100-12-01T00:00:00Z")).name, "CET");
}

}  // namespace
}  // namespace cairn

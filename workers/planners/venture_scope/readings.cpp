#include "workers/planners/venture_scope/readings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "engine/text.hpp"
#include "workers/handlers/model_call.hpp"
#include "workers/handlers/step_fields.hpp"
#include "workers/ports/untrusted_text.hpp"
#include "workers/tools/corpus/sentences.hpp"

namespace cairn {
namespace {

constexpr std::size_t fields_read_max = 12;
constexpr std::size_t quote_bytes_max = 600;
constexpr std::size_t readings_kept_max = 20;  // of one field
constexpr double unbounded = std::numeric_limits<double>::max();
constexpr double agreement = 0.02;

std::vector<std::string> filled_phrases(const Venture& venture, const Json& find, const char* name) {
  std::vector<std::string> texts;
  for (const Json& text : find.value(name, Json::array())) texts.push_back(filled(venture, text.get<std::string>()));
  return texts;
}

Sought::Kind kind_of(const std::string& type) {
  if (type == "share") return Sought::Kind::share;
  return type == "money" ? Sought::Kind::money : Sought::Kind::number;
}

// "pieces a year" is a rate.
std::string rate_in(const std::string& unit) {
  for (const char* per : {"year", "month", "quarter", "week", "day", "hour"})
    for (const char* mark : {"a ", "per ", "/"})
      if (unit.find(std::string(mark) + per) != std::string::npos) return per;
  return "";
}

std::string one_spaced(std::string_view text) {
  std::string made;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!is_space)
      made += c;
    else if (!made.empty() && made.back() != ' ')
      made += ' ';
  }
  if (!made.empty() && made.back() == ' ') made.pop_back();
  return made;
}

bool are_equal(double left, double right) { return std::fabs(left - right) <= 1e-9 * std::max(1.0, std::fabs(right)); }

bool is_year(const std::string& text) {
  return text.size() == 4 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         text >= "1500" && text < "2200";
}

// The year nearest to the quantity in its sentence, else the latest of the passage and its title; "" none.
std::string year_of(const std::string& sentence, std::size_t near, const std::string& around) {
  std::optional<std::pair<std::size_t, std::int64_t>> nearest;
  for (const Quantity& each : quantities_in(sentence)) {
    if (!each.may_be_a_year) continue;
    const std::size_t distance = each.begin > near ? each.begin - near : near - each.begin;
    if (!nearest || distance < nearest->first) nearest = {distance, static_cast<std::int64_t>(each.value)};
  }
  if (nearest) return std::to_string(nearest->second);
  std::int64_t latest = 0;
  for (const Quantity& each : quantities_in(around))
    if (each.may_be_a_year) latest = std::max(latest, static_cast<std::int64_t>(each.value));
  return latest > 0 ? std::to_string(latest) : "";
}

Error refused_reading(const std::string& path, const std::string& why) {
  return {Code::invalid, "Expected a reading of " + path + " " + why};
}

bool is_digit_at(const std::string& text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

bool begins_list(std::string_view line) {
  return line.starts_with("- ") || line.starts_with("\u2013 ") || line.starts_with("\u2014 ") ||
         line.starts_with("\u2022");
}

// The passage with single spaces, as its quote has them. Two numbers at the end and the beginning of lines stay apart,
// also where the second line is one of a list ("- 15 %").
std::string read_on_over_lines(const std::string& passage) {
  std::string made = one_spaced(passage);
  std::size_t at = 0;  // in `made`
  for (std::size_t from = passage.find_first_not_of(" \n\t\r"); from < passage.size() && at < made.size(); ++at) {
    if (made[at] != ' ') {
      ++from;
      continue;
    }
    const std::size_t end = std::min(passage.find_first_not_of(" \n\t\r", from), passage.size());
    const bool has_line = passage.substr(from, end - from).find('\n') != std::string::npos;
    const bool are_digits = at > 0 && is_digit_at(made, at - 1) && is_digit_at(made, at + 1);
    if (has_line && (are_digits || begins_list(std::string_view(made).substr(at + 1)))) made[at] = '\n';
    from = end;
  }
  return made;
}

// The numbers of the passage whose digits begin within the quote, as the passage has them: a quote may cut one off
// ("EUR 4.2" of "EUR 4.2 billion", "850" of "12,850"), or leave out what limits it.
std::vector<Quantity> quoted_quantities(const std::string& passage, const std::string& quote) {
  const std::string spaced = one_spaced(passage);
  const std::string text = read_on_over_lines(passage);
  const std::vector<Quantity> all = quantities_in(text);
  std::vector<Quantity> quoted;
  for (std::size_t at = spaced.find(quote); at != std::string::npos; at = spaced.find(quote, at + 1))
    for (const Quantity& each : all) {
      const std::size_t digits = text.find_first_of("0123456789", each.begin);
      if (digits >= at && digits < at + quote.size()) quoted.push_back(each);
    }
  return quoted;
}

// --- a scale that does not stand at its number -----------------------------------------------------------------------
bool is_number_word(std::string_view word) {
  constexpr std::array<std::string_view, 17> words = {"a",    "an",   "one",   "two",   "three",  "four",
                                                      "five", "six",  "seven", "eight", "nine",   "ten",
                                                      "half", "some", "few",   "many",  "several"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Without its numbers and the words that count with them: "1.2 million people", "half a million".
std::string without_numbers(std::string text) {
  for (const Quantity& each : quantities_in(text))
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(each.begin),
              text.begin() + static_cast<std::ptrdiff_t>(each.end), ' ');
  const std::string lower = lowered(text);
  bool is_counted = false;
  for (std::size_t from = 0; (from = lower.find_first_not_of(" \t", from)) != std::string::npos;) {
    const std::size_t end = std::min(lower.find_first_of(" \t", from), lower.size());
    const bool counts = is_number_word(std::string_view(lower).substr(from, end - from));
    if (counts || is_counted) std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(from), end - from, ' ');
    is_counted = counts;
    from = end;
  }
  return text;
}

// A line that ends a sentence. "in Mio. EUR" ends none.
bool is_prose(const std::string& line) {
  const std::vector<std::string> sentences = sentences_of(line);
  return std::any_of(sentences.begin(), sentences.end(), [](const std::string& sentence) {
    const std::size_t word = sentence.find_last_of(" (") + 1;
    const std::string last = sentence.substr(word, sentence.size() - word - 1);
    const bool is_short_scale =
        last.size() <= 4 && (names_scale(last, 1e3) || names_scale(last, 1e6) || names_scale(last, 1e9));
    return std::string_view(".!?").find(sentence.back()) != std::string_view::npos && !is_short_scale;
  });
}

// The lines of the passage down to the one in which the quote begins, each with single spaces.
std::vector<std::string> lines_down_to(const std::string& passage, const std::string& quote) {
  const std::size_t begin = one_spaced(passage).find(quote);
  std::vector<std::string> lines;
  std::size_t next = 0;  // the beginning of the line within the passage with single spaces
  for (std::size_t from = 0; from < passage.size() && next <= begin;) {
    const std::size_t end = std::min(passage.find('\n', from), passage.size());
    std::string line = one_spaced(std::string_view(passage).substr(from, end - from));
    if (!line.empty() && line.front() == ' ') line.erase(0, 1);
    if (!line.empty()) next += line.size() + 1;
    if (!line.empty()) lines.push_back(std::move(line));
    from = end + 1;
  }
  return lines;
}

// In the quote, in the title, or in the head of the table that the quote is a row of; never as the word of another
// number.
bool stands_beside(const std::string& quote, const std::string& title, const std::string& passage, double scale) {
  if (names_scale(without_numbers(quote), scale) || names_scale(without_numbers(title), scale)) return true;
  const std::vector<std::string> lines = lines_down_to(passage, quote);
  for (auto line = lines.rbegin(); line != lines.rend() && !is_prose(*line); ++line)
    if (line != lines.rbegin() && names_scale(without_numbers(*line), scale)) return true;
  return false;
}

// The quantity of those that the reading means; its readings of the digits, where they are doubtful, are settled by the
// reading. `scale_stands`: next to a number without one.
std::optional<Quantity> meant_quantity(const std::vector<Quantity>& quoted, const Json& reading, bool scale_stands,
                                       bool is_share) {
  const double value = reading.value("value", 0.0);
  const double scale = reading.value("scale", 1.0);
  for (Quantity quantity : quoted) {
    if ((!quantity.doubt.empty() && !quantity.may_be_settled) || quantity.may_be_a_year) continue;
    for (const double written : quantity.written) {
      const bool is_scaled_before = scale == 1 && are_equal(value, written * quantity.scale);
      const bool is_shared_before = is_share && quantity.is_percent && scale == 1 && are_equal(value * 100, written);
      const bool has_scale = scale == quantity.scale || (quantity.scale == 1 && scale_stands);
      if (!is_scaled_before && !is_shared_before && !(are_equal(value, written) && has_scale)) continue;
      if (!is_scaled_before && !is_shared_before) quantity.scale = scale;
      const bool is_one = !quantity.is_range() || written != quantity.written.back();
      quantity.doubt.clear();
      quantity.value = written * quantity.scale / (quantity.is_percent ? 100 : 1);
      if (is_one && !quantity.is_range()) quantity.low = quantity.high = quantity.value;
      return quantity;
    }
  }
  return std::nullopt;
}

// --- weights ---------------------------------------------------------------------------------------------------------
// A period as a source or a model writes it; 0: it begins with no year.
int written_year(const std::string& period) {
  constexpr int year_max = 999'999;  // with the month, as 202603
  return leading_number(period, year_max);
}

int latest_year(const Json& readings) {
  int latest = 0;
  for (const Json& reading : readings) latest = std::max(latest, written_year(text_of(reading, "period")));
  return latest;
}

double date_weight(const Venture& venture, const Json& reading, int latest) {
  const int year = written_year(text_of(reading, "period"));
  const int asked = written_year(venture.period);
  if (asked > 0) return year > 0 ? 1 / (1 + 0.2 * std::abs(asked - year)) : 0.6;
  if (latest == 0) return 1;
  return year > 0 ? 1 / (1 + 0.1 * (latest - year)) : 0.7;
}

double weight_of(const Venture& venture, const Json& reading, int latest) {
  double weight = date_weight(venture, reading, latest) / (1 + 0.1 * reading.value("place", 0));
  if (!reading.value("names_region", true)) weight *= 0.4;
  if (reading.contains("hedge") || reading.contains("low")) weight *= 0.8;
  return std::round(weight * 1000) / 1000;
}

bool do_agree(const Json& left, const Json& right) {
  const double a = left.at("value").get<double>();
  const double b = right.at("value").get<double>();
  return std::fabs(a - b) <= agreement * std::max(std::fabs(a), std::fabs(b));
}

// The weight of all that agree with a reading, the best of each source.
double support_of(const Json& readings, const Json& one, std::size_t& sources) {
  std::map<std::string, double> best;
  for (const Json& other : readings)
    if (do_agree(one, other)) {
      double& weight = best[text_of(other, "source")];
      weight = std::max(weight, other.at("weight").get<double>());
    }
  sources = best.size();
  double sum = 0;
  for (const auto& [source, weight] : best) sum += weight;
  return sum;
}

std::string sources_text(std::size_t count) { return count == 1 ? "one source" : std::to_string(count) + " sources"; }

}  // namespace

Sought sought_of(const Venture& venture, const std::string& path) {
  const Json& field = field_of(venture, path);
  const Json find = field.value("find", Json::object());
  const Sought::Kind kind = kind_of(text_of(field, "type"));
  return {kind,
          venture.currency,
          filled_phrases(venture, find, "about"),
          filled_phrases(venture, find, "context"),
          field.value("min", kind == Sought::Kind::number ? -unbounded : 0.0),
          field.value("max", kind == Sought::Kind::share ? 1.0 : unbounded),
          rate_in(text_of(field, "unit"))};
}

std::vector<std::string> fields_to_read(const Venture& venture, const std::string& path) {
  std::vector<std::string> paths;
  const auto can_read = [&venture](const std::string& each) {
    const Json& field = field_of(venture, each);
    return !field.empty() && text_of(field, "type") != "text";
  };
  if (can_read(path)) paths.push_back(path);
  for (const std::string& leaf : required_leaves(venture)) {
    const bool wanted = leaf != path && !is_known(venture, leaf) && may_search(field_of(venture, leaf));
    if (wanted && can_read(leaf) && paths.size() < fields_read_max) paths.push_back(leaf);
  }
  return paths;
}

Json extraction_data(const Venture& venture, const std::vector<std::string>& paths, const Json& hits) {
  Json fields = Json::array();
  for (const std::string& path : paths) {
    const Json& field = field_of(venture, path);
    const Sought sought = sought_of(venture, path);
    Json row = {{"path", path},
                {"title", text_of_field(venture, path, "title")},
                {"type", field.value("type", "number")},
                {"unit", filled(venture, text_of(field, "unit"))},
                {"about", sought.about},
                {"context", sought.context},
                {"per", sought.per}};
    if (field.contains("min")) row["min"] = field["min"];
    if (field.contains("max")) row["max"] = field["max"];
    fields.push_back(std::move(row));
  }
  Json passages = Json::array();
  for (const Json& hit : hits)
    passages.push_back({{"passage", passages.size()},
                        {"title", text_of(hit, "title")},
                        {"source", text_of(hit, "source")},
                        {"text", text_of(hit, "excerpt")}});
  return {{"region", venture.region},
          {"currency", venture.currency},
          {"period", venture.period},
          {"fields", std::move(fields)},
          {"passages", std::move(passages)}};
}

Json extraction_reply(const std::vector<std::string>& paths) {
  const Json text = {{"type", "string"}};
  const Json number = {{"type", "number"}};
  Json reading = object_schema({{"field", {{"type", "string"}, {"enum", paths}}},
                                {"passage", {{"type", "integer"}}},
                                {"value", number},
                                {"scale", number},
                                {"unit", text},
                                {"currency", text},
                                {"period", text},
                                {"quote", text}});
  Json schema = object_schema({{"readings", {{"type", "array"}, {"items", std::move(reading)}}}});
  schema["title"] = extraction_schema;
  return schema;
}

Json extract_by_rules(const Json& data) {
  Json readings = Json::array();
  const Json fields = data.value("fields", Json::array());
  if (fields.empty()) return {{"readings", readings}};
  const Json& field = fields[0];
  const Sought::Kind kind = kind_of(text_of(field, "type"));
  const Sought sought{kind,
                      text_of(data, "currency"),
                      field.value("about", std::vector<std::string>{}),
                      field.value("context", std::vector<std::string>{}),
                      field.value("min", kind == Sought::Kind::number ? -unbounded : 0.0),
                      field.value("max", kind == Sought::Kind::share ? 1.0 : unbounded),
                      text_of(field, "per"),
                      !text_of(data, "period").empty()};
  for (const Json& passage : data.value("passages", Json::array())) {
    const std::string title = text_of(passage, "title");
    const std::string text = text_of(passage, "text");
    for (const Evidence& evidence : find_evidence(title, text, sought)) {
      const Quantity& quantity = evidence.quantity;
      readings.push_back({{"field", field.at("path")},
                          {"passage", passage.at("passage")},
                          {"value", quantity.written.back()},
                          {"scale", quantity.scale},
                          {"unit", quantity.is_percent    ? "%"
                                   : quantity.per.empty() ? ""
                                                          : "per " + quantity.per},
                          {"currency", quantity.currency},
                          {"period", year_of(evidence.says, quantity.begin, title + "\n" + text)},
                          {"quote", evidence.says}});
    }
  }
  return {{"readings", std::move(readings)}};
}

Result<Json> admit_reading(const Venture& venture, const Json& reading, const Json& hits, const std::string& by) {
  const std::string path = text_of(reading, "field");
  if (!venture.schema.contains(path) || text_of(field_of(venture, path), "type") == "text")
    return refused_reading(path, "to be of a number among the fields, but it is of none.");
  const Json place = reading.value("passage", Json());
  if (!place.is_number_integer() || place < 0 || place >= hits.size())
    return refused_reading(path, "to name one of the passages, but it names " + excerpt(place, 20) + ".");
  const Json& hit = hits[place.get<std::size_t>()];
  const std::string title = text_of(hit, "title");
  const std::string passage = text_of(hit, "excerpt");
  const std::string quote = one_spaced(text_of(reading, "quote"));
  if (quote.empty() || quote.size() > quote_bytes_max * 2 || one_spaced(passage).find(quote) == std::string::npos)
    return refused_reading(path, "to quote its passage, but these words are not in it: " + excerpt(quote, 80) + ".");
  if (!reading.value("value", Json()).is_number() || !reading.value("scale", Json(1)).is_number())
    return refused_reading(path, "to have a number, but it has none.");
  const Sought sought = sought_of(venture, path);
  const std::string around = title + "\n" + passage;
  const double scale = reading.value("scale", 1.0);
  std::optional<Quantity> quantity =
      meant_quantity(quoted_quantities(passage, quote), reading, stands_beside(quote, title, passage, scale),
                     sought.kind == Sought::Kind::share);
  if (!quantity)
    return refused_reading(path, "whose number stands in its quote, but " + canonical(reading["value"]) + " times " +
                                     canonical(reading.value("scale", Json(1))) + " does not: " + excerpt(quote, 80) +
                                     ".");
  if (sought.kind == Sought::Kind::money && quantity->currency.empty() && names_currency(around, sought.currency) &&
      text_of(reading, "currency") == sought.currency)
    quantity->currency = sought.currency;
  if (!fits_sought(*quantity, sought))
    return refused_reading(path, "that fits the field, but this does not: " + excerpt(quote, 80) + ".");
  const std::string period = text_of(reading, "period");
  const bool is_dated = is_year(period) && around.find(period) != std::string::npos;
  const bool names_region = sought.context.empty() || mentions_phrase(around, venture.region);
  Json kept = {{"value", value_for(*quantity, sought)},
               {"currency", quantity->currency},
               {"period", is_dated ? period : ""},
               {"quote", readable_line(quote, quote_bytes_max)},
               {"title", title},
               {"source", text_of(hit, "source")},
               {"place", place},
               {"names_region", names_region},
               {"by", by}};
  if (quantity->is_range()) kept.update({{"low", quantity->low}, {"high", quantity->high}});
  if (!quantity->hedge.empty()) kept["hedge"] = quantity->hedge;
  if (!quantity->per.empty()) kept["per"] = quantity->per;
  return kept;
}

Choice choose_reading(const Venture& venture, const std::string& path, Json readings) {
  Json distinct = Json::array();
  for (Json& reading : readings) {
    const bool is_known_already = std::any_of(distinct.begin(), distinct.end(), [&reading](const Json& other) {
      return other["source"] == reading["source"] && other["value"] == reading["value"] &&
             other["quote"] == reading["quote"];
    });
    if (!is_known_already) distinct.push_back(std::move(reading));
  }
  const int latest = latest_year(distinct);
  for (Json& reading : distinct) reading["weight"] = weight_of(venture, reading, latest);
  std::stable_sort(distinct.begin(), distinct.end(),
                   [](const Json& left, const Json& right) { return left["weight"] > right["weight"]; });
  if (distinct.size() > readings_kept_max) distinct.erase(distinct.begin() + readings_kept_max, distinct.end());
  Choice choice;
  double most = -1;
  std::size_t agreeing = 0;
  for (const Json& reading : distinct) {
    std::size_t sources = 0;
    const double support = support_of(distinct, reading, sources);
    if (support <= most) continue;
    most = support;
    agreeing = sources;
    choice.chosen = reading;
  }
  std::string others;
  for (const Json& reading : distinct) {
    if (do_agree(reading, choice.chosen)) continue;
    choice.is_disputed = true;
    if (others.size() < 300)
      others += (others.empty() ? "" : ", ") + value_text(venture, path, reading["value"]) + " (" +
                text_of(reading, "source") + ", weight " + number_text(reading["weight"].get<double>()) + ")";
  }
  choice.reason = value_text(venture, path, choice.chosen["value"]) + " has the weight " + number_text(most) + " of " +
                  sources_text(agreeing) +
                  (choice.is_disputed ? "; others say " + others + "." : ", and none differs.");
  choice.readings = std::move(distinct);
  return choice;
}

}  // namespace cairn

#include "workers/tools/data/results.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <vector>

namespace cairn {
namespace {

constexpr std::size_t causes_max = 3;

std::string number_text(double value) {
  const bool is_small = value != 0 && std::abs(value) < 0.01;
  char text[64];
  std::snprintf(text, sizeof text, std::floor(value) == value ? "%.0f" : is_small ? "%.3g" : "%.2f", value);
  return text;
}

std::string value_text(const Json& value) {
  if (value.is_null()) return "–";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  if (value.is_number()) return number_text(value.get<double>());
  return canonical(value);
}

// The width of the text in letters of a fixed-width font.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return to_the_right ? blanks + text : text + blanks;
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string percent(double part, double whole) {
  return whole == 0 ? "all" : std::to_string(std::lround(std::abs(100 * part / whole))) + " %";
}

std::string table_of(const Json& results) {
  const Json& columns = results.at("columns");
  const std::size_t shown = std::min(results.at("rows").size(), rows_shown_max);
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    widths.push_back(width_of(columns[c].at("name")));
    for (std::size_t r = 0; r < shown; ++r)
      widths[c] = std::max(widths[c], width_of(value_text(results["rows"][r].at(c))));
  }
  const auto line_of = [&](const auto& cell) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c)
      line += padded(cell(c), widths[c], columns[c].at("type") == "number") + "  ";
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  std::string text = line_of([&](std::size_t c) { return columns[c].at("name").get<std::string>(); });
  for (std::size_t r = 0; r < shown; ++r)
    text += line_of([&](std::size_t c) { return value_text(results["rows"][r][c]); });
  return text;
}

// --- a change --------------------------------------------------------------------------------------------------------
struct Part {
  std::string name;
  std::string value;
  double before = 0;
  double now = 0;
  double change() const { return now - before; }
};

bool is_change(const Json& results) {
  std::vector<std::string> names;
  for (const Json& column : results.at("columns")) names.push_back(column.at("name"));
  return names == std::vector<std::string>{"part", "value", "before", "now"};
}

std::vector<Part> parts_of(const Json& results) {
  std::vector<Part> parts;
  for (const Json& row : results.at("rows"))
    parts.push_back({row.at(0), row.at(1), row.at(2).get<double>(), row.at(3).get<double>()});
  return parts;
}

// Those that moved further in the direction of the whole than it did itself, the furthest first, one of each kind; the
// same rows under another name are left out.
std::vector<Part> causes(const std::vector<Part>& parts, const Part& whole) {
  const auto beyond = [&whole](const Part& part) {
    const double with_the_whole = whole.before == 0 ? 0 : part.before * whole.change() / whole.before;
    return (part.change() - with_the_whole) * (whole.change() < 0 ? -1 : 1);
  };
  std::vector<Part> sorted;
  for (const Part& part : parts)
    if (part.name != "all" && beyond(part) > 0) sorted.push_back(part);
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Part& a, const Part& b) { return beyond(a) > beyond(b); });
  std::vector<Part> chosen;
  std::set<std::string> names;
  std::set<std::pair<double, double>> figures;
  for (const Part& part : sorted) {
    const bool is_other = figures.emplace(part.before, part.now).second;
    if (is_other && names.insert(part.name).second && chosen.size() < causes_max) chosen.push_back(part);
  }
  return chosen;
}

std::string from_to(const Part& part) { return "from " + number_text(part.before) + " to " + number_text(part.now); }

ResultAnalysis analyze_change(const Json& results) {
  const std::vector<Part> parts = parts_of(results);
  const auto whole = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return part.name == "all"; });
  const bool is_cut = results.value("more", false);
  if (whole == parts.end() && is_cut)
    return {"The sum of the two months is not among the rows that were looked at.", false};
  if (whole == parts.end() || whole->change() == 0) return {"Nothing changed between the two months.", true};
  const bool fell = whole->change() < 0;
  const std::vector<Part> strongest = causes(parts, *whole);
  const std::string says = results.value("says", "");
  std::string text = (says.empty() ? "It " : capital(says) + ": it ") + (fell ? "fell" : "rose") + " by " +
                     number_text(std::abs(whole->change())) + " (" + percent(whole->change(), whole->before) + "), " +
                     from_to(*whole) + ".";
  text += strongest.empty() ? is_cut ? " No part that was looked at moved more." : " All parts moved alike."
                            : std::string(" These ") + (fell ? "fell" : "rose") + " more than the rest:";
  for (const Part& part : strongest)
    text += "\n- " + part.name + " " + part.value + ": " + from_to(part) + ", " +
            percent(part.change(), whole->change()) + " of the " + (fell ? "fall" : "rise") + ".";
  return {text + "\nThe figures show where it changed; why it did so there, they do not say.", false};
}

// --- figures ---------------------------------------------------------------------------------------------------------
ResultAnalysis analyze_figures(const Json& results) {
  const Json& columns = results.at("columns");
  std::size_t figure = columns.size();
  for (std::size_t c = columns.size(); c-- > 0;)
    if (columns[c].at("type") == "number" && figure == columns.size()) figure = c;
  Json known = Json::array();  // an unknown figure is not 0
  for (const Json& row : results.at("rows"))
    if (figure < columns.size() && row.at(figure).is_number()) known.push_back(row);
  if (known.empty()) return {"There is no figure to analyse.", true};
  const auto value = [figure](const Json& row) { return row[figure].get<double>(); };
  double total = 0;
  for (const Json& row : known) total += value(row);
  const auto [least, most] = std::minmax_element(
      known.begin(), known.end(), [&value](const Json& a, const Json& b) { return value(a) < value(b); });
  const std::string name = columns[figure].at("name");
  return {"Over " + std::to_string(known.size()) + " rows, " + name + " comes to " + number_text(total) + ", " +
              number_text(total / static_cast<double>(known.size())) + " on average; the largest is " +
              value_text((*most)[figure]) + " (" + value_text((*most)[0]) + "), the smallest " +
              value_text((*least)[figure]) + " (" + value_text((*least)[0]) + ").",
          !results.value("more", false)};
}

}  // namespace

namespace {

std::string rows_as_text(const Json& results) {
  const std::string says = results.value("says", "");
  const Json& rows = results.at("rows");
  const std::string title = says.empty() ? "" : capital(says);
  if (rows.empty()) return (title.empty() ? "" : title + ": ") + "there is nothing.";
  if (rows.size() == 1 && results.at("columns").size() == 1)
    return (title.empty() ? results["columns"][0].at("name").get<std::string>() : title) + ": " +
           value_text(rows[0][0]) + ".";
  std::string text = (title.empty() ? "" : title + ":\n") + table_of(results);
  if (results.contains("page"))
    text += "Page " + std::to_string(results["page"].at("number").get<std::int64_t>()) + ", with " +
            std::to_string(rows.size()) + " rows.\n";
  if (results.value("more", false) || rows.size() > rows_shown_max) text += "There are more rows.\n";
  text.pop_back();
  return text;
}

}  // namespace

std::string show_results(const Json& results) {
  std::string text = rows_as_text(results);
  std::string doubts;
  for (const Json& doubt : results.value("doubts", Json::array())) doubts += "\n- " + doubt.get<std::string>();
  return doubts.empty() ? text : text + "\nTaken for granted:" + doubts;
}

ResultAnalysis analyze_results(const Json& results) {
  return is_change(results) ? analyze_change(results) : analyze_figures(results);
}

}  // namespace cairn

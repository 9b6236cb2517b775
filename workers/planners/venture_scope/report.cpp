#include "workers/planners/venture_scope/report.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "workers/handlers/step_fields.hpp"
#include "workers/models/models.hpp"

namespace cairn {
namespace {

constexpr double step_down = 0.8;
constexpr double step_up = 1.2;

Json field_value(const Venture& venture, const std::string& path) {
  return is_known(venture, path) ? venture.fields.at(path).at("value") : Json();
}

std::string titled(const Venture& venture, const std::string& path) {
  std::string title = text_of_field(venture, path, "title");
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

std::string origin_text(const Json& field) {
  const std::string source = text_of(field, "source");
  if (source == "derived") return "= " + text_of(field, "formula");
  if (source == "user")
    return "said by " + (text_of(field, "by").empty() ? std::string("a person") : text_of(field, "by"));
  if (source == "question") return "named in the question";
  if (source != "search") return "given";
  const Json evidence = field.value("evidence", Json::object());
  return text_of(evidence, "source") + ": \"" + text_of(evidence, "says") + "\"";
}

// Derived fields before their components.
void add_paths(const Venture& venture, const std::string& path, std::set<std::string>& listed,
               std::vector<std::string>& paths) {
  if (!venture.schema.contains(path) || !listed.insert(path).second) return;
  paths.push_back(path);
  if (!venture.recipes.contains(path)) return;
  for (const Json& component : venture.recipes.at(path).at("components"))
    add_paths(venture, component.get<std::string>(), listed, paths);
}

std::vector<std::string> reported_paths(const Venture& venture) {
  std::set<std::string> listed;
  std::vector<std::string> paths;
  if (is_calculator_backed(venture)) add_paths(venture, target_of(venture), listed, paths);
  for (const auto& [path, field] : venture.schema.items())
    if (field.value("required", true)) add_paths(venture, path, listed, paths);
  return paths;
}

std::string headline(const Venture& venture, const VentureEnding& ending) {
  const std::string target = target_of(venture);
  if (!target.empty() && has_current_success(venture))
    return titled(venture, target) + ": " + value_text(venture, target, venture.calculation.at("result")) + ".";
  if (target.empty())
    return ending.status == "done" ? "This is what was found." : "It was not finished: " + ending.reason + ".";
  std::string text = "There is no result for " + target + ": " + ending.reason + ".";
  if (venture.calculation.contains("message")) text += " " + text_of(venture.calculation, "message");
  return text;
}

std::string reader_text(const VentureEnding& ending) {
  const bool planned_by_rules = ending.decided_by == rule_book_name;
  const bool read_by_rules = ending.read_by.empty() || ending.read_by == rule_book_name;
  if (planned_by_rules && read_by_rules)
    return "No language model is configured: a rule book decided what to look for, and word rules read the documents.";
  if (ending.decided_by.empty() && ending.read_by.empty()) return "";
  const std::string planner = planned_by_rules            ? "A rule book decided"
                              : ending.decided_by.empty() ? "Rules decided"
                                                          : "The model " + ending.decided_by + " decided";
  return planner + " what to look for; " +
         (read_by_rules ? "word rules read the documents." : "the model " + ending.read_by + " read the documents.");
}

// --- sources, conflicts, assumptions ---------------------------------------------------------------------------------
Json sources_of(const Venture& venture, const std::vector<std::string>& paths) {
  Json rows = Json::array();
  for (const std::string& path : paths) {
    if (!is_known(venture, path) || path == target_of(venture)) continue;
    const Json& field = venture.fields.at(path);
    Json row = {{"path", path},
                {"title", titled(venture, path)},
                {"value", field.at("value")},
                {"shown", value_text(venture, path, field.at("value"))},
                {"origin", field.value("source", "")},
                {"says", origin_text(field)}};
    if (field.contains("evidence")) row["evidence"] = field["evidence"];
    if (venture.findings.contains(path)) row["readings"] = venture.findings[path];
    rows.push_back(std::move(row));
  }
  return rows;
}

Json conflicts_of(const Venture& venture, const std::vector<std::string>& paths) {
  Json rows = Json::array();
  for (const std::string& path : paths) {
    if (!is_known(venture, path)) continue;
    const Json& field = venture.fields.at(path);
    if (field.value("is_disputed", false))
      rows.push_back({{"path", path}, {"chosen", field.at("value")}, {"reason", field.value("chosen_because", "")}});
    const bool is_contradicted = is_said(venture, path) && field["value"].is_number() &&
                                 venture.findings.contains(path) && !venture.findings[path].empty() &&
                                 venture.findings[path][0]["value"] != field["value"];
    if (is_contradicted)
      rows.push_back({{"path", path},
                      {"chosen", field.at("value")},
                      {"reason", "It was said; " + text_of(venture.findings[path][0], "source") + " says " +
                                     value_text(venture, path, venture.findings[path][0]["value"]) + "."}});
  }
  return rows;
}

void assume_evidence(const Venture& venture, const std::string& path, const Json& field, Json& assumptions) {
  const Json evidence = field.value("evidence", Json::object());
  const auto add = [&](const std::string& text) { assumptions.push_back(path + ": " + text); };
  if (evidence.contains("low"))
    add("the middle of the range " + value_text(venture, path, evidence["low"]) + " to " +
        value_text(venture, path, evidence["high"]) + " was taken.");
  if (evidence.contains("hedge")) add("its source says \"" + text_of(evidence, "hedge") + "\".");
  if (!evidence.value("names_region", true)) add("its source does not name " + venture.region + ".");
  const std::string period = text_of(evidence, "period");
  if (!venture.period.empty() && period != venture.period)
    add(period.empty() ? "its source has no date; the question is about " + venture.period + "."
                       : "its source is of " + period + "; the question is about " + venture.period + ".");
  const std::string per = text_of(evidence, "per");
  if (!per.empty() && per != "year") add("a value per " + per + " was taken as a yearly one.");
}

Json assumptions_of(const Venture& venture, const std::vector<std::string>& paths) {
  Json assumptions = Json::array();
  if (venture.period.empty()) assumptions.push_back("No period was named: newer sources weigh more.");
  for (const std::string& path : paths) {
    if (venture.decompositions.contains(path) && text_of(venture.decompositions[path], "origin") == "proposed")
      assumptions.push_back(path + ": a model proposed to calculate it as " +
                            text_of(venture.decompositions[path], "formula") + ".");
    if (!is_known(venture, path)) continue;
    const Json& field = venture.fields.at(path);
    const std::string source = text_of(field, "source");
    if (source == "search") assume_evidence(venture, path, field, assumptions);
    if (source == "user" || source == "input") assumptions.push_back(path + ": as it was said, without a source.");
  }
  return assumptions;
}

// --- forms -----------------------------------------------------------------------------------------------------------
std::string percent_text(double share) { return number_text(std::round(share * 1000) / 10) + " %"; }

std::string formula_of(const Venture& venture) {
  const std::string target = target_of(venture);
  return target.empty() ? "" : target + " = " + text_of(venture.schema.value(target, Json::object()), "formula");
}

std::string terminal_text(const Venture& venture, const Json& report, const std::vector<std::string>& paths,
                          const std::string& readers) {
  std::string text = text_of(report, "headline") + "\n\n";
  if (const std::string formula = formula_of(venture); !formula.empty()) text += "  " + formula + "\n";
  for (const std::string& path : paths) {
    if (path == target_of(venture)) continue;
    const Json value = field_value(venture, path);
    text += "  " + path + ": ";
    text += value.is_null() ? "missing\n"
                            : value_text(venture, path, value) + "   " + origin_text(venture.fields.at(path)) + "\n";
  }
  for (const Json& row : report.at("conflicts"))
    text += "\nSources disagree on " + text_of(row, "path") + ": " + text_of(row, "reason");
  if (const Json& rows = report.at("sensitivity"); !rows.empty())
    text += "\nThe result moves most with " + text_of(rows[0], "path") + ": 20 % less or more of it gives " +
            number_text(rows[0]["low"].get<double>()) + " or " + number_text(rows[0]["high"].get<double>()) + ".";
  for (const Json& row : report.at("unreadable"))
    text += "\nNot read: " + text_of(row, "source") + ": " + text_of(row, "reason");
  return readers.empty() ? text : text + "\n" + readers;
}

std::string escaped(const std::string& text, bool for_page) {
  std::string made;
  for (const char c : text) {
    if (c == '<')
      made += "&lt;";
    else if (c == '>')
      made += "&gt;";
    else if (c == '&')
      made += "&amp;";
    else if (c == '"' && for_page)
      made += "&quot;";
    else if (c == '\n' || c == '\r')
      made += ' ';
    else if (!for_page && std::string_view("|*_`[]\\#").find(c) != std::string_view::npos)
      made += std::string("\\") + c;
    else
      made += c;
  }
  return made;
}

// The report in one of two markups; a row is a list of cells.
class Writer {
 public:
  explicit Writer(bool for_page) : for_page_(for_page) {}

  void title(const std::string& text) { line(for_page_ ? "<h1>" : "# ", text, for_page_ ? "</h1>" : "\n"); }
  void heading(const std::string& text) { line(for_page_ ? "<h2>" : "## ", text, for_page_ ? "</h2>" : "\n"); }
  void paragraph(const std::string& text) { line(for_page_ ? "<p>" : "", text, for_page_ ? "</p>" : "\n"); }
  void table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
    if (for_page_) text_ += "<table>\n";
    cells(head, "th");
    if (!for_page_) {
      text_ += "|";
      for (std::size_t i = 0; i < head.size(); ++i) text_ += " --- |";
      text_ += "\n";
    }
    for (const std::vector<std::string>& row : rows) cells(row, "td");
    text_ += for_page_ ? "</table>\n" : "\n";
  }
  void list(const std::vector<std::string>& items) {
    if (for_page_) text_ += "<ul>\n";
    for (const std::string& item : items) line(for_page_ ? "<li>" : "- ", item, for_page_ ? "</li>" : "");
    text_ += for_page_ ? "</ul>\n" : "\n";
  }
  std::string text() && { return std::move(text_); }

 private:
  void line(const char* before, const std::string& text, const char* after) {
    text_ += before + escaped(text, for_page_) + after + "\n";
  }
  void cells(const std::vector<std::string>& row, const std::string& tag) {
    text_ += for_page_ ? "<tr>" : "|";
    for (const std::string& cell : row)
      text_ += for_page_ ? "<" + tag + ">" + escaped(cell, true) + "</" + tag + ">" : " " + escaped(cell, false) + " |";
    text_ += for_page_ ? "</tr>\n" : "\n";
  }

  bool for_page_;
  std::string text_;
};

std::vector<std::string> texts_in(const Json& list) { return list.get<std::vector<std::string>>(); }

void write_readings(const Json& sources, Writer& writer) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& source : sources)
    for (const Json& reading : source.value("readings", Json::array()))
      rows.push_back({text_of(source, "path"), number_text(reading["value"].get<double>()), text_of(reading, "period"),
                      number_text(reading["weight"].get<double>()), text_of(reading, "source"),
                      text_of(reading, "quote")});
  if (rows.empty()) return;
  writer.heading("What the sources say");
  writer.table({"Field", "Value", "Year", "Weight", "Source", "Words"}, rows);
}

std::string written(const Venture& venture, const Json& report, const std::string& readers, bool for_page) {
  Writer writer(for_page);
  writer.title(text_of(report, "question").empty() ? "Report" : text_of(report, "question"));
  writer.paragraph(text_of(report, "headline"));
  if (const std::string formula = formula_of(venture); !formula.empty()) {
    writer.heading("Formula");
    writer.paragraph(formula);
  }
  std::vector<std::vector<std::string>> rows;
  for (const Json& row : report.at("sources"))
    rows.push_back({text_of(row, "path"), text_of(row, "title"), text_of(row, "shown"), text_of(row, "says")});
  for (const Json& path : report.at("missing")) rows.push_back({path.get<std::string>(), "", "missing", ""});
  writer.heading("Values");
  writer.table({"Field", "Meaning", "Value", "Source"}, rows);
  write_readings(report.at("sources"), writer);
  std::vector<std::string> conflicts;
  for (const Json& row : report.at("conflicts"))
    conflicts.push_back(text_of(row, "path") + ": " + text_of(row, "reason"));
  if (!conflicts.empty()) {
    writer.heading("Where sources disagree");
    writer.list(conflicts);
  }
  if (!report.at("assumptions").empty()) {
    writer.heading("Assumptions");
    writer.list(texts_in(report.at("assumptions")));
  }
  rows.clear();
  for (const Json& row : report.at("sensitivity"))
    rows.push_back({text_of(row, "path"), number_text(row["low"].get<double>()), number_text(row["high"].get<double>()),
                    percent_text(row["swing"].get<double>())});
  if (!rows.empty()) {
    writer.heading("If an input is 20 % off");
    writer.table({"Field", "20 % less", "20 % more", "Swing"}, rows);
  }
  std::vector<std::string> unreadable;
  for (const Json& row : report.at("unreadable"))
    unreadable.push_back(text_of(row, "source") + ": " + text_of(row, "reason"));
  if (!unreadable.empty()) {
    writer.heading("Documents that could not be read");
    writer.list(unreadable);
  }
  if (!readers.empty()) writer.paragraph(readers);
  return std::move(writer).text();
}

std::string page_around(const std::string& title, const std::string& body) {
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(title, true) +
         "</title>\n<style>body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
         "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.3em .6em;text-align:left;"
         "vertical-align:top}</style></head><body>\n" +
         body + "</body></html>\n";
}

}  // namespace

Json sensitivity_of(const Venture& venture) {
  Json rows = Json::array();
  if (!is_calculator_backed(venture) || !has_current_success(venture)) return rows;
  const std::optional<double> result = result_with(venture, {});
  if (!result || *result == 0) return rows;
  std::set<std::string> listed;
  std::vector<std::string> paths;
  add_paths(venture, target_of(venture), listed, paths);
  for (const std::string& path : paths) {
    const bool is_input = path != target_of(venture) && (!venture.recipes.contains(path) || is_said(venture, path));
    const Json value = field_value(venture, path);
    if (!is_input || !value.is_number()) continue;
    const double number = value.get<double>();
    const bool is_share = text_of(field_of(venture, path), "type") == "share";
    const double more = is_share ? std::min(1.0, number * step_up) : number * step_up;
    const std::optional<double> low = result_with(venture, {{path, number * step_down}});
    const std::optional<double> high = result_with(venture, {{path, more}});
    if (!low || !high) continue;
    rows.push_back({{"path", path},
                    {"title", titled(venture, path)},
                    {"value", value},
                    {"low", *low},
                    {"high", *high},
                    {"swing", std::fabs(*high - *low) / std::fabs(*result)}});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Json& left, const Json& right) { return left["swing"] > right["swing"]; });
  return rows;
}

Json report_of(const Venture& venture, const VentureEnding& ending) {
  const std::vector<std::string> paths = reported_paths(venture);
  Json missing = Json::array();
  for (const std::string& path : required_leaves(venture))
    if (!is_known(venture, path)) missing.push_back(path);
  Json report = {{"question", ending.question},
                 {"headline", headline(venture, ending)},
                 {"region", venture.region},
                 {"currency", venture.currency},
                 {"period", venture.period},
                 {"result", nullptr},
                 {"formula", formula_of(venture)},
                 {"calculation", venture.calculation},
                 {"fields", venture.fields},
                 {"missing", std::move(missing)},
                 {"sources", sources_of(venture, paths)},
                 {"conflicts", conflicts_of(venture, paths)},
                 {"assumptions", assumptions_of(venture, paths)},
                 {"sensitivity", sensitivity_of(venture)},
                 {"unreadable", ending.unreadable},
                 {"decided_by", ending.decided_by},
                 {"read_by", ending.read_by},
                 {"used", venture.used}};
  if (has_current_success(venture)) report["result"] = venture.calculation.at("result");
  const std::string readers = reader_text(ending);
  report["answer"] = terminal_text(venture, report, paths, readers);
  report["markdown"] = written(venture, report, readers, false);
  report["page"] = page_around(ending.question, written(venture, report, readers, true));
  return report;
}

}  // namespace cairn

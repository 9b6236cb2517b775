#include "ops/bench/report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace cairn {
namespace {

// Fields shown for the whole document or in the table of cases, and so not for each case.
const std::set<std::string, std::less<>> shown_elsewhere = {"case",  "postgres", "fsync",    "synchronous_commit",
                                                            "cores", "machine",  "settings", "value",
                                                            "unit",  "limit",    "ratio",    "table"};

void add_flat(std::vector<std::pair<std::string, std::string>>& rows, const std::string& before, const Json& values) {
  for (const auto& [name, value] : values.items()) {
    if (value.is_object())
      add_flat(rows, before + name + " ", value);
    else
      rows.emplace_back(before + name, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

// 12345.6 as 12,345.6.
std::string number_text(const Json& value) {
  std::string text = value.is_number_float() && value == std::round(value.get<double>())
                         ? std::to_string(static_cast<std::int64_t>(value.get<double>()))
                         : value.dump();
  const std::size_t whole = std::min(text.find('.'), text.size());
  for (std::size_t place = whole; place > 3; place -= 3) text.insert(place - 3, ",");
  return text;
}

std::string cell(const Json& line, const char* name) { return line.contains(name) ? number_text(line[name]) : ""; }

std::string environment_text(const Json& line) {
  const Json& machine = line["machine"];
  std::string text =
      "Machine: " + line["cores"].dump() + " cores (" + machine["cpu"].get<std::string>() + "), " +
      machine["memory"].get<std::string>() + ", " + machine["kernel"].get<std::string>() + ". PostgreSQL " +
      line["postgres"].get<std::string>() + ", fsync " + line["fsync"].get<std::string>() + ", synchronous_commit " +
      line["synchronous_commit"].get<std::string>() +
      "; workers, the process that starts runs, and the server share the cores.\n\nSettings of the server:";
  std::string separator = " ";
  for (const auto& [name, value] : line["settings"].items()) {
    text += separator + name + " = " + value.get<std::string>();
    separator = ", ";
  }
  return text + ".\n";
}

std::string summary_row(const CaseText& one, const Json& line) {
  return "| " + std::string(one.name) + " | " + cell(line, "value") + " | " + line.value("unit", "") + " | " +
         cell(line, "limit") + " | " + cell(line, "ratio") + " | " + cell(line, "p50_ms") + " | " +
         cell(line, "p99_ms") + " | " + std::string(one.demand) + " |\n";
}

// Rows with the same fields, as a table of them.
std::string table_text(const Json& rows) {
  std::string head = "|", rule = "|", text;
  for (const Json& row : rows) {
    const bool is_first = text.empty();
    text += "|";
    for (const auto& [name, value] : row.items()) {
      if (is_first) {
        head += " " + name + " |";
        rule += "---|";
      }
      text += " " + (value.is_string() ? value.get<std::string>() : number_text(value)) + " |";
    }
    text += "\n";
  }
  return head + "\n" + rule + "\n" + text;
}

std::string measures_text(const CaseText& one, const Json& line) {
  std::string text = "\n## " + std::string(one.name) + "\n\n" + std::string(one.title) + ".\n\n";
  text += "| measure | value |\n|---|---|\n";
  for (const auto& [name, value] : flat(line))
    if (!shown_elsewhere.contains(name.substr(0, name.find(' ')))) text += "| " + name + " | " + value + " |\n";
  return line.contains("table") ? text + "\n" + table_text(line["table"]) : text;
}

}  // namespace

std::string report_text(std::span<const CaseText> cases, const std::vector<Json>& lines) {
  std::map<std::string, Json> by_case;
  for (const Json& line : lines) by_case[line.value("case", "")] = line;
  std::string summary =
      "| case | value | unit | limit | ratio | p50 ms | p99 ms | must |\n|---|---|---|---|---|---|---|---|\n";
  std::string measures;
  for (const CaseText& one : cases) {
    const auto found = by_case.find(std::string(one.name));
    if (found == by_case.end()) continue;
    summary += summary_row(one, found->second);
    measures += measures_text(one, found->second);
  }
  const std::string environment = lines.empty() ? "" : environment_text(lines.back());
  return "# Results of the benchmark\n\nWritten by `./ops/benchmark`; do not edit.\n\n" + environment + "\n" + summary +
         measures;
}

std::vector<std::pair<std::string, std::string>> flat(const Json& values) {
  std::vector<std::pair<std::string, std::string>> rows;
  add_flat(rows, "", values);
  return rows;
}

}  // namespace cairn

#include "ops/service/guide_pages.hpp"

#include <boost/regex.hpp>
#include <sstream>

#include "engine/embedded.hpp"

namespace cairn {
namespace {

constexpr std::string_view front_page = "agents.md";

// Agents decide by this whether they read on: at most 1,024 characters.
constexpr std::string_view skill_head =
    "---\n"
    "name: cairn\n"
    "description: Writes, checks, tests, starts and repairs graphs of Cairn, an event-sourced workflow engine on "
    "PostgreSQL. Use it when a task names cairn, its graphs, runs, workers or planners, or needs durable multi-step "
    "work with retries, questions to people and an auditable history.\n"
    "---\n\n";

constexpr std::string_view summary =
    "# Cairn\n\n"
    "> An event-sourced workflow engine with a persistent job queue, on PostgreSQL, for planners: graphs of small "
    "nodes "
    "where some are rules, some ask a language model, some call tools, some ask a person. Each step is an event; a run "
    "can be resumed elsewhere, audited, looked at as of any moment, forked and replayed.\n\n"
    "## Guides\n\n";

std::string replaced(const std::string& text, const char* pattern, const char* by) {
  return boost::regex_replace(text, boost::regex(pattern), by);
}

// [words](../decisions/0001.md): the sources are not there.
std::string without_sources(std::string_view text) {
  return replaced(std::string(text), R"(\[([^\]\n]*)\]\(\.\./[^)\n]*\))", "$1");
}

std::string with_references(const std::string& text) {
  return replaced(text, R"(\]\((?!https?:)([^)#\n]+)(#[^)\n]*)?\))", "](references/$1$2)");
}

// The first line of a page is "# Its title".
std::string title_of(std::string_view page) { return std::string(page.substr(2, page.find('\n') - 2)); }

// Its first paragraph, in one line.
std::string opening_of(std::string_view page) {
  std::istringstream lines{std::string(page.substr(page.find('\n')))};
  std::string opening;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() && opening.empty()) continue;
    if (line.empty() || line.starts_with("```") || line.front() == '|') break;
    opening += (opening.empty() ? "" : " ") + line;
  }
  return replaced(without_sources(opening), R"(\[([^\]]*)\]\([^)]*\))", "$1");
}

bool is_page(std::string_view name) {
  return name.ends_with(".md") && name.find('/') == std::string_view::npos && name != "README.md";
}

const char* type_of_file(std::string_view name) {
  if (name.ends_with(".md")) return "text/markdown; charset=utf-8";
  if (name.ends_with(".json")) return "application/json";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/plain; charset=utf-8";
}

// A page that leads to the files of a folder; "": there is none.
std::string folder_text(std::string_view folder) {
  std::string lines;
  for (const EmbeddedFile& file : guide_files()) {
    const bool is_inside =
        file.name.size() > folder.size() && file.name.starts_with(folder) && file.name[folder.size()] == '/';
    const std::string name(file.name);
    if (is_inside) lines += "- [" + name.substr(folder.size() + 1) + "](" + name + ")\n";
  }
  return lines.empty() ? "" : "# " + std::string(folder) + "\n\n" + lines;
}

}  // namespace

std::vector<GuideFile> skill_files() {
  std::vector<GuideFile> files;
  for (const EmbeddedFile& one : guide_files()) {
    const std::string path = "references/" + std::string(one.name);
    if (one.name == front_page)
      files.push_back({"SKILL.md", std::string(skill_head) + with_references(without_sources(one.text))});
    else if (is_page(one.name))
      files.push_back({path, without_sources(one.text)});
    else if (one.name != "README.md")
      files.push_back({path, std::string(one.text)});
  }
  return files;
}

std::optional<ServedFile> guide_file(std::string_view path) {
  if (path == "README.md") return std::nullopt;
  for (const EmbeddedFile& file : guide_files()) {
    if (file.name != path) continue;
    return ServedFile{is_page(path) ? without_sources(file.text) : std::string(file.text), type_of_file(path)};
  }
  std::string folder = folder_text(path);
  if (folder.empty()) return std::nullopt;
  return ServedFile{std::move(folder), type_of_file(".md")};
}

std::string llms_text(std::string_view base) {
  std::string text(summary);
  for (const EmbeddedFile& page : guide_files())
    if (is_page(page.name))
      text += "- [" + title_of(page.text) + "](" + std::string(base) + std::string(page.name) +
              "): " + opening_of(page.text) + "\n";
  return text;
}

}  // namespace cairn

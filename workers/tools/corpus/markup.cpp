#include "workers/tools/corpus/markup.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/text.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr std::size_t csv_columns_max = 200;
constexpr std::size_t csv_head_bytes_max = 200;  // of a column: each row repeats it
constexpr std::size_t reference_bytes_max = 12;  // of "&name;"

bool is_blank_char(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void add_utf8(std::uint32_t code, std::string& text) {
  const bool is_none = code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF);
  if (is_none) code = 0xFFFD;
  const auto put = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | (code >> 6));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 19> entities = {{{"amp", "&"},
                                                                                     {"lt", "<"},
                                                                                     {"gt", ">"},
                                                                                     {"quot", "\""},
                                                                                     {"apos", "'"},
                                                                                     {"nbsp", "\u00A0"},
                                                                                     {"thinsp", "\u2009"},
                                                                                     {"euro", "€"},
                                                                                     {"pound", "£"},
                                                                                     {"yen", "¥"},
                                                                                     {"ndash", "\u2013"},
                                                                                     {"mdash", "\u2014"},
                                                                                     {"minus", "\u2212"},
                                                                                     {"hellip", "\u2026"},
                                                                                     {"rsquo", "\u2019"},
                                                                                     {"lsquo", "\u2018"},
                                                                                     {"ldquo", "\u201C"},
                                                                                     {"rdquo", "\u201D"},
                                                                                     {"permil", "\u2030"}}};

// The character of a reference like "&amp;" or "&#8364;" at `at`, which it passes; a lone & is itself.
void add_reference(std::string_view text, std::size_t& at, std::string& made) {
  const std::size_t size = text.substr(at, reference_bytes_max + 1).find(';');
  const std::string_view name = size == std::string_view::npos ? "" : text.substr(at + 1, size - 1);
  const std::size_t end = at + size;
  if (name.starts_with("#")) {
    const bool is_hex = name.size() > 1 && lowered(name[1]) == 'x';
    std::uint32_t code = 0;
    for (const char c : name.substr(is_hex ? 2 : 1)) {
      const char digit = lowered(c);
      const int value = digit >= '0' && digit <= '9'   ? digit - '0'
                        : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                                       : 0;
      code = std::min<std::uint32_t>(code * (is_hex ? 16 : 10) + static_cast<std::uint32_t>(value), 0x110000);
    }
    add_utf8(code, made);
    at = end + 1;
    return;
  }
  const auto entity =
      std::find_if(entities.begin(), entities.end(), [name](const auto& each) { return each.first == name; });
  if (entity == entities.end()) {
    made += '&';
    ++at;
    return;
  }
  made += entity->second;
  at = end + 1;
}

struct Tag {
  std::string name;  // in lower case; "" none
  bool closes = false;
  bool is_empty = false;  // <br/>
  std::string_view attributes;
};

// The tag that begins at text[at] == '<'; passes it. Comments and declarations are tags without a name.
Tag take_tag(std::string_view text, std::size_t& at) {
  Tag tag;
  if (text.substr(at).starts_with("<!--")) {
    const std::size_t end = text.find("-->", at + 4);
    at = end == std::string_view::npos ? text.size() : end + 3;
    return tag;
  }
  std::size_t end = at + 1;
  char quote = '\0';
  while (end < text.size() && (quote != '\0' || text[end] != '>')) {
    if (quote == '\0' && (text[end] == '"' || text[end] == '\'') && text[end - 1] == '=')
      quote = text[end];
    else if (quote == text[end])
      quote = '\0';
    ++end;
  }
  std::string_view inside = text.substr(at + 1, std::min(end, text.size()) - at - 1);
  at = std::min(end + 1, text.size());
  if (inside.starts_with("/")) {
    tag.closes = true;
    inside.remove_prefix(1);
  }
  tag.is_empty = inside.ends_with("/");
  std::size_t size = 0;
  while (size < inside.size() && !is_blank_char(inside[size]) && inside[size] != '/')
    tag.name += lowered(inside[size++]);
  tag.attributes = inside.substr(size);
  if (tag.name.starts_with("!") || tag.name.starts_with("?")) tag.name.clear();
  return tag;
}

// Builds lines: text with single spaces, and breaks between blocks.
class LineMaker {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      if (is_blank_char(c)) {
        wants_space_ = true;
        continue;
      }
      if (wants_space_ && !line_.empty() && line_.back() != ' ') line_ += ' ';
      wants_space_ = false;
      line_ += c;
    }
  }
  void begin_line(std::string_view prefix) {
    end_line();
    prefix_ = prefix;
  }
  void end_line() {
    wants_space_ = false;
    if (!line_.empty()) text_ += prefix_ + line_ + "\n";
    line_.clear();
    prefix_.clear();
  }
  void end_block() {
    end_line();
    if (!text_.empty() && !text_.ends_with("\n\n")) text_ += "\n";
  }
  bool is_at_start() const { return line_.empty(); }
  std::string text() {
    end_line();
    return std::move(text_);
  }

 private:
  std::string text_;
  std::string line_;
  std::string prefix_;
  bool wants_space_ = false;
};

template <std::size_t size>
bool is_in(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 9> unread_elements = {"script", "style", "noscript", "template", "svg",
                                                             "nav",    "title", "select",   "iframe"};
constexpr std::array<std::string_view, 25> blocks = {
    "p",      "div",  "section", "article",    "main",   "ul",      "ol",      "table",   "header",
    "footer", "pre",  "aside",   "blockquote", "figure", "caption", "dl",      "address", "figcaption",
    "hr",     "form", "details", "summary",    "legend", "search",  "fieldset"};
constexpr std::array<std::string_view, 4> words_apart = {"br", "label", "button", "option"};

// Where the element that was opened ends: after its closing tag.
std::size_t after_element(std::string_view html, std::size_t at, const std::string& name) {
  for (at = html.find("</", at); at != std::string_view::npos; at = html.find("</", at + 2)) {
    const std::string_view there = html.substr(at + 2, name.size());
    const std::string_view after = html.substr(std::min(at + 2 + name.size(), html.size()), 1);
    const bool is_whole = after.empty() || after == ">" || after == "/" || is_blank_char(after[0]);
    const bool is_it = is_whole && std::equal(there.begin(), there.end(), name.begin(), name.end(),
                                              [](char left, char right) { return lowered(left) == right; });
    if (!is_it) continue;
    take_tag(html, at);
    return at;
  }
  return html.size();
}

std::string title_in(std::string_view html) {
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at)) {
    const Tag tag = take_tag(html, at);
    if (tag.name != "title" || tag.closes) continue;
    std::string title;
    while (at < html.size() && html[at] != '<') {
      if (html[at] == '&')
        add_reference(html, at, title);
      else
        title += html[at++];
    }
    return title;
  }
  return "";
}

std::string titled(const std::string& title, std::string text) {
  LineMaker heading;
  heading.add(title);
  const std::string first = heading.text();
  return first.empty() ? text : "# " + first + "\n" + text;
}

// "m<sup>2</sup>" and a footnote's mark: no digit of the number before it.
std::string raised(std::string text, bool is_raised) {
  const bool is_digit = !text.empty() && text[0] >= '0' && text[0] <= '9';
  return is_raised && is_digit ? "^" + text : text;
}

// A cell may not look like the end of a row.
void begin_cell(LineMaker& lines) {
  if (lines.is_at_start())
    lines.begin_line("- ");
  else
    lines.add(" | ");
}

}  // namespace

std::string text_of_html(std::string_view html) {
  LineMaker lines;
  bool has_heading = false;
  bool is_raised = false;  // at the begin of a <sup>
  int cells = 0;           // of this row
  std::size_t at = 0;
  while (at < html.size()) {
    if (html[at] != '<') {
      std::string text;
      if (html[at] == '&')
        add_reference(html, at, text);
      else
        text = html[at++];
      lines.add(raised(std::move(text), is_raised));
      is_raised = false;
      continue;
    }
    const char next = at + 1 < html.size() ? html[at + 1] : ' ';
    if (is_blank_char(next) || (next >= '0' && next <= '9')) {  // "a < b"
      lines.add("<");
      ++at;
      continue;
    }
    const Tag tag = take_tag(html, at);
    if (!tag.closes && !tag.is_empty && is_in(unread_elements, tag.name)) {
      at = after_element(html, at, tag.name);
    } else if (tag.name.size() == 2 && tag.name[0] == 'h' && tag.name[1] >= '1' && tag.name[1] <= '6') {
      lines.end_block();
      if (!tag.closes) lines.begin_line(std::string(static_cast<std::size_t>(tag.name[1] - '0'), '#') + " ");
      has_heading = has_heading || tag.name == "h1";
    } else if (tag.name == "li" || tag.name == "dt") {
      lines.end_line();
      if (!tag.closes) lines.begin_line("- ");
    } else if (tag.name == "tr") {
      lines.end_line();
      cells = 0;
    } else if ((tag.name == "td" || tag.name == "th") && !tag.closes) {
      if (cells++ == 0) lines.end_line();
      begin_cell(lines);
    } else if (tag.name == "dd") {
      lines.end_line();
    } else if (tag.name == "sup") {
      is_raised = !tag.closes;
    } else if (is_in(words_apart, tag.name)) {
      lines.add(" ");
    } else if (is_in(blocks, tag.name)) {
      if (cells == 0 || tag.name == "table")
        lines.end_block();
      else
        lines.add(" ");
      if (tag.name == "table") cells = 0;
    }
  }
  return has_heading ? lines.text() : titled(title_in(html), lines.text());
}

std::string text_of_word(std::string_view xml) {
  LineMaker lines;
  bool is_text = false;
  int table_depth = 0;
  std::size_t at = 0;
  while (at < xml.size()) {
    if (xml[at] != '<') {
      std::string text;
      if (xml[at] == '&')
        add_reference(xml, at, text);
      else
        text = xml[at++];
      if (is_text) lines.add(text);
      continue;
    }
    const Tag tag = take_tag(xml, at);
    if (tag.name == "w:t") {
      is_text = !tag.closes && !tag.is_empty;
    } else if (tag.name == "w:tab" || tag.name == "w:br") {
      lines.add(" ");
    } else if (tag.name == "w:tbl") {
      lines.end_block();
      table_depth += tag.closes ? -1 : 1;
    } else if (tag.name == "w:tr") {
      lines.end_line();
    } else if (tag.name == "w:tc" && !tag.closes) {
      begin_cell(lines);
    } else if (tag.name == "w:p" && table_depth > 0) {
      lines.add(" ");
    } else if (tag.name == "w:p") {
      lines.end_block();
    } else if (tag.name == "w:pstyle" && table_depth == 0) {
      const std::size_t heading = tag.attributes.find("\"Heading");
      const char level =
          heading == std::string_view::npos || heading + 8 >= tag.attributes.size() ? '0' : tag.attributes[heading + 8];
      if (level >= '1' && level <= '6') lines.begin_line(std::string(static_cast<std::size_t>(level - '0'), '#') + " ");
      if (tag.attributes.find("\"Title\"") != std::string_view::npos) lines.begin_line("# ");
      if (tag.attributes.find("\"ListParagraph\"") != std::string_view::npos) lines.begin_line("- ");
    }
  }
  return lines.text();
}

std::string text_of_csv(std::string_view csv) {
  if (csv.starts_with("\xEF\xBB\xBF")) csv.remove_prefix(3);
  const std::string_view first = csv.substr(0, csv.find_first_of("\r\n"));
  char mark = ',';
  for (const char each : {';', '\t'})
    if (std::count(first.begin(), first.end(), each) > std::count(first.begin(), first.end(), mark)) mark = each;
  std::vector<std::string> head;
  std::vector<std::string> row;
  std::string cell;
  std::string text;
  const auto end_cell = [&] {
    if (row.size() < csv_columns_max) row.push_back(std::move(cell));
    cell.clear();
  };
  const auto end_row = [&] {
    end_cell();
    const bool is_blank = std::all_of(row.begin(), row.end(), [](const std::string& each) { return each.empty(); });
    if (!is_blank && head.empty()) {
      for (const std::string& each : row) head.push_back(readable_line(each, csv_head_bytes_max));
    } else if (!is_blank && text.size() <= table_text_bytes_max) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i].empty()) continue;
        const bool is_named = i < head.size() && !head[i].empty();
        line += (line.empty() ? "- " : "; ") + (is_named ? head[i] + ": " : std::string()) + row[i];
      }
      text += line + "\n";
    }
    row.clear();
  };
  bool is_quoted = false;
  for (std::size_t at = 0; at < csv.size(); ++at) {
    const char c = csv[at];
    if (is_quoted && c == '"' && at + 1 < csv.size() && csv[at + 1] == '"') {
      cell += csv[++at];
    } else if (c == '"' && (is_quoted || cell.empty())) {
      is_quoted = !is_quoted;
    } else if (!is_quoted && c == mark) {
      end_cell();
    } else if (!is_quoted && (c == '\n' || (c == '\r' && csv.substr(at + 1, 1) != "\n"))) {
      end_row();
    } else if (c == '\n' || c == '\r') {
      if (is_quoted && c == '\n') cell += ' ';
    } else {
      cell += c;
    }
  }
  if (!cell.empty() || !row.empty()) end_row();
  return text;
}

std::string text_of_pages(std::string_view text) {
  std::string made;
  std::size_t page = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\f'), text.size());
    std::string_view lines = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++page;
    if (lines.find_first_not_of(" \n\r\t") == std::string_view::npos) continue;
    made += "\n## Page " + std::to_string(page) + "\n\n";
    for (std::size_t at = 0; at < lines.size(); ++at) {
      const bool is_cut = lines[at] == '-' && at > 0 && lowered(lines[at - 1]) >= 'a' &&
                          lowered(lines[at - 1]) <= 'z' && at + 2 < lines.size() && lines[at + 1] == '\n' &&
                          lines[at + 2] >= 'a' && lines[at + 2] <= 'z';
      const bool is_mark = lines[at] == '#' && (at == 0 || lines[at - 1] == '\n');  // no heading of ours
      if (is_cut)
        ++at;
      else if (!is_mark)
        made += lines[at];
    }
  }
  return made;
}

}  // namespace cairn

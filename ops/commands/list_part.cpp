#include "ops/commands/list_part.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <utility>

#include "engine/text.hpp"
#include "ops/answers/words.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {

void add_list_part(CLI::App& app, ListPart& part) {
  app.add_option("--after", part.after, "Go on where an earlier list ended")->type_name("CURSOR");
  app.add_option("--limit", part.limit, "At most so many (default: all)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
}

void print_list(const Settings& settings, Table table, std::vector<ListRow> rows, const ListPart& part,
                LastColumn last) {
  const std::int64_t count = std::ssize(rows);
  bool goes_on = false;
  if (part.limit > 0 || !part.after.empty()) {
    std::erase_if(rows, [&part](const ListRow& row) { return row.key <= part.after; });
    std::sort(rows.begin(), rows.end(), [](const ListRow& one, const ListRow& other) { return one.key < other.key; });
    goes_on = part.limit > 0 && std::ssize(rows) > part.limit;
    if (goes_on) rows.erase(rows.begin() + part.limit, rows.end());
  }
  for (ListRow& row : rows) settings.json ? print_json(row.line) : table.add(std::move(row.cells));
  if (!settings.json) last == LastColumn::wrapped ? table.print_wrapped() : table.print();
  if (goes_on)
    print_list_goes_on(grouped(part.limit) + " of " + grouped(count) + ". The next ones:",
                       "--after " + shell_word(rows.back().key), settings.json);
}

std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '@' || c == '/';
  });
  return is_plain ? text : shell_quoted(text);
}

}  // namespace cairn

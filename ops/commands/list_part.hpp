// Lists that are read as a whole (graphs, queues, workers, tokens, schedules, hooks, consumers, corpora) and shown
// whole, or in parts with --limit and --after. Used from one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "ops/requests/requests.hpp"
#include "ops/terminal/table.hpp"

namespace CLI {
class App;
}

namespace cairn {

struct ListPart {
  std::int64_t limit = 0;  // 0: all
  std::string after;       // the key of the last one that was shown before; "": from the beginning
};

// Keys are unique, and their order as bytes is that of the parts.
struct ListRow {
  std::string key;
  Json line;
  std::vector<std::string> cells;
};

// --limit and --after.
void add_list_part(CLI::App& app, ListPart& part);

enum class LastColumn { cut, wrapped };

// The rows as JSON lines or in the table. Where the list goes on, a line says how many there are, and has the cursor.
void print_list(const Settings& settings, Table table, std::vector<ListRow> rows, const ListPart& part,
                LastColumn last = LastColumn::cut);

// The text as one word of a shell, in quotes where it needs them.
std::string shell_word(const std::string& text);

}  // namespace cairn

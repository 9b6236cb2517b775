#include "storage/data/corpus.hpp"

#include "ops/commands.hpp"
#include "ops/database.hpp"
#include "ops/terminal/print.hpp"
#include "workers/tools/corpus/corpus_tool.hpp"
#include "workers/tools/corpus/documents.hpp"

namespace cairn {
namespace {

constexpr std::int32_t hits_shown = 10;

// Opening a database says what is wrong with it (a missing or newer schema) before a corpus is asked for.
Result<std::string> opened_dsn(const Settings& settings) {
  const Result<std::string> dsn = reach_database(choose_database(settings));
  if (!dsn) return dsn.error();
  const Result<std::unique_ptr<Store>> store = open_store(*dsn);
  if (!store) return store.error();
  return *dsn;
}

}  // namespace

Exit corpus_load(const Settings& settings, const std::string& name, const std::string& directory) {
  if (Status fits = check_corpus_name(name); !fits) return std::move(fits).error();
  const Result<Folder> folder = read_documents(directory);
  if (!folder) return folder.error();
  const Result<std::string> dsn = opened_dsn(settings);
  if (!dsn) return dsn.error();
  const Result<CorpusLoad> loaded = Corpora([&dsn] { return dsn; }).load(name, folder->name, folder->documents);
  if (!loaded) return loaded.error();
  if (settings.json)
    print_json({{"corpus", name},
                {"folder", folder->name},
                {"documents", folder->documents.size()},
                {"added", loaded->added},
                {"changed", loaded->changed},
                {"unchanged", loaded->unchanged},
                {"removed", loaded->removed}});
  else
    print_line("Corpus " + name + " has the " + std::to_string(folder->documents.size()) + " documents of " +
               folder->name + ": " + std::to_string(loaded->added) + " added, " + std::to_string(loaded->changed) +
               " changed, " + std::to_string(loaded->unchanged) + " unchanged, " + std::to_string(loaded->removed) +
               " removed.");
  return 0;
}

Exit corpus_list(const Settings& settings) {
  const Result<std::string> dsn = opened_dsn(settings);
  if (!dsn) return dsn.error();
  const Result<std::vector<CorpusRow>> rows = Corpora([&dsn] { return dsn; }).list();
  if (!rows) return rows.error();
  Table table({"CORPUS", "DOCUMENTS", "PASSAGES", "CHARACTERS"});
  for (const CorpusRow& row : *rows) {
    if (settings.json)
      print_json({{"corpus", row.name},
                  {"documents", row.documents},
                  {"passages", row.passages},
                  {"characters", row.characters}});
    table.add({row.name, std::to_string(row.documents), std::to_string(row.passages), std::to_string(row.characters)});
  }
  if (!settings.json) table.print();
  return 0;
}

Exit corpus_search(const Settings& settings, const std::string& name, const std::string& words) {
  const Result<std::string> dsn = opened_dsn(settings);
  if (!dsn) return dsn.error();
  const auto found = corpora_in_database([&dsn] { return dsn; })({name, words, hits_shown});
  if (!found) return found.error();
  for (const FoundPassage& passage : *found) {
    if (settings.json) {
      print_json({{"title", passage.title}, {"source", passage.source}, {"excerpt", passage.text}});
      continue;
    }
    print_line(painted(passage.title, Paint::bold) + "  " + painted(passage.source, Paint::dim));
    print_line(passage.text + "\n");
  }
  if (!settings.json && found->empty()) print_line(painted("None.", Paint::dim));
  return 0;
}

Exit corpus_drop(const Settings& settings, const std::string& name) {
  const Result<std::string> dsn = opened_dsn(settings);
  if (!dsn) return dsn.error();
  if (const Status dropped = Corpora([&dsn] { return dsn; }).drop(name); !dropped) return dropped.error();
  if (settings.json)
    print_json({{"corpus", name}, {"dropped", true}});
  else
    print_line("Corpus " + name + " is gone.");
  return 0;
}

}  // namespace cairn

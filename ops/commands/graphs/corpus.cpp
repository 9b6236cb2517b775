#include "storage/data/corpus.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/list_part.hpp"
#include "ops/requests/arguments.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/print.hpp"
#include "workers/tools/corpus/corpus_tool.hpp"
#include "workers/tools/corpus/documents.hpp"

namespace cairn {
namespace {

constexpr std::int32_t hits_shown = 10;

// Opens the store first, whose refusal names a missing or newer schema.
Result<std::string> opened_dsn(const Settings& settings) {
  const Result<std::string> dsn = reach_database(choose_database(settings));
  if (!dsn) return dsn.error();
  const Result<std::unique_ptr<Store>> store = open_store(*dsn);
  if (!store) return store.error();
  return *dsn;
}

Exit corpus_load(const Settings& settings, const std::string& name, const std::string& directory) {
  if (Status fits = check_corpus_name(name); !fits) return std::move(fits).error();
  const Result<Folder> folder = read_documents(directory);
  if (!folder) return folder.error();
  const Result<std::string> dsn = opened_dsn(settings);
  if (!dsn) return dsn.error();
  const Result<CorpusLoad> loaded =
      Corpora([&dsn] { return dsn; }).load(name, folder->name, folder->documents, folder->unread);
  if (!loaded) return loaded.error();
  Json unread = Json::array();
  for (const UnreadFile& file : folder->unread) unread.push_back({{"source", file.source}, {"reason", file.reason}});
  if (settings.json) {
    print_json({{"corpus", name},
                {"folder", folder->name},
                {"documents", folder->documents.size()},
                {"added", loaded->added},
                {"changed", loaded->changed},
                {"unchanged", loaded->unchanged},
                {"removed", loaded->removed},
                {"unread", std::move(unread)}});
  } else {
    print_paragraph("Corpus " + name + " has the " + std::to_string(folder->documents.size()) + " documents of " +
                    folder->name + ": " + std::to_string(loaded->added) + " added, " + std::to_string(loaded->changed) +
                    " changed, " + std::to_string(loaded->unchanged) + " unchanged, " +
                    std::to_string(loaded->removed) + " removed.");
    for (const UnreadFile& file : folder->unread) print_paragraph("Not read: " + file.source + ": " + file.reason);
  }
  return exit_ok;
}

Exit corpus_list(const Settings& settings, const ListPart& part) {
  const Result<std::string> dsn = opened_dsn(settings);
  if (!dsn) return dsn.error();
  const Result<std::vector<CorpusRow>> rows = Corpora([&dsn] { return dsn; }).list();
  if (!rows) return rows.error();
  std::vector<ListRow> lines;
  for (const CorpusRow& row : *rows)
    lines.push_back(
        {row.name,
         {{"corpus", row.name},
          {"documents", row.documents},
          {"passages", row.passages},
          {"characters", row.characters}},
         {row.name, std::to_string(row.documents), std::to_string(row.passages), std::to_string(row.characters)}});
  print_list(settings, Table({"CORPUS", "DOCUMENTS", "PASSAGES", "CHARACTERS"}), std::move(lines), part);
  return exit_ok;
}

Exit corpus_search(const Settings& settings, const std::string& name, const std::string& words) {
  const Result<std::string> dsn = opened_dsn(settings);
  if (!dsn) return dsn.error();
  const auto found = corpora_in_database([&dsn] { return dsn; })({name, words, hits_shown});
  if (!found) return found.error();
  for (const FoundPassage& passage : found->passages) {
    if (settings.json) {
      print_json({{"title", passage.title}, {"source", passage.source}, {"excerpt", passage.text}});
      continue;
    }
    print_paragraph(painted(passage.title, Paint::bold) + "  " + painted(passage.source, Paint::dim));
    print_paragraph(passage.text + "\n");
  }
  if (!settings.json && found->passages.empty()) print_line(painted("None.", Paint::dim));
  return exit_ok;
}

Exit corpus_drop(const Settings& settings, const std::string& name) {
  const Result<std::string> dsn = opened_dsn(settings);
  if (!dsn) return dsn.error();
  if (const Status dropped = Corpora([&dsn] { return dsn; }).drop(name); !dropped) return dropped.error();
  if (settings.json)
    print_json({{"corpus", name}, {"dropped", true}});
  else
    print_line("Corpus " + name + " is gone.");
  return exit_ok;
}

}  // namespace

void add_corpus(CommandLine& line) {
  auto& name = line.keep<std::string>();
  auto& directory = line.keep<std::string>();
  auto& words = line.keep<std::string>();
  CLI::App& group = add_group(line, "corpus", "Documents that planners search", "cairn corpus list");
  const auto add_name = [&name](CLI::App& command) {
    command.add_option("NAME", name, "The corpus's name")->required()->type_name("");
  };
  CLI::App& load = add_command(line, group, "load", "Load a folder's documents; again: what changed in the folder",
                               "cairn corpus load handbook pages",
                               [&](const Settings& settings) { return corpus_load(settings, name, directory); });
  add_name(load);
  add_text(load, "DIR", "", "The folder", [&](const std::string& text) {
    return assign(directory, path_argument(text, "a folder"));
  })->required();
  auto& part = line.keep<ListPart>();
  add_list_part(add_command(line, group, "list", "The corpora and their size", "cairn corpus list",
                            paged([&](const Settings& settings) { return corpus_list(settings, part); })),
                part);
  CLI::App& search = add_command(line, group, "search", "The passages that a planner's search would find",
                                 "cairn corpus search handbook 'parental leave'",
                                 paged([&](const Settings& settings) { return corpus_search(settings, name, words); }));
  add_name(search);
  search.add_option("WORDS", words, "What is looked for")->required()->type_name("");
  add_name(add_command(line, group, "drop", "Remove a corpus and all its documents", "cairn corpus drop handbook",
                       [&](const Settings& settings) { return corpus_drop(settings, name); }));
}

}  // namespace cairn

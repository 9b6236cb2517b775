#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/service/guide_pages.hpp"
#include "ops/terminal/print.hpp"
#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

struct SkillOptions {
  std::string to = ".agents/skills";
};

// A folder of that name that is none of ours is left alone.
Status check_folder(const fs::path& folder) {
  std::error_code fault;
  if (!fs::exists(folder, fault)) return Done{};
  const Result<std::string> head = read_text_file((folder / "SKILL.md").string(), "the skill");
  if (head && head->starts_with("---\nname: cairn\n")) return Done{};
  return Error{Code::conflict,
               "Expected " + folder.string() + " to be free or a skill of Cairn, but it is something else."};
}

Status write(const fs::path& path, const std::string& text) {
  std::error_code fault;
  fs::create_directories(path.parent_path(), fault);
  if (!fault) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << text;
    if (out.flush()) return Done{};
  }
  return Error{Code::invalid, "Expected to write " + path.string() + ", but it cannot be written" +
                                  (fault ? ": " + fault.message() : std::string()) + "."};
}

Exit install(const Settings& settings, const SkillOptions& options) {
  const fs::path folder = fs::path(options.to) / "cairn";
  if (const Status free = check_folder(folder); !free) return free.error();
  const std::vector<GuideFile> files = skill_files();
  for (const GuideFile& file : files)
    if (const Status written = write(folder / file.path, file.text); !written) return written.error();
  if (settings.json)
    print_json({{"skill", folder.string()}, {"files", files.size()}});
  else
    print_line("The skill is in " + folder.string() + ": " + std::to_string(files.size()) + " files.");
  return exit_ok;
}

Exit show() {
  for (const GuideFile& file : skill_files())
    if (file.path == "SKILL.md") print_line(file.text);
  return exit_ok;
}

}  // namespace

void add_skill(CommandLine& line) {
  auto& options = line.keep<SkillOptions>();
  CLI::App& group =
      add_group(line, "skill", "What an agent needs to know to use Cairn, made from the guides", "cairn skill install");
  CLI::App& command = add_command(line, group, "install", "Write the skill and the guides into a folder of skills",
                                  "cairn skill install --to .claude/skills",
                                  [&](const Settings& settings) { return install(settings, options); });
  add_text(command, "--to", "FOLDER",
           "Where agents look for skills (default .agents/skills; for Claude .claude/skills)",
           [&](const std::string& text) {
             options.to = text;
             return Status(Done{});
           });
  add_command(line, group, "show", "Print the skill", "cairn skill show",
              paged([](const Settings&) { return show(); }));
}

}  // namespace cairn

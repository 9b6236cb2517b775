#include <CLI/CLI.hpp>
#include <utility>

#include "ops/commands/command_options.hpp"
#include "ops/commands/commands.hpp"
#include "ops/commands/list_part.hpp"
#include "ops/requests/access.hpp"
#include "ops/service/database.hpp"
#include "ops/terminal/local_time.hpp"
#include "ops/terminal/print.hpp"
#include "storage/data/tokens.hpp"

namespace cairn {
namespace {

struct TokenOptions {
  std::string name;
  std::vector<std::string> roles;
  std::vector<std::string> scopes;
  std::vector<std::string> quotas;
};

// The owner's, because the login of commands and servers may read tokens and make none. Opens the store first, whose
// refusal names a missing or newer schema.
Result<std::string> dsn_with_schema(const Settings& settings) {
  const Result<std::string> dsn = reach_as_owner(choose_database(settings));
  if (!dsn) return dsn.error();
  const Result<std::unique_ptr<Store>> store = open_store(*dsn);
  if (!store) return store.error();
  return *dsn;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : " ") + text;
  return all;
}

Exit token_add(const Settings& settings, const TokenOptions& options) {
  const Result<std::string> dsn = dsn_with_schema(settings);
  if (!dsn) return dsn.error();
  const std::string secret = new_secret();
  const TokenRow token{options.name, sha256(secret), options.roles, options.scopes, options.quotas, 0, current_actor()};
  if (const Status added = Tokens(*dsn).add(token); !added) return added.error();
  if (settings.json) {
    print_json({{"name", token.name},
                {"token", secret},
                {"roles", token.roles},
                {"scopes", token.scopes},
                {"quotas", token.quotas}});
  } else {
    print_line(secret);
    print_line(painted("It is shown this once. Clients send it as Authorization: Bearer TOKEN.", Paint::dim));
  }
  return exit_ok;
}

Exit token_list(const Settings& settings, const ListPart& part) {
  const Result<std::string> dsn = dsn_with_schema(settings);
  if (!dsn) return dsn.error();
  const Result<std::vector<TokenRow>> rows = Tokens(*dsn).list();
  if (!rows) return rows.error();
  const std::string zone = is_terminal() || rows->empty() ? "" : " (" + zone_name(rows->front().created_at) + ")";
  const auto said = [](TimeUs at_us) { return is_terminal() ? local_day(at_us) : local_time(at_us); };
  Table table = is_terminal() ? Table({"NAME", "MADE", "REVOKED", "BY", "ROLES, SCOPES, QUOTAS"})
                              : Table({"NAME", "ROLES", "SCOPES", "QUOTAS", "MADE" + zone, "BY", "REVOKED"});
  std::vector<ListRow> shown;
  for (const TokenRow& row : *rows) {
    const std::string revoked = row.revoked_at ? time_text(*row.revoked_at) : "";
    const Json line = {{"name", row.name},
                       {"roles", row.roles},
                       {"scopes", row.scopes},
                       {"quotas", row.quotas},
                       {"created_at", time_text(row.created_at)},
                       {"created_by", row.created_by},
                       {"revoked_at", revoked.empty() ? Json(nullptr) : Json(revoked)}};
    const std::string made = said(row.created_at), ended = row.revoked_at ? said(*row.revoked_at) : "";
    std::vector<std::string> rights = row.roles;
    rights.insert(rights.end(), row.scopes.begin(), row.scopes.end());
    rights.insert(rights.end(), row.quotas.begin(), row.quotas.end());
    if (is_terminal())
      shown.push_back({row.name, line, {row.name, made, ended, row.created_by, joined(rights)}});
    else
      shown.push_back(
          {row.name,
           line,
           {row.name, joined(row.roles), joined(row.scopes), joined(row.quotas), made, row.created_by, ended}});
  }
  print_list(settings, std::move(table), std::move(shown), part, LastColumn::wrapped);
  return exit_ok;
}

Exit token_revoke(const Settings& settings, const std::string& name) {
  const Result<std::string> dsn = dsn_with_schema(settings);
  if (!dsn) return dsn.error();
  if (const Status revoked = Tokens(*dsn).revoke(name); !revoked) return revoked.error();
  if (settings.json)
    print_json({{"name", name}, {"revoked", true}});
  else
    print_paragraph("Token " + name + " is revoked; servers know it within seconds.");
  return exit_ok;
}

void add_token_name(CLI::App& command, std::string& name) {
  add_text(command, "NAME", "", "The token's name, which stands as the actor in what is done with it",
           [&name](const std::string& text) { return assign(name, token_name_argument(text)); })
      ->required();
}

void add_texts(CLI::App& command, const std::string& name, const std::string& type, const std::string& says,
               std::vector<std::string>& texts) {
  command.add_option(name, texts, says)->allow_extra_args(false)->type_name(type);
}

}  // namespace

void add_token(CommandLine& line) {
  auto& options = line.keep<TokenOptions>();
  CLI::App& group = add_group(line, "token", "Who may use the API: names, roles and scopes", "cairn token list");
  CLI::App& add = add_command(
      line, group, "add", "Make a token and print it, this once; the database keeps its hash",
      "cairn token add dashboard --role read", [&](const Settings& settings) { return token_add(settings, options); },
      [&]() -> Status {
        const Result<Access> access = access_of(options.roles, options.scopes, options.quotas);
        return access ? Status(Done{}) : access.error();
      });
  add_token_name(add, options.name);
  add_texts(add, "--role", "ROLE", "read, answer, run, operate, worker or admin (repeatable)", options.roles);
  add_texts(add, "--scope", "SCOPE", "graph=NAME, queue=NAME or tag=KEY=VALUE (repeatable); none: everything",
            options.scopes);
  add_texts(add, "--quota", "QUOTA", "runs=100/1m, bytes=10000000/1d or streams=4 (repeatable); none: no bound",
            options.quotas);
  auto& part = line.keep<ListPart>();
  add_list_part(add_command(line, group, "list", "The tokens, revoked ones too", "cairn token list --json",
                            paged([&](const Settings& settings) { return token_list(settings, part); })),
                part);
  CLI::App& revoke =
      add_command(line, group, "revoke", "End a token; its name is never used again", "cairn token revoke dashboard",
                  [&](const Settings& settings) { return token_revoke(settings, options.name); });
  add_token_name(revoke, options.name);
}

}  // namespace cairn

#include "workers/tools/repository/people.hpp"

#include <set>
#include <string>

#include "engine/text.hpp"

namespace cairn {
namespace {

const std::set<std::string, std::less<>> known_bots = {"dependabot",
                                                       "dependabot-preview",
                                                       "renovate",
                                                       "greenkeeper",
                                                       "greenkeeperio",
                                                       "github-actions",
                                                       "actions-user",
                                                       "web-flow",
                                                       "codecov",
                                                       "codecov-io",
                                                       "snyk",
                                                       "imgbot",
                                                       "allcontributors",
                                                       "all-contributors",
                                                       "semantic-release",
                                                       "pre-commit-ci",
                                                       "mergify",
                                                       "weblate",
                                                       "pyup",
                                                       "scala-steward",
                                                       "copybara",
                                                       "copybara-service",
                                                       "copybara github",
                                                       "jenkins",
                                                       "gitlab-ci",
                                                       "travis-ci",
                                                       "circleci",
                                                       "buildkite",
                                                       "release-please",
                                                       "changeset"};

std::string_view before_at(std::string_view email) { return email.substr(0, email.find('@')); }

bool ends_word(char c) { return std::string_view(" -_.+").find(c) != std::string_view::npos; }

bool is_bot_name(std::string_view name) {
  if (known_bots.contains(name) || name.ends_with("[bot]") || name == "bot") return true;
  return name.size() > 4 && name.ends_with("bot") && ends_word(name[name.size() - 4]);
}

// GitHub's addresses without mail are NUMBER+NAME@users.noreply.github.com.
std::string_view account_of(std::string_view local) {
  const std::size_t plus = local.find('+');
  return plus == std::string_view::npos ? local : local.substr(plus + 1);
}

bool is_letter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
}

bool has_words(const std::string& text, const std::string& words) {
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

}  // namespace

bool is_bot(std::string_view name, std::string_view email) {
  const std::string address = lowered(email);
  return is_bot_name(lowered(name)) || is_bot_name(account_of(before_at(address)));
}

bool is_called(std::string_view name, std::string_view email, std::string_view asked) {
  const std::string wanted = lowered(asked);
  const std::string address = lowered(email);
  if (wanted.empty()) return false;
  return address == wanted || account_of(before_at(address)) == wanted || has_words(lowered(name), wanted);
}

}  // namespace cairn

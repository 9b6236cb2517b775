#include "workers/gateway/claim_id.hpp"

#include <array>
#include <charconv>
#include <limits>

#include "engine/json.hpp"

namespace cairn {
namespace {

constexpr std::size_t numbers_count = 7;

Error no_claim(std::string_view text) {
  return {Code::invalid, "Expected the id of a claim, but found " + excerpt(Json(text), 60) + "."};
}

// A number as std::to_string writes it, from `least` on.
bool read_number(std::string_view text, std::int64_t least, std::int64_t& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size() && number >= least && std::to_string(number) == text;
}

bool fits_32(std::int64_t number) { return number <= std::numeric_limits<std::int32_t>::max(); }

}  // namespace

bool ClaimId::operator==(const ClaimId& other) const { return to_text(*this) == to_text(other); }

std::string to_text(const ClaimId& claim) {
  std::string text = to_string(claim.run);
  for (const std::int64_t number :
       {std::int64_t{claim.fence.branch}, std::int64_t{claim.fence.step}, std::int64_t{claim.attempt},
        claim.fence.session, claim.fence.epoch, claim.head, claim.claimed_at})
    text += "." + std::to_string(number);
  return text;
}

Result<ClaimId> parse_claim_id(std::string_view text) {
  const std::string_view whole = text.substr(0, 200);
  const std::size_t first = text.find('.');
  const std::optional<RunId> run = parse_run_id(text.substr(0, first));
  if (!run || first == std::string_view::npos || to_string(*run) != text.substr(0, first)) return no_claim(whole);
  text.remove_prefix(first + 1);
  std::array<std::int64_t, numbers_count> numbers{};
  for (std::size_t at = 0; at < numbers_count; ++at) {
    const std::size_t end = text.find('.');
    const bool is_last = at + 1 == numbers_count;
    if ((end == std::string_view::npos) != is_last || !read_number(text.substr(0, end), 0, numbers[at]))
      return no_claim(whole);
    text.remove_prefix(is_last ? text.size() : end + 1);
  }
  const auto& [branch, step, attempt, session, epoch, head, claimed_at] = numbers;
  if (!fits_32(branch) || !fits_32(step) || !fits_32(attempt)) return no_claim(whole);
  ClaimId claim;
  claim.run = *run;
  claim.fence = {static_cast<BranchId>(branch), session, epoch, static_cast<StepId>(step)};
  claim.attempt = static_cast<std::int32_t>(attempt);
  claim.head = head;
  claim.claimed_at = claimed_at;
  return claim;
}

ClaimId claim_of(const HeldJob& job, TimeUs claimed_at) {
  return {job.run, {job.job.branch, job.session, job.epoch, job.job.step}, job.job.attempt, job.run_head, claimed_at};
}

Result<SessionId> parse_session_id(std::string_view text) {
  std::int64_t number = 0;
  if (read_number(text, 1, number)) return SessionId{number};
  return Error{Code::invalid,
               "Expected a session as POST /claims gave it, but found " + excerpt(Json(text.substr(0, 200)), 60) + "."};
}

}  // namespace cairn

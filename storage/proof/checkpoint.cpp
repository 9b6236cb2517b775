#include "storage/proof/checkpoint.hpp"

#include <charconv>

#include "engine/json.hpp"
#include "storage/chain.hpp"
#include "storage/ground/layout.hpp"

namespace cairn {
namespace {

constexpr std::size_t run_width = 36;
constexpr std::size_t hash_width = 64;

std::string hex_of(std::string_view bytes) {
  return hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

// A signature is as long as two hashes.
std::optional<std::string> parse_signature(std::string_view hexadecimal) {
  if (hexadecimal.size() != 2 * hash_width) return std::nullopt;
  std::string bytes;
  for (const std::string_view half : {hexadecimal.substr(0, hash_width), hexadecimal.substr(hash_width)}) {
    const std::optional<Hash> read = parse_hash(half);
    if (!read) return std::nullopt;
    bytes.append(read->begin(), read->end());
  }
  return bytes;
}

std::optional<Head> parse_head(std::string_view line) {
  if (line.size() < run_width + hash_width + 3 || line[run_width] != ' ') return std::nullopt;
  const std::size_t hash_at = line.size() - hash_width;
  const std::string_view seq = line.substr(run_width + 1, hash_at - run_width - 2);
  const std::optional<RunId> run = parse_run_id(line.substr(0, run_width));
  const std::optional<Hash> hash = parse_hash(line.substr(hash_at));
  Head head;
  const auto read = std::from_chars(seq.data(), seq.data() + seq.size(), head.seq);
  if (!run || !hash || read.ec != std::errc{} || read.ptr != seq.data() + seq.size() || line[hash_at - 1] != ' ')
    return std::nullopt;
  head.run = *run;
  head.chain_hash = *hash;
  return head;
}

}  // namespace

std::string heads_text(std::span<const Head> heads) {
  std::string text;
  for (const Head& head : heads)
    text += to_string(head.run) + " " + std::to_string(head.seq) + " " + hex(head.chain_hash) + "\n";
  return text;
}

std::optional<std::vector<Head>> parse_heads(std::string_view text) {
  std::vector<Head> heads;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::optional<Head> head = parse_head(text.substr(0, end));
    if (!head || end == std::string_view::npos) return std::nullopt;
    heads.push_back(*head);
    text.remove_prefix(end + 1);
  }
  return heads;
}

std::string signed_bytes(const Checkpoint& checkpoint, std::string_view database) {
  Layout layout("CAIRN-CHK-1");
  layout.text(database)
      .number(static_cast<std::uint64_t>(checkpoint.process), 8)
      .number(static_cast<std::uint64_t>(checkpoint.n), 8)
      .number(static_cast<std::uint64_t>(checkpoint.at_us), 8)
      .raw(checkpoint.key)
      .text(checkpoint.heads)
      .raw(checkpoint.previous);
  return std::string(layout.bytes());
}

void sign(Checkpoint& checkpoint, std::string_view database, const SigningKey& key) {
  checkpoint.key = fingerprint(key.public_key());
  const Signature signature = key.sign(signed_bytes(checkpoint, database));
  checkpoint.signature.assign(signature.begin(), signature.end());
}

Hash checkpoint_hash(const Checkpoint& checkpoint, std::string_view database) {
  return sha256(signed_bytes(checkpoint, database) + checkpoint.signature);
}

std::string checkpoint_line(const Checkpoint& checkpoint, std::string_view database) {
  return canonical({{"database", database},
                    {"process", checkpoint.process},
                    {"n", checkpoint.n},
                    {"at_us", checkpoint.at_us},
                    {"key", hex(checkpoint.key)},
                    {"heads", checkpoint.heads},
                    {"previous", hex(checkpoint.previous)},
                    {"signature", hex_of(checkpoint.signature)}});
}

std::optional<Checkpoint> parse_checkpoint_line(std::string_view line, std::string_view database) {
  const Result<Json> read = parse_json(line, "a checkpoint");
  if (!read || !read->is_object()) return std::nullopt;
  try {
    const Json& fields = *read;
    if (fields.at("database").get<std::string>() != database) return std::nullopt;
    const std::optional<Hash> key = parse_hash(fields.at("key").get<std::string>());
    const std::optional<Hash> previous = parse_hash(fields.at("previous").get<std::string>());
    const std::optional<std::string> signature = parse_signature(fields.at("signature").get<std::string>());
    if (!key || !previous || !signature) return std::nullopt;
    return Checkpoint{fields.at("process").get<std::int64_t>(),
                      fields.at("n").get<std::int64_t>(),
                      fields.at("at_us").get<TimeUs>(),
                      *key,
                      fields.at("heads").get<std::string>(),
                      *previous,
                      *signature};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace cairn

#include "ops/http/bodies/large_values.hpp"

#include <map>

#include "ops/http/bodies/fields.hpp"
#include "storage/digest.hpp"
#include "workers/handlers/large_values.hpp"

namespace cairn {

Result<std::string> large_value(const ApiRequest& request, const Hash& hash) {
  const Hash found = sha256(request.body);
  if (found != hash)
    return bad_request("Expected a body whose SHA-256 is " + hex(hash) + ", but found one with " + hex(found) + ".");
  const Result<Json> value = json_body(request);
  if (!value) return value.error();
  return canonical(*value);
}

Json reference_to(const Hash& hash, std::size_t bytes) { return {{"$blob", hex(hash)}, {"bytes", bytes}}; }

Status take_values(Ask::Report& report, Store& store) {
  if (!report.result) return Done{};
  Json& patch = report.result->patch;
  std::vector<Hash> hashes;
  find_blobs(patch, hashes);
  std::map<Hash, BlobText> texts;
  for (const Hash& hash : hashes) {
    BlobText& text = texts[hash];
    if (text == nullptr) text = blob_text(store.blob(shard_of(report.claim.run, store.shards()), hash));
    if (text == nullptr)
      return bad_request("Expected a value that PUT /api/v1/blobs/HASH has kept for this claim, but " + hex(hash) +
                         " is none.");
  }
  return put_back({&patch}, [&texts](const Hash& hash) { return texts.at(hash); });
}

}  // namespace cairn

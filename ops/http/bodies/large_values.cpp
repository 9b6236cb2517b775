#include "ops/http/bodies/large_values.hpp"

#include <algorithm>
#include <map>
#include <optional>

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

Status ReportValues::put_into(Ask::Report& report) {
  if (!report.result) return Done{};
  std::map<Hash, BlobText> texts;
  std::optional<Hash> missing;
  std::size_t taken = 0;
  const ReadBlob read = [&](const Hash& hash) {
    BlobText& text = texts[hash];
    if (text == nullptr) text = blob_text(store_.values().get(shard_of(report.claim.run, store_.shards()), hash));
    if (text == nullptr) missing = hash;
    if (text != nullptr) taken += text->size();
    return text;
  };
  const Status put = put_back({&report.result->patch}, read, std::min(left_, composed_bytes_max));
  if (missing)
    return bad_request("Expected a value that PUT /api/v1/blobs/HASH has kept for this claim, but " + hex(*missing) +
                       " is none.");
  left_ -= std::min(left_ - 1, taken);
  return put;
}

}  // namespace cairn

// Vectors of texts by their meaning, from an OpenAI-compatible endpoint (`/embeddings`): texts of like meaning have
// vectors of like direction. Source: the public API reference. Blocks; safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/result.hpp"
#include "workers/models/model_settings.hpp"

namespace cairn {

struct EmbeddingSettings {
  std::string url;    // CAIRN_EMBED_URL; "": that of CAIRN_MODEL_URL, with its key
  std::string model;  // CAIRN_EMBED_MODEL; "": no embeddings
  std::string key;    // CAIRN_EMBED_KEY
};
EmbeddingSettings embedding_settings_from_environment();

struct EmbeddingEndpoint {
  std::string url;  // http(s)://host[:port]/v1 ; the API's path is added
  std::string model;
  std::string api_key;  // no answer or log has it, if it has secret_bytes_min at least
};
// Nothing if the settings name no model. Refuses `invalid`.
Result<std::optional<EmbeddingEndpoint>> embedding_endpoint(const EmbeddingSettings& settings,
                                                            const ModelSettings& models);

// A direction: its length is 1. The likeness of two of one model is the sum of their products, from -1 to 1.
using Vector = std::vector<float>;
float likeness(const Vector& one, const Vector& other);

inline constexpr std::size_t embedded_texts_max = 64;  // of one call
inline constexpr std::size_t vector_size_max = 16'384;

// The vectors of the texts, in their order, within the time: by one call, or by more with fewer texts each where the
// endpoint refuses so many (400, 413, 422). A rate limit is waited for, if the time suffices (rate_limit.hpp). Refuses
// `unavailable` (no answer, 408, 429, 5xx), `unsupported` (another refusal), `invalid` (an answer that is none: other
// numbers of vectors or of their parts, no numbers, no direction). REQUIRES: from 1 to embedded_texts_max texts.
Result<std::vector<Vector>> embed(const EmbeddingEndpoint& endpoint, std::span<const std::string> texts,
                                  std::int64_t timeout_ms);

}  // namespace cairn

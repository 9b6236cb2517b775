#include "workers/models/known_forms.hpp"

#include <algorithm>

#include "engine/result.hpp"

namespace cairn {
namespace {

Hash hash_of_schema(const Json& schema) { return sha256(canonical(schema)); }

ReplyFormat next_format(ReplyFormat format) {
  return format == ReplyFormat::json_schema ? ReplyFormat::json_object : ReplyFormat::text;
}

template <class Schemas>
auto place_of_schema(Schemas& schemas, const Hash& schema) {
  return std::find_if(schemas.begin(), schemas.end(), [&schema](const auto& one) { return one.first == schema; });
}

}  // namespace

AskedForm KnownForms::form_for(const std::string& model, const Json& schema) const {
  AskedForm form;
  const Known* const found = find(model);
  if (found == nullptr) return form;
  form.streams = found->streams;
  form.asks_use = found->asks_use;
  form.format = found->format;
  if (schema.is_null() || found->schemas.empty()) return form;
  if (const auto of = place_of_schema(found->schemas, hash_of_schema(schema)); of != found->schemas.end())
    form.format = std::max(form.format, of->second);
  return form;
}

void KnownForms::streams_refused(const std::string& model) { known(model).streams = false; }

void KnownForms::use_refused(const std::string& model) { known(model).asks_use = false; }

void KnownForms::format_refused(const std::string& model, const Json& schema, ReplyFormat format) {
  CHECK(!schema.is_null() && format != ReplyFormat::text);
  Known& of_model = known(model);
  const Hash hash = hash_of_schema(schema);
  const ReplyFormat next = next_format(format);
  auto of_schema = place_of_schema(of_model.schemas, hash);
  if (of_schema == of_model.schemas.end()) {
    if (of_model.schemas.size() == schemas_max) of_model.schemas.pop_front();
    of_schema = of_model.schemas.emplace(of_model.schemas.end(), hash, next);
  }
  of_schema->second = std::max(of_schema->second, next);  // another request may have come further meanwhile
  const bool was_another = std::any_of(of_model.schemas.begin(), of_model.schemas.end(),
                                       [&](const auto& one) { return one.first != hash && one.second > format; });
  if (was_another && !of_model.is_taken[static_cast<std::size_t>(format)])
    of_model.format = std::max(of_model.format, next);
}

// A call that was under way when the model was given up for the format may still be taken.
void KnownForms::format_taken(const std::string& model, ReplyFormat format) {
  const Known* const found = find(model);
  if (found != nullptr && found->is_taken[static_cast<std::size_t>(format)] && found->format <= format) return;
  Known& of_model = known(model);
  of_model.is_taken[static_cast<std::size_t>(format)] = true;
  of_model.format = std::min(of_model.format, format);
}

const KnownForms::Known* KnownForms::find(const std::string& model) const {
  const auto found =
      std::find_if(models_.begin(), models_.end(), [&model](const Known& one) { return one.model == model; });
  return found == models_.end() ? nullptr : &*found;
}

KnownForms::Known& KnownForms::known(const std::string& model) {
  const auto found =
      std::find_if(models_.begin(), models_.end(), [&model](const Known& one) { return one.model == model; });
  if (found != models_.end()) return *found;
  if (models_.size() == models_max) models_.pop_front();
  models_.emplace_back().model = model;
  return models_.back();
}

}  // namespace cairn

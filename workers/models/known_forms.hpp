// The forms in which the models of one endpoint can be asked, as their answers taught. A schema that one run brought
// may be unusable by itself, so a format that is refused is left for that schema alone, and for the whole model only
// where two schemas were refused in it and none was taken. Bounded: what was learned first is forgotten first, and then
// costs a refused call again. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "engine/json.hpp"
#include "storage/digest.hpp"
#include "workers/models/model_api.hpp"

namespace cairn {

class KnownForms {
 public:
  static constexpr std::size_t models_max = 100;   // runs may name any
  static constexpr std::size_t schemas_max = 200;  // of a model, that it refused

  // The strictest form that is not known to be refused. `schema` null: of a reply without one.
  AskedForm form_for(const std::string& model, const Json& schema) const;

  void streams_refused(const std::string& model);
  // It takes no stream_options.
  void use_refused(const std::string& model);
  // REQUIRES: there is a schema, and `format` is not text.
  void format_refused(const std::string& model, const Json& schema, ReplyFormat format);
  void format_taken(const std::string& model, ReplyFormat format);

 private:
  struct Known {
    std::string model;
    bool streams = true;
    bool asks_use = true;
    ReplyFormat format = ReplyFormat::json_schema;  // for every schema
    std::array<bool, 3> is_taken{};                 // by format: some schema was taken in it
    std::deque<std::pair<Hash, ReplyFormat>> schemas = {};
  };

  const Known* find(const std::string& model) const;
  Known& known(const std::string& model);

  std::deque<Known> models_;
};

}  // namespace cairn

// A headless Chromium with one page and an empty profile of its own, which this object alone can command, and
// whose requests go to allowed places only. It ends with the object and with the process that holds it. Blocks; for one
// thread at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "engine/json.hpp"
#include "workers/tools/page/allowed_pages.hpp"
#include "workers/tools/page/devtools.hpp"
#include "workers/tools/page/request_guard.hpp"

namespace cairn {

// The script of that name in pages/, as run() takes it. REQUIRES: there is one. Safe from any thread.
const std::string& page_script(std::string_view name);

class Browser {
 public:
  // `pages` outlives it. Throws std::system_error or std::runtime_error with a sentence if there is none to start.
  explicit Browser(const AllowedPages& pages);
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;
  ~Browser();

  using Answer = DevTools::Answer;
  Answer open(const std::string& url);
  // As the body of a function in a world of its own, apart from the page's scripts: its value, or the handle of its
  // object.
  Answer run(const std::string& script, Json arguments);
  Answer find(const std::string& script, Json arguments);
  // The same with an element as find() gave it as `arguments[0]`, before the others.
  Answer run_on(const Json& element, const std::string& script, Json arguments);
  Answer click(const Json& element);
  Answer type(const Json& element, const std::string& text);
  Answer screenshot();  // a PNG in base64

 private:
  Answer in_page(const std::string& method, Json params = Json::object());
  Answer call_function(const std::string& script, Json arguments, bool by_value);
  Answer settled(Answer answer);

  std::filesystem::path profile_;
  RequestGuard guard_;
  std::unique_ptr<DevTools> chromium_;
};

}  // namespace cairn

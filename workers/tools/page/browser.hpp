// A headless Chromium over WebDriver: one process group of chromedriver and Chromium with an empty profile of its own.
// It ends with the object and with the process that holds it. Blocks; for one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/ports/http_client.hpp"
#include "workers/ports/tool_process.hpp"

namespace cairn {

// A command that WebDriver did not carry out. `word` is WebDriver's ("no such element"), or "gone": the browser has
// ended.
struct BrowserFault {
  std::string word;
  std::string says;
};

class Browser {
 public:
  Browser();  // throws std::system_error or std::runtime_error with a sentence if there is none to start
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;
  ~Browser();

  // The command's value.
  using Answer = Result<Json, BrowserFault>;
  Answer open(const std::string& url);
  Answer run(const std::string& script, Json arguments);  // as the body of a function in the page
  Answer click(const Json& element);                      // an element as run() gave it
  Answer type(const Json& element, const std::string& text);
  Answer screenshot();  // a PNG in base64

 private:
  Answer command(const std::string& path, const Json& body);

  std::filesystem::path profile_;
  std::unique_ptr<LastingProcess> driver_;
  HttpClient http_;
  std::string session_;  // the URL of the WebDriver session
};

}  // namespace cairn

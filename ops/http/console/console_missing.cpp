#include "ops/http/console/console_files.hpp"

namespace cairn {
namespace {

constexpr std::string_view page = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Cairn</title>
<main>
<h1>Cairn</h1>
<p>This program was built without its console: npm was not there, or could not reach its registry.
<p>To have it, install Node.js and npm (on Debian: <code>apt install nodejs npm</code>) and build again:
<pre>rm -rf build/release/embedded/console
./ops/build release cairn</pre>
<p>Everything else is here: the <a href="api/v1">API</a>, its <a href="llms.txt">guides</a>, and the commands of
<code>cairn --help</code>.
</main>
</html>
)";

constexpr ConsoleFile missing[] = {{"index.html", "text/html; charset=utf-8", page, ""}};

}  // namespace

std::span<const ConsoleFile> console_missing() { return missing; }

}  // namespace cairn

// Bundles the console: one entry of src/ becomes scripts and styles with the hash of their content in their names, the
// page that loads them, and the C++ source by which they become part of the program.
import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";

const [folder, packages, out] = process.argv.slice(2);
const esbuild = createRequire(join(packages, "/"))("esbuild");
const files = join(out, "files");

const types = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};
const typeOf = (name) => types[name.slice(name.lastIndexOf(".") + 1)];

rmSync(files, { recursive: true, force: true });
const built = await esbuild.build({
  entryPoints: { console: join(folder, "src/main.tsx"), icon: join(folder, "src/icon.svg") },
  outdir: files,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  loader: { ".svg": "copy" },
  nodePaths: [packages],
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  metafile: true,
  logLevel: "warning",
});

const outputs = Object.keys(built.metafile.outputs).map((path) => basename(path)).sort();
const entry = (start, end) => outputs.find((name) => name.startsWith(start) && name.endsWith(end));

// What the script and the first page need is asked for at once, not one after the other.
function neededBy(path, found) {
  for (const { path: next, kind } of built.metafile.outputs[path].imports)
    if (kind === "import-statement" && !found.has(next)) neededBy(next, found.add(next));
  return found;
}
const paths = Object.keys(built.metafile.outputs);
const script = paths.find((path) => basename(path) === entry("console-", ".js"));
const first = paths.find((path) => built.metafile.outputs[path].entryPoint?.endsWith("src/pages/runs/page.tsx"));
const preloads = [...neededBy(script, neededBy(first, new Set([first])))]
  .map((path) => `<link rel="modulepreload" href="console/${basename(path)}">`)
  .join("\n");

const page = readFileSync(join(folder, "src/index.html"), "utf8")
  .replace("{preloads}", preloads)
  .replace("{script}", entry("console-", ".js"))
  .replace("{style}", entry("console-", ".css"))
  .replace("{icon}", entry("icon-", ".svg"));
writeFileSync(join(files, "index.html"), page);

const rows = [];
const sections = [];
const externs = [];
for (const [n, name] of ["index.html", ...outputs].entries()) {
  const plain = readFileSync(join(files, name));
  const packed = gzipSync(plain, { level: 9 });
  writeFileSync(join(files, `${name}.gz`), packed);
  for (const [form, ending, bytes] of [["plain", "", plain], ["packed", ".gz", packed]]) {
    const symbol = `console_${form}_${n}`;
    sections.push(`".global ${symbol}\\n${symbol}:\\n.incbin \\"${join(files, name)}${ending}\\"\\n"`);
    externs.push(`extern "C" const char ${symbol}[];`);
    rows.push(form === "plain" ? `    {"${name}", "${typeOf(name)}", {${symbol}, ${bytes.length}},` :
      `     {${symbol}, ${bytes.length}}},`);
  }
}
writeFileSync(
  join(out, "console_files.cpp"),
  `#include "ops/http/console/console_files.hpp"

// The page's hash: ${createHash("sha256").update(page).digest("hex")}
__asm__(".section .rodata\\n"
${sections.map((line) => `        ${line}`).join("\n")}
        ".previous\\n");
${externs.join("\n")}

namespace cairn {

std::span<const ConsoleFile> console_files() {
  static const ConsoleFile files[] = {
${rows.join("\n")}
  };
  return files;
}

}  // namespace cairn
`,
);

// The process around the program, where there is one: Node, Bun and Deno have it, a browser has not.

interface ProcessLike {
  argv?: string[];
  exitCode?: number;
  env?: Record<string, string | undefined>;
  once?(signal: string, listener: () => void): unknown;
  removeListener?(signal: string, listener: () => void): unknown;
}

interface Around {
  process?: ProcessLike;
  setImmediate?: (call: () => void) => unknown;
}

const around = globalThis as Around;

// A variable of the environment; undefined if it is not set, or may not be read.
export function env(name: string): string | undefined {
  try {
    return around.process?.env?.[name] || undefined;
  } catch {
    return undefined;
  }
}

// The words after the program's name.
export function programArguments(): string[] {
  return around.process?.argv?.slice(2) ?? [];
}

export function failProgram(sentence: string): void {
  console.error(sentence);
  if (around.process) around.process.exitCode = 1;
}

export async function readText(path: string): Promise<string> {
  const files = "node:fs/promises"; // as below
  return (await import(files)).readFile(path, "utf8");
}

export async function hostName(): Promise<string> {
  try {
    const os = "node:os"; // not written into the import: a bundler for browsers would look for it
    return (await import(os)).hostname();
  } catch {
    return "unknown";
  }
}

// Calls `listener` at the first of these signals; another one then does what it does by default. Returns the function
// that ends it.
export function onSignals(names: string[], listener: () => void): () => void {
  const process = around.process;
  for (const name of names) process?.once?.(name, listener);
  return () => {
    for (const name of names) process?.removeListener?.(name, listener);
  };
}

// Resolves after all that is ready to run has run.
export function turn(): Promise<void> {
  return new Promise((resolve) => (around.setImmediate ? around.setImmediate(resolve) : setTimeout(resolve, 0)));
}

export interface Started {
  line: Promise<string>; // the first one that it writes; "": it ended without one
  end(): Promise<void>;
}

// A program whose standard input stays open until end(), so that it can end with its parent.
export async function startProgram(program: string, words: string[]): Promise<Started> {
  const processes = "node:child_process"; // as above
  const child = (await import(processes)).spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
  const over = new Promise<void>((resolve, reject) => {
    child.once("exit", () => resolve());
    child.once("error", reject);
  });
  const line = new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (part: string) => {
      text += part;
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")));
    });
    over.then(() => resolve(""), reject);
  });
  const end = async () => {
    child.stdin.end();
    child.kill("SIGTERM");
    await over;
  };
  return { line, end };
}

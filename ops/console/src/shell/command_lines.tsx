// What the page shows, as the lines that show it elsewhere: `curl` and `cairn`. A page sets them.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { address, token, type Query } from "../api/client";
import { CopyButton } from "../parts/copy";

export interface CommandLine {
  curl: string;
  cairn: string;
}

const shown = signal<CommandLine | undefined>(undefined);

export const quoted = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export function curlLine(path: string, query: Query = {}, body?: unknown): string {
  const bearer = token.value === "" ? "" : " -H \"Authorization: Bearer $CAIRN_TOKEN\"";
  const url = quoted(address(path, query).href);
  if (body === undefined) return `curl -s${bearer} ${url}`;
  return `curl -s${bearer} ${url} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`;
}

export function useCommandLines(curl: string, cairn: string): void {
  useEffect(() => {
    shown.value = { curl, cairn };
    return () => {
      shown.value = undefined;
    };
  }, [curl, cairn]);
}

function Line({ name, text }: { name: string; text: string }) {
  return (
    <div class="command-line">
      <span class="muted">{name}</span>
      <code>{text}</code>
      <CopyButton text={text} says="Copy" label={`Copy the line for ${name}`} class="quiet" />
    </div>
  );
}

export function CommandLines() {
  if (shown.value === undefined) return null;
  return (
    <footer class="command-lines" aria-label="This page as commands">
      <Line key={shown.value.cairn} name="cairn" text={shown.value.cairn} />
      <Line key={shown.value.curl} name="curl" text={shown.value.curl} />
    </footer>
  );
}

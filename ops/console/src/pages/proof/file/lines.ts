// The lines of a file, read a piece at a time, each with its place in the file.
export interface FileLine {
  text: string;
  from: number;
  to: number; // after its line feed
}

export const lineMax = 16 * 1024 * 1024 + 1024; // as the format bounds them
const piece = 256 * 1024; // so that the page stays at hand meanwhile

// Batches of lines; throws a sentence for a line that is too long.
export async function* linesOf(file: Blob): AsyncGenerator<FileLine[]> {
  const decoder = new TextDecoder();
  let rest = new Uint8Array(0);
  let restAt = 0; // the place of `rest` in the file
  for (let at = 0; at < file.size; at += piece) {
    const read = new Uint8Array(await file.slice(at, at + piece).arrayBuffer());
    const bytes = new Uint8Array(rest.length + read.length);
    bytes.set(rest);
    bytes.set(read, rest.length);
    const lines: FileLine[] = [];
    let from = 0;
    for (let end = bytes.indexOf(10, rest.length); end >= 0; end = bytes.indexOf(10, from)) {
      const text = decoder.decode(bytes.subarray(from, end));
      lines.push({ text, from: restAt + from, to: restAt + end + 1 });
      from = end + 1;
    }
    rest = bytes.slice(from);
    restAt += from;
    if (rest.length > lineMax)
      throw new Error(`Expected lines of at most 16 MiB, but the one at byte ${restAt} is longer.`);
    yield lines;
  }
  if (rest.length > 0) yield [{ text: decoder.decode(rest), from: restAt, to: restAt + rest.length }];
}

// A line of numbers over time, small in a row or large as a chart. Time runs to now at its right end.
import { duration, now } from "../time";
import { gapMs, type Sample } from "./samples";

interface Props {
  samples: Sample[];
  of: string; // which of its values
  width: number;
  height: number;
  spanMs: number;
  label: string;
  most?: number | undefined; // a line across, as of a limit
}

const pad = 2;

// The points of each unbroken stretch.
function stretches(samples: Sample[], of: string, x: (at: number) => number, y: (value: number) => number): string[] {
  const lines: string[] = [];
  let line: string[] = [];
  let before = -Infinity;
  for (const sample of samples) {
    if (sample.at - before > gapMs && line.length > 0) {
      lines.push(line.join(" "));
      line = [];
    }
    line.push(`${x(sample.at).toFixed(1)},${y(sample.values[of] ?? 0).toFixed(1)}`);
    before = sample.at;
  }
  if (line.length > 0) lines.push(line.join(" "));
  return lines;
}

export function Sparkline({ samples, of, width, height, spanMs, label, most }: Props) {
  const end = Math.max(now.value, samples.at(-1)?.at ?? 0);
  const shown = samples.filter((sample) => sample.at >= end - spanMs);
  const values = shown.map((sample) => sample.values[of] ?? 0);
  const top = Math.max(1, most ?? 0, ...values);
  const x = (at: number) => pad + (width - 2 * pad) * (1 - (end - at) / spanMs);
  const y = (value: number) => height - pad - (height - 2 * pad) * (value / top);
  const says = values.length === 0 ? `${label}: nothing yet`
    : `${label}: ${values.at(-1)} now, ${Math.min(...values)} to ${Math.max(...values)} in the last ${
      duration(Math.min(spanMs, end - shown[0]!.at))}`;
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={says}
      preserveAspectRatio="none">
      <line class="floor" x1="0" x2={width} y1={height - pad} y2={height - pad} />
      {most !== undefined && <line class="limit" x1="0" x2={width} y1={y(most)} y2={y(most)} />}
      {stretches(shown, of, x, y).map((points) => <polyline key={points.slice(0, 20)} points={points} />)}
    </svg>
  );
}

// How full something is: a bar where there is a limit, the number alone where there is none.
export function Gauge({ used, most, label }: { used: number; most: number | null; label: string }) {
  if (most === null) return <span class="gauge"><span class="number">{used}</span></span>;
  const share = most === 0 ? 0 : Math.min(1, used / most);
  return (
    <span class={share >= 1 ? "gauge is-full" : "gauge"}>
      <span class="number">{used} of {most}</span>
      <span class="gauge-bar" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={most}
        aria-valuenow={Math.min(used, most)}>
        <span style={{ width: `${(share * 100).toFixed(1)}%` }} />
      </span>
    </span>
  );
}

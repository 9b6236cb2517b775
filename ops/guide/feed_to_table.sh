#!/usr/bin/env bash
# Keeps a table of all events in another database. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: feed_to_table.sh CONSUMER DSN [--once]

  CONSUMER   of the feed (cairn feed add CONSUMER)
  DSN        the database that gets the table cairn_event
  --once     end when there is nothing more, instead of waiting for more

A page is written in one transaction and confirmed after it: a crash in between writes the page again, which changes
nothing.
TEXT
}

[ "${1:-}" != --help ] || { help; exit 0; }
[ $# -ge 2 ] || { help >&2; exit 2; }
consumer=$1 target=$2 once=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

psql -qX -v ON_ERROR_STOP=1 "$target" <<'SQL'
create table if not exists cairn_event (
  run uuid not null,
  seq bigint not null,
  at timestamptz not null,
  type text not null,
  graph text not null,
  event jsonb not null,
  primary key (run, seq)
);
SQL

while :; do
  cairn feed read "$consumer" --json --limit 5000 > "$work/lines"
  grep -v '^{"cursor":' "$work/lines" > "$work/events" || true
  cursor=$(tail -n 1 "$work/lines" | sed -n 's/^{"cursor":"\(.*\)"}$/\1/p')
  if [ -s "$work/events" ]; then
    # COPY as CSV with letters that no JSON text has for quote and delimiter: each line is one value.
    psql -qX -v ON_ERROR_STOP=1 "$target" <<SQL
begin;
create temporary table page (line jsonb) on commit drop;
\\copy page from '$work/events' with (format csv, quote e'\\x01', delimiter e'\\x02')
insert into cairn_event (run, seq, at, type, graph, event)
select (line ->> 'run')::uuid, (line ->> 'seq')::bigint, (line ->> 'at')::timestamptz, line ->> 'type',
       line ->> 'of_graph', line
from page
on conflict (run, seq) do nothing;
commit;
SQL
  fi
  [ -z "$cursor" ] || cairn feed confirm "$consumer" "$cursor" > /dev/null
  [ -s "$work/events" ] && continue
  [ "$once" != --once ] || break
  sleep 1
done

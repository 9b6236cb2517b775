#!/usr/bin/env bash
# Keeps a table of all events in another database. See --help.
set -euo pipefail

help() {
  cat <<'TEXT'
usage: feed_to_table.sh CONSUMER DSN [--once]

  CONSUMER   of the feed (cairn feed add CONSUMER)
  DSN        the database that gets the tables cairn_event and cairn_feed_place
  --once     end when there is nothing more, instead of waiting for more

A page is written in one transaction with the cursor after it, from which the next page is read, and is confirmed then:
a crash in between repeats no page and loses none. While one of the two databases cannot be reached, it is asked again.

It ends where the table is of another history than the feed: the database has gone back (a standby that lagged was
promoted, a backup restored), and the table has events that are lost. Then make it again: remove the consumer, drop the
two tables, and add the consumer, which gets the history first.
TEXT
}

[ "${1:-}" != --help ] || { help; exit 0; }
[ $# -ge 2 ] || { help >&2; exit 2; }
consumer=$1 target=$2 once=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs a command, again and again while its database is away, which its exit code $1 says.
keep_trying() {
  local away=$1 status
  shift
  while :; do
    status=0
    "$@" || status=$?
    [ "$status" -ne 0 ] || return 0
    if [ "$status" -ne "$away" ] || [ "$once" = --once ]; then exit "$status"; fi
    sleep 5
  done
}

in_target() { psql -qAtX -v ON_ERROR_STOP=1 -v consumer="$consumer" -v cursor="$cursor" "$target"; }

make_tables() {
  in_target <<'SQL'
set client_min_messages = warning;
create table if not exists cairn_event (
  run uuid not null,
  seq bigint not null,
  at timestamptz not null,
  type text not null,
  graph text not null,
  event jsonb not null,
  primary key (run, seq)
);
create table if not exists cairn_feed_place (consumer text primary key, cursor text not null);
SQL
}

read_place() { in_target <<< "select cursor from cairn_feed_place where consumer = :'consumer'" > "$work/place"; }

read_page() { cairn feed read "$consumer" --json --limit 5000 ${cursor:+--after "$cursor"} > "$work/lines"; }

write_page() {
  # COPY as CSV with letters that no JSON text has for quote and delimiter: each line is one value.
  in_target <<SQL
begin;
create temporary table page (line jsonb) on commit drop;
\\copy page from '$work/events' with (format csv, quote e'\\x01', delimiter e'\\x02')
insert into cairn_event (run, seq, at, type, graph, event)
select (line ->> 'run')::uuid, (line ->> 'seq')::bigint, (line ->> 'at')::timestamptz, line ->> 'type',
       line ->> 'of_graph', line
from page
on conflict (run, seq) do nothing;
do '
begin
  if exists (select from page p
             join cairn_event e on e.run = (p.line ->> ''run'')::uuid and e.seq = (p.line ->> ''seq'')::bigint
             where e.at <> (p.line ->> ''at'')::timestamptz) then
    raise exception ''Expected the events that the table has, but the feed gives others in their place: see --help.'';
  end if;
end';
insert into cairn_feed_place values (:'consumer', :'cursor')
on conflict (consumer) do update set cursor = excluded.cursor;
commit;
SQL
}

cursor=
keep_trying 2 make_tables
keep_trying 2 read_place
cursor=$(cat "$work/place")
confirmed=

while :; do
  keep_trying 5 read_page
  grep -v '^{"cursor":' "$work/lines" > "$work/events" || true
  after=$(tail -n 1 "$work/lines" | sed -n 's/^{"cursor":"\([^"]*\)".*$/\1/p')
  if [ -n "$after" ]; then
    cursor=$after
    keep_trying 2 write_page
  fi
  # The table's own cursor says where it is: a place that does not move only keeps rows.
  if [ "$cursor" != "$confirmed" ] && cairn feed confirm "$consumer" "$cursor" > /dev/null; then confirmed=$cursor; fi
  [ -s "$work/events" ] && continue
  [ "$once" != --once ] || break
  sleep 1
done

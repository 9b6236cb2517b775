#include "storage/hooks/hook_table.hpp"

#include <array>
#include <limits>

namespace cairn {
namespace {

constexpr int hook_connections = 2;
constexpr std::int32_t changed_at_once = 1'000;
constexpr auto hook_columns = std::to_array<std::string_view>(
    {"name", "notes", "fence", "look_at", "created_at", "paused_at", "resumed_at", "scan_shard", "scan_run", "ready",
     "removed", "ordered", "paused_by", "paused_reason", "definition"});
constexpr auto delivery_columns =
    std::to_array<std::string_view>({"hook", "run_id", "seq", "kind", "noted_at", "next_at", "sends", "settled_at",
                                     "failures", "answer", "status", "says"});
constexpr auto count_columns =
    std::to_array<std::string_view>({"name", "waiting", "parked", "delivered", "oldest", "due"});
constexpr auto delay_columns = std::to_array<std::string_view>({"name", "free_since", "moved_at", "refused"});

std::vector<HookRow> hook_rows(const PgResult& found) {
  found.expect_columns(hook_columns);
  std::vector<HookRow> rows;
  for (int at = 0; at < found.rows(); ++at) {
    HookRow& row = rows.emplace_back();
    row.name = found.text(at, 0);
    row.notes = found.int8(at, 1);
    row.fence = found.int8(at, 2);
    row.due_at = found.int8(at, 3);
    row.created_at = found.int8(at, 4);
    if (!found.is_null(at, 5)) row.paused_at = found.int8(at, 5);
    row.resumed_at = found.int8(at, 6);
    row.scan_shard = found.int4(at, 7);
    row.scan_run = found.uuid(at, 8);
    row.is_ready = found.boolean(at, 9);
    row.is_removed = found.boolean(at, 10);
    row.is_ordered = found.boolean(at, 11);
    row.paused_by = found.text(at, 12);
    row.paused_reason = found.text(at, 13);
    row.definition = found.text(at, 14);
  }
  return rows;
}

// Those of kinds and statuses that only a newer program knows are left to it.
std::vector<HookDelivery> delivery_rows(const PgResult& found) {
  found.expect_columns(delivery_columns);
  std::vector<HookDelivery> rows;
  for (int at = 0; at < found.rows(); ++at) {
    const std::optional<NoticeKind> kind = parse_notice_kind(found.text(at, 3));
    const std::optional<DeliveryStatus> status = parse_delivery_status(found.text(at, 10));
    if (!kind || !status) continue;
    HookDelivery& row = rows.emplace_back();
    row.hook = found.text(at, 0);
    row.id = {found.uuid(at, 1), found.int8(at, 2), *kind};
    row.noted_at = found.int8(at, 4);
    row.next_at = found.int8(at, 5);
    row.sends = found.int8(at, 6);
    if (!found.is_null(at, 7)) row.settled_at = found.int8(at, 7);
    row.failures = found.int4(at, 8);
    row.answer = found.int4(at, 9);
    row.status = *status;
    row.says = found.text(at, 11);
  }
  return rows;
}

void put_note(PgConnection& connection, const std::string& hook, std::int64_t number, const HookNote& note) {
  PgParameters row;
  row.add(hook).add(number).add(note.kind).add(note.actor).add(note.says);
  note.definition.empty() ? row.add_null(PgType::text) : row.add(note.definition);
  connection.query(statement("put_hook_note"), row);
}

PgParameters columns_of(const std::string& hook, const std::vector<NoticeId>& notices) {
  PgArray runs(PgType::uuid), seqs(PgType::int8), kinds(PgType::text);
  for (const NoticeId& id : notices) {
    runs.add(id.run);
    seqs.add(id.seq);
    kinds.add(to_string(id.kind));
  }
  return PgParameters().add(hook).add(std::move(runs)).add(std::move(seqs)).add(std::move(kinds));
}

PgParameters named_notice(const std::string& hook, const NoticeId& id) {
  return PgParameters().add(hook).add(id.run).add(id.seq).add(to_string(id.kind));
}

}  // namespace

HookTable::HookTable(std::string dsn, const std::string& identity, std::int64_t patience_ms)
    : pool_(PgConnectOptions{std::move(dsn), "cairn hooks"}, hook_connections, patience_ms) {
  pool_.expect_identity(identity);
}

HookCalls HookTable::calls() { return hook_calls_of(*this); }

std::optional<std::int64_t> HookTable::add(const HookRow& row, TimeUs lease_us, const HookNote& note) {
  return pool_.run([&](PgConnection& connection) {
    connection.execute("BEGIN");
    const PgResult added = connection.query(
        statement("add_hook"), PgParameters().add(row.name).add(row.definition).add(row.is_ordered).add(lease_us));
    std::optional<std::int64_t> fence;
    if (added.rows() == 1) fence = added.int8(0, 1);
    if (fence == 1) {
      connection.query(statement("note_hook"), PgParameters().add(row.name));
      put_note(connection, row.name, added.int8(0, 0) + 1, note);
    }
    connection.execute("COMMIT");
    return fence;
  });
}

std::vector<HookRow> HookTable::named(const std::optional<std::string>& name) {
  PgParameters which;
  name ? which.add(*name) : which.add_null(PgType::text);
  return hook_rows(pool_.query("hooks", which));
}

std::vector<HookRow> HookTable::hooks() { return named({}); }

std::optional<HookRow> HookTable::hook(const std::string& name) {
  std::vector<HookRow> found = named(name);
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

std::optional<HookRow> HookTable::take(TimeUs lease_us, TimeUs making_us) {
  std::vector<HookRow> taken = hook_rows(pool_.query("take_hook", PgParameters().add(lease_us).add(making_us)));
  return taken.empty() ? std::nullopt : std::optional(std::move(taken.front()));
}

bool HookTable::keep(const HookScan& scan) {
  return pool_.run([&](PgConnection& connection) {
    connection.execute("BEGIN");
    const HookRow& row = scan.row;
    const PgResult kept = connection.query(statement("keep_hook"), PgParameters()
                                                                       .add(row.name)
                                                                       .add(row.fence)
                                                                       .add(scan.pause_us)
                                                                       .add(row.is_ready)
                                                                       .add(row.scan_shard)
                                                                       .add(row.scan_run));
    if (kept.rows() == 1 && !scan.notices.empty())
      connection.query(statement("put_hook_deliveries"), columns_of(row.name, scan.notices));
    connection.execute("COMMIT");
    return kept.rows() == 1;
  });
}

bool HookTable::change(const std::string& hook, const HookChange& change) {
  return pool_.run([&](PgConnection& connection) {
    connection.execute("BEGIN");
    PgParameters wanted;
    wanted.add(hook).add(change.paused_by).add(change.reason).add(change.is_removed);
    change.taken_at ? wanted.add(*change.taken_at) : wanted.add_null(PgType::int8);
    const PgResult changed = connection.query(statement("change_hook"), wanted);
    if (changed.rows() == 1) put_note(connection, hook, changed.int8(0, 0), change.note);
    connection.execute("COMMIT");
    return changed.rows() == 1;
  });
}

bool HookTable::edit(const std::string& hook, const HookEdit& edit) {
  return pool_.run([&](PgConnection& connection) {
    connection.execute("BEGIN");
    const PgResult edited = connection.query(
        statement("edit_hook"), PgParameters().add(hook).add(edit.before).add(edit.definition).add(edit.is_ordered));
    if (edited.rows() == 1) put_note(connection, hook, edited.int8(0, 0), edit.note);
    connection.execute("COMMIT");
    return edited.rows() == 1;
  });
}

std::optional<std::int64_t> HookTable::note(const std::string& hook, const HookNote& note) {
  return pool_.run([&](PgConnection& connection) {
    connection.execute("BEGIN");
    const PgResult counted = connection.query(statement("note_hook"), PgParameters().add(hook));
    std::optional<std::int64_t> number;
    if (counted.rows() == 1) number = counted.int8(0, 0);
    if (number) put_note(connection, hook, *number, note);
    connection.execute("COMMIT");
    return number;
  });
}

bool HookTable::put(const std::string& hook, const NoticeId& id) {
  return pool_.query("put_hook_deliveries", columns_of(hook, {id})).rows() == 1;
}

void HookTable::erase(const std::string& hook) {
  const PgParameters portion = PgParameters().add(hook).add(changed_at_once);
  while (pool_.query("remove_hook_deliveries", portion).rows() == changed_at_once) {
  }
  pool_.query("remove_hook", PgParameters().add(hook));
}

std::int64_t HookTable::count_waiting(const std::string& hook, std::int32_t most) {
  return pool_.query("count_hook_waiting", PgParameters().add(hook).add(most)).int8(0, 0);
}

bool HookTable::has_parked(const std::string& hook) {
  return pool_.query("any_hook_parked", PgParameters().add(hook)).boolean(0, 0);
}

std::vector<HookDelivery> HookTable::claim(const std::vector<HookSlots>& asked) {
  PgArray hooks(PgType::text), slots(PgType::int4), leases(PgType::int8), ordered(PgType::boolean);
  for (const HookSlots& one : asked) {
    hooks.add(one.hook);
    slots.add(one.slots);
    leases.add(one.lease_us);
    ordered.add(one.is_ordered);
  }
  if (asked.empty()) return {};
  return delivery_rows(pool_.query(
      "claim_hook_deliveries",
      PgParameters().add(std::move(hooks)).add(std::move(slots)).add(std::move(leases)).add(std::move(ordered))));
}

bool HookTable::record_send(const HookSettlement& settled) {
  const HookDelivery& to = settled.delivery;
  const PgResult found = pool_.query("settle_hook_delivery", named_notice(to.hook, to.id)
                                                                 .add(to.sends)
                                                                 .add(to_string(to.status))
                                                                 .add(to.failures)
                                                                 .add(settled.pause_us)
                                                                 .add(to.answer)
                                                                 .add(to.says));
  return found.rows() == 1;
}

std::int64_t HookTable::resend(const std::string& hook, const std::optional<NoticeId>& id, bool passes) {
  if (!id) return resend_parked(hook);
  return pool_.query("resend_hook_delivery", named_notice(hook, *id).add(passes)).rows();
}

std::int64_t HookTable::resend_parked(const std::string& hook) {
  std::int64_t count = 0, seq = -1;
  RunId run;
  for (std::string kind;;) {
    const PgResult found = pool_.query("resend_parked_deliveries",
                                       PgParameters().add(hook).add(run).add(seq).add(kind).add(changed_at_once));
    if (found.rows() == 0) return count;
    const int last = found.rows() - 1;
    run = found.uuid(last, 0);
    seq = found.int8(last, 1);
    kind = found.text(last, 2);
    count += found.int8(last, 3);
    if (found.rows() < changed_at_once) return count;
  }
}

std::int64_t HookTable::trim(const std::string& hook, TimeUs kept_us, TimeUs stalled_us, std::int32_t most) {
  return pool_.query("trim_hook_deliveries", PgParameters().add(hook).add(kept_us).add(stalled_us).add(most)).rows();
}

std::vector<HookCounts> HookTable::counts(const HookCountsAsked& asked) {
  PgParameters which;
  asked.hook ? which.add(*asked.hook) : which.add_null(PgType::text);
  which.add(hooks_counted_max).add(asked.with_delivered);
  const PgResult found = pool_.query_widely("hook_counts", which);
  found.expect_columns(count_columns);
  std::vector<HookCounts> all;
  for (int at = 0; at < found.rows(); ++at) {
    HookCounts& counts = all.emplace_back();
    counts.hook = found.text(at, 0);
    counts.waiting = found.int8(at, 1);
    counts.parked = found.int8(at, 2);
    counts.delivered = found.int8(at, 3);
    if (!found.is_null(at, 4)) counts.oldest = found.int8(at, 4);
    if (!found.is_null(at, 5)) counts.due = found.int8(at, 5);
  }
  return all;
}

std::vector<HookDelay> HookTable::delays() {
  const PgResult found = pool_.query_widely("hook_delays");
  found.expect_columns(delay_columns);
  std::vector<HookDelay> all;
  for (int at = 0; at < found.rows(); ++at) {
    HookDelay& delay = all.emplace_back();
    delay.hook = found.text(at, 0);
    if (!found.is_null(at, 1)) delay.free_since = found.int8(at, 1);
    if (!found.is_null(at, 2)) delay.moved_at = found.int8(at, 2);
    if (!found.is_null(at, 3)) delay.refused = found.text(at, 3);
  }
  return all;
}

std::optional<HookDelivery> HookTable::delivery(const std::string& hook, const NoticeId& id) {
  std::vector<HookDelivery> found = delivery_rows(pool_.query("hook_delivery", named_notice(hook, id)));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

std::vector<HookDelivery> HookTable::deliveries(const std::string& hook, const DeliveriesAsked& asked) {
  constexpr DeliveryPlace above_all = {std::numeric_limits<TimeUs>::max(), {}};
  const DeliveryPlace& after = asked.after ? *asked.after : above_all;
  const std::string word(asked.status ? to_string(*asked.status) : std::string_view());
  PgParameters wanted;
  wanted.add(hook).add(word).add(asked.limit).add(after.noted_at);
  wanted.add(after.id.run).add(after.id.seq).add(to_string(after.id.kind));
  return delivery_rows(pool_.query("hook_deliveries", wanted));
}

std::vector<HookDelivery> HookTable::lasts(const std::optional<std::string>& hook) {
  PgParameters which;
  hook ? which.add(*hook) : which.add_null(PgType::text);
  return delivery_rows(pool_.query("hook_lasts", which));
}

std::vector<KeptHookNote> HookTable::notes(const std::string& hook, std::int64_t before, std::int32_t limit) {
  const PgResult found = pool_.query("hook_notes", PgParameters().add(hook).add(before).add(limit));
  std::vector<KeptHookNote> notes;
  for (int at = 0; at < found.rows(); ++at) {
    KeptHookNote& kept = notes.emplace_back();
    kept.number = found.int8(at, 0);
    kept.at = found.int8(at, 1);
    kept.note = {std::string(found.text(at, 2)), std::string(found.text(at, 3)), std::string(found.text(at, 4)), ""};
    if (!found.is_null(at, 5)) kept.note.definition = found.text(at, 5);
  }
  return notes;
}

}  // namespace cairn

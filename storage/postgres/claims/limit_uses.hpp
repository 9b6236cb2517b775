// The use of limited queues and of their keys, as statements give it: readers of their rows, and the parameters that
// ask for budgets. Each reader adds the rows of one database to what others gave, and CHECKs the names of its columns.
// Pure functions, safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/limits/queue_room.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {

using LimitUses = std::map<std::string, QueueUse>;  // by queue, or by the keys of one queue

void add_permits(const PgResult& rows, LimitUses& uses);   // of retire_permits.sql
void add_rates(const PgResult& rows, LimitUses& uses);     // of queue_rates.sql
void add_key_uses(const PgResult& rows, LimitUses& uses);  // of key_uses.sql
// The rows of budget_uses.sql, by queue or, `by_key`, by the keys of one queue. A budget of a newer release is left
// out.
void add_budget_uses(const PgResult& rows, bool by_key, LimitUses& uses);

// Asks a statement of each node.
using AskEachNode = std::function<std::vector<PgResult>(std::string_view, const PgParameters&)>;
// On one server. REQUIRES: a pipeline, of which all is received, and which outlives it.
AskEachNode asking_here(PgConnection& connection);

// The use of these keys of a queue, as far as its limits of keys go by it.
LimitUses uses_of_keys(const QueueLimits& limits, const std::vector<std::string>& keys, const AskEachNode& ask_each);

// The parameters of budget_uses.sql.
PgParameters budgets_of_queues(const std::vector<std::string>& queues);
PgParameters budgets_of_keys(const std::string& queue, const std::vector<std::string>& keys);

// The use of one, of which nothing may be known.
QueueUse use_of(const LimitUses& uses, const std::string& name);

}  // namespace cairn

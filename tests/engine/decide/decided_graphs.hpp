// The graphs that several tests of decisions are about. Constant data.
#pragma once

namespace cairn::decided {

// Two steps, of which the second may go round again.
inline const char* const linear = R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"b"}},
  "b":{"do":"x.b","labels":["ok","again"],"on":{"ok":"z","again":"a"}},
  "z":{"end":"done"}}})";

// A wait for a signal, and one for a time.
inline const char* const waiting = R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
  "a":{"wait":{"signal":"go","timeout_ms":1000},"into":"heard","on":{"fired":"b","timeout":"z"}},
  "b":{"wait":{"ms":500},"on":{"fired":"z"}},
  "z":{"end":"done"}}})";

// A map over sub-goals, and a step after it that may plan more.
inline const char* const mapping = R"({"name":"t","start":"plan","limits":{"steps":100},"nodes":{
  "plan":{"do":"x.plan","labels":["ok"],"on":{"ok":"work"}},
  "work":{"map":"sub_goals","retry":{"attempts":2},"on":{"joined":"see","partial":"see"}},
  "see":{"do":"x.see","labels":["done","more"],"on":{"done":"z","more":"plan"}},
  "z":{"end":"done"}}})";

}  // namespace cairn::decided

// The nouns of the API, as its description has them.
import type { components } from "cairn-openapi";

type Schemas = components["schemas"];

export type RunListed = Schemas["RunListed"];
export type Run = Schemas["Run"];
export type RunStatus = Schemas["RunStatus"];
export type Step = Schemas["Step"];
export type SubGoal = Schemas["SubGoal"];
export type Question = Schemas["Question"];
export type OpenQuestion = Schemas["OpenQuestion"];
export type Explanation = Schemas["Explanation"];
export type Reason = Schemas["Reason"];
export type Difference = Schemas["Difference"];
export type Change = Schemas["Change"];
export type Verified = Schemas["Verified"];
export type BulkAnswer = Schemas["BulkAnswer"];
export type Answered = Schemas["Answered"];
export type SavedView = Schemas["SavedView"];
export type LinkMade = Schemas["LinkMade"];
export type LinkedQuestion = Schemas["LinkedQuestion"];
export type Started = Schemas["Started"];
export type Controlled = Schemas["Controlled"];
export type Event = Schemas["Event"];
export type EventType = Event["type"];
export type EventOf<T extends EventType> = Extract<Event, { type: T }>;
export type Graph = Schemas["Graph"];
export type GraphListed = Schemas["GraphListed"];
export type GraphReview = Schemas["GraphReview"];
export type Queue = Schemas["Queue"];
export type Session = Schemas["Session"];
export type UseReport = Schemas["UseReport"];
export type Role = Schemas["Role"];
export type Routes = Schemas["Routes"];
export type Caller = Schemas["Caller"];
export type Json = unknown;

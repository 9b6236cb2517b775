// The states of a page that has nothing to show yet, or cannot.
import type { ComponentChildren } from "preact";
import type { Refusal } from "../api/client";
import type { Resource } from "../api/resource";

export function Loading() {
  return <p class="state loading" role="status">Reading…</p>;
}

const titles: Record<string, string> = {
  not_found: "Nothing is here",
  forbidden: "Your token does not allow this",
  lost: "The server does not answer",
  unavailable: "The database does not answer",
  invalid: "This cannot be asked",
};

export function Failure({ error }: { error: Refusal }) {
  return (
    <div class="state failure" role="alert">
      <h2>{titles[error.code] ?? "This did not work"}</h2>
      <p>{error.message}</p>
      {error.faults.length > 0 && <ul>{error.faults.map((fault) => <li key={fault}>{fault}</li>)}</ul>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

// A whole page that has nothing but a state: it has a heading as any other.
export function Bare({ title, children }: { title: string; children: ComponentChildren }) {
  return <><h1 class="hidden">{title}</h1>{children}</>;
}

interface ReadProps<T> {
  from: Resource<T>;
  children: (data: T) => ComponentChildren;
}

// What a resource has, or why it has nothing; both, where it was refused later. That the server is away is said above.
export function Read<T>({ from, children }: ReadProps<T>) {
  const data = from.data.value;
  const error = from.error.value;
  if (data === undefined) return error === undefined ? <Loading /> : <Failure error={error} />;
  return <>{error !== undefined && error.code !== "lost" && <Failure error={error} />}{children(data)}</>;
}

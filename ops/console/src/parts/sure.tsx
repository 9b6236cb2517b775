// One button for what needs no more than a yes; a refusal is said above it.
import { useSignal } from "@preact/signals";
import type { Refusal } from "../api/client";

interface Props {
  title: string;
  act: () => Promise<void>;
}

export function Sure({ title, act }: Props) {
  const says = useSignal("");
  const isBusy = useSignal(false);
  const submit = (event: Event) => {
    event.preventDefault();
    isBusy.value = true;
    act().catch((refusal: Refusal) => {
      says.value = refusal.message;
      isBusy.value = false;
    });
  };
  return (
    <form onSubmit={submit}>
      <p class="refusal" role="alert"><bdi>{says.value}</bdi></p>
      <div class="buttons"><button type="submit" class="primary" disabled={isBusy.value}>{title}</button></div>
    </form>
  );
}

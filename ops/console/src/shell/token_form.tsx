// Asks for the token when the server wants one.
import { useSignal } from "@preact/signals";
import { type Refusal, takeToken } from "../api/client";
import { reloadAll } from "../api/resource";

export function TokenForm() {
  const text = useSignal("");
  const says = useSignal("");
  const isBusy = useSignal(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    isBusy.value = true;
    says.value = "";
    try {
      await takeToken(text.value);
      reloadAll();
    } catch (refusal) {
      const { status, message } = refusal as Refusal;
      says.value = status === 401 ? "The server does not know this token." : message;
    }
    isBusy.value = false;
  };
  return (
    <form class="card token" onSubmit={submit}>
      <h1>A token, please</h1>
      <p class="muted">This server asks for one. It is kept until this tab is closed. <code>cairn token add</code> makes
        one.</p>
      <label>Token
        <input type="password" autocomplete="current-password" required value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <p class="refusal" role="alert">{says.value}</p>
      <button type="submit" class="primary" disabled={isBusy.value}>Go on</button>
    </form>
  );
}

import { caller, seesAll } from "../api/client";
import { offeredPages } from "../pages/pages";
import { link, route } from "../router";
import { nextTheme, theme } from "../theme";
import { isHelpOpen } from "./help";

const homes: Record<string, string> = { run: "runs", compare: "runs", graph: "graphs", import: "proof" };

export function Navigation() {
  const here = homes[route.value.page] ?? route.value.page;
  return (
    <header class="top">
      <a class="brand" href={link(["runs"])}>Cairn</a>
      <nav aria-label="Pages">
        {offeredPages(seesAll()).map(([name, { title }]) => (
          <a key={name} href={link([name])} aria-current={name === here ? "page" : undefined}>{title}</a>
        ))}
      </nav>
      <div class="top-end">
        {caller.value !== undefined && caller.value.actor !== "api" && <span class="who">{caller.value.actor}</span>}
        <button type="button" class="quiet" onClick={nextTheme} title="Key t">Theme: {theme.value}</button>
        <button type="button" class="quiet" onClick={() => (isHelpOpen.value = true)} title="Key ?">Keys</button>
      </div>
    </header>
  );
}

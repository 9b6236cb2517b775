// Budgets of a queue, and what its steps reserve of them, as texts to edit: those of the command line.
import type { Queue } from "../../api/types";

export type Budget = Queue["budgets"][number];
export type Reserve = Queue["reserve"];
type Unit = Budget["unit"];

const units: Unit[] = ["tokens", "cost"];
const budgetForm = /^(tokens|cost)=([\d.]+)\/(minute|hour|day|month)$/;
const reserveForm = /^(tokens|cost)=([\d.]+)$/;
const amountMax = 1e15;

const reserved = (reserve: Reserve): [Unit, number][] =>
  units.flatMap((unit): [Unit, number][] => (reserve[unit] === undefined ? [] : [[unit, reserve[unit]]]));

export const budgetTexts = (budgets: Budget[]) => budgets.map(({ unit, cap, per }) => `${unit}=${cap}/${per}`);
export const reserveTexts = (reserve: Reserve) => reserved(reserve).map(([unit, amount]) => `${unit}=${amount}`);

const items = (text: string) => text.split(/[\s,]+/).filter((item) => item !== "");

// Tokens are whole, cost need not be. Nothing: no such amount.
function amountOf(unit: string | undefined, text: string | undefined): number | undefined {
  const amount = Number(text);
  const isOne = amount > 0 && amount <= amountMax && (unit === "cost" || Number.isInteger(amount));
  return isOne ? amount : undefined;
}

// A sentence where the text has none.
export function askedBudgets(text: string): Budget[] | string {
  const budgets: Budget[] = [];
  for (const item of items(text)) {
    const [, unit, amount, per] = budgetForm.exec(item) ?? [];
    const cap = amountOf(unit, amount);
    if (cap === undefined)
      return "Expected budgets as tokens=N/WINDOW or cost=N/WINDOW, where WINDOW is minute, hour, day or month, " +
        `but found ${item}.`;
    budgets.push({ unit: unit as Unit, cap, per: per as Budget["per"] });
  }
  return budgets;
}

export function askedReserve(text: string): Reserve | string {
  const reserve: Reserve = {};
  for (const item of items(text)) {
    const [, unit, shown] = reserveForm.exec(item) ?? [];
    const amount = amountOf(unit, shown);
    if (amount === undefined || reserve[unit as Unit] !== undefined)
      return `Expected what each step reserves as tokens=N or cost=N, each once, but found ${item}.`;
    reserve[unit as Unit] = amount;
  }
  return reserve;
}

// Cost has parts down to millionths.
export const amountWords = (amount: number) => amount.toLocaleString(undefined, { maximumFractionDigits: 6 });

const unitWords = (unit: Unit, amount: number) =>
  unit === "cost" ? `a cost of ${amountWords(amount)}` : `${amountWords(amount)} tokens`;

export const budgetWords = ({ unit, cap, per }: Budget) => `at most ${unitWords(unit, cap)} per ${per}`;

// Empty where nothing is reserved.
export const reserveWords = (reserve: Reserve) =>
  reserved(reserve).map(([unit, amount]) => unitWords(unit, amount)).join(" and ");

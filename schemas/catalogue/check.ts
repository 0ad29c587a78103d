/**
 * `npm run generate -- catalogue --check`: lists the prices of the catalogue that differ from those of the sources today, or from what
 * vendors charged for the answers in the log. Prices that `overrides.yaml` sets on purpose are no drift. Changes no file.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { catalogueFiles, fillIn, modelsOf, type Written } from './build.ts';
import { overrides } from './sources.ts';

/** A price for which the sources have another value. */
interface Drift {
  /** `gpt-5 openai prompt`; without a provider it is the price of the model. */
  readonly price: string;
  readonly here: string;
  readonly there: string;
}

const said = (value: unknown): string => (value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value));

function differing(name: string, ours: Written['pricing'], theirs: Written['pricing']): Drift[] {
  if (typeof ours !== 'object' || typeof theirs !== 'object') {
    return ours === theirs ? [] : [{ price: name, here: said(ours), there: said(theirs) }];
  }
  const names = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])] as (keyof typeof ours)[];
  return names
    .filter((each) => said(ours[each]) !== said(theirs[each]))
    .map((each) => ({ price: `${name} ${each}`, here: said(ours[each]), there: said(theirs[each]) }));
}

/** Prices of a file that the generator would write otherwise. */
export function driftOfPrices(text: string): Drift[] {
  const filled = modelsOf(fillIn(text));
  return modelsOf(text).flatMap((model, at) => {
    const other = filled[at] as Written;
    const own = model.providers.flatMap((mapping, index) =>
      differing(`${model.id} ${mapping.providerId}`, mapping.pricing, other.providers[index]?.pricing),
    );
    return [...differing(model.id, model.pricing, other.pricing), ...own];
  });
}

/** What the check needs of a record of the log. */
export interface Billed {
  readonly model: string | null;
  readonly provider: string | null;
  readonly cost: string | null;
  readonly costIsUpperBound: boolean;
  readonly providerCost: string | null;
  readonly attempts: readonly { readonly used?: unknown }[];
}

/** The answers of one model of one provider that says what it charged. */
interface Bill {
  readonly name: string;
  answers: number;
  /** Answers that it charged for and whose cost is not known here. */
  unknown: number;
  /** Dollars of the answers whose cost is known. */
  here: number;
  charged: number;
}

/** A share that rounding alone does not reach. */
const noticeable = 0.01;

/** The bills whose sum differs from the sum of our costs. Answers with lost attempts, and upper bounds, have no counterpart on a bill. */
export function driftOfBills(records: readonly Billed[]): { readonly compared: number; readonly drifted: readonly Bill[] } {
  const bills = new Map<string, Bill>();
  let compared = 0;
  for (const { model, provider, cost, costIsUpperBound, providerCost, attempts } of records) {
    if (providerCost === null || providerCost === undefined || costIsUpperBound || attempts.some(({ used }) => used !== undefined)) {
      continue;
    }
    compared++;
    const name = `${model} ${provider}`;
    const bill = bills.get(name) ?? { name, answers: 0, unknown: 0, here: 0, charged: 0 };
    bills.set(name, bill);
    bill.answers++;
    if (cost === null) bill.unknown++;
    else {
      bill.here += Number(cost);
      bill.charged += Number(providerCost);
    }
  }
  const drifted = [...bills.values()].filter(
    ({ unknown, here, charged }) => unknown > 0 || Math.abs(here - charged) > noticeable * Math.max(here, charged),
  );
  return { compared, drifted };
}

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The newest answers of the last 30 days, as `gateway logs` shows them; null: it cannot read the log. @param flags of `gateway logs` */
function logged(flags: readonly string[]): Billed[] | null {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['core/main.ts', 'logs', '--json', '--since', '30d', '--limit', '10000', ...flags],
    { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 30 },
  );
  if (status === 0) {
    return stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Billed);
  }
  console.log(`the log cannot be read: ${stderr.trim()}`);
  return null;
}

const dollars = (amount: number): string => `$${Number(amount.toPrecision(4))}`;

/** The command. @param flags after `--check`: those of `gateway logs`, such as `--config` */
export function check(flags: readonly string[]): void {
  const today = new Date().toISOString().slice(0, 10);
  // the sources are asked for the prices of today, at the hour of the day at which the catalogue takes them
  Object.assign(overrides, { as_of: today + overrides.as_of.slice(10) });
  const prices = [...catalogueFiles().values()].flatMap(driftOfPrices);
  console.log(`prices that others have otherwise on ${today}: ${prices.length}`);
  for (const { price, here, there } of prices) console.log(`  ${price}: ${here} here, ${there} there`);
  const records = logged(flags);
  const { compared, drifted } = driftOfBills(records ?? []);
  if (records !== null) console.log(`models whose vendor charged otherwise, by ${compared} answers of the last 30 days: ${drifted.length}`);
  for (const { name, answers, unknown, here, charged } of drifted) {
    console.log(
      `  ${name}: ${dollars(here)} here, ${dollars(charged)} charged, ${answers - unknown} answers${unknown > 0 ? `; of ${unknown} more the cost is not known here` : ''}`,
    );
  }
  if (prices.length > 0 || drifted.length > 0) process.exitCode = 1;
}

/** Reads the text format of Prometheus strictly, line by line, and throws at the first line that is not valid. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const help = /^# HELP ([a-zA-Z_:][\w:]*) ((?:[^\\\n]|\\\\|\\n)*)$/;
const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram)$/;
const sample = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\\\|\\"|\\n)*",?)*)\})? (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\.)*)"/g;

const unescaped = (text: string): string => text.replaceAll(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));

export function parseExposition(text: string): Sample[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const samples: Sample[] = [];
  const seen = new Set<string>();
  const families = new Set<string>();
  let family = { name: '', type: '' };
  for (const line of text.slice(0, -1).split('\n')) {
    const described = help.exec(line)?.[1];
    if (described !== undefined) {
      if (families.has(described)) throw new Error(`${described} is described twice`);
      families.add(described);
      family = { name: described, type: '' };
      continue;
    }
    const typed = type.exec(line);
    if (typed !== null) {
      if (typed[1] !== family.name || family.type !== '') throw new Error(`a type out of place: ${line}`);
      family = { name: family.name, type: typed[2] as string };
      continue;
    }
    const [, name = '', labels = '', value = ''] = sample.exec(line) ?? fail(line);
    const allowed = family.type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => family.name + suffix) : [family.name];
    if (!allowed.includes(name)) throw new Error(`a sample outside of its family ${family.name}: ${line}`);
    if (seen.has(`${name}{${labels}}`)) throw new Error(`a series comes twice: ${line}`);
    seen.add(`${name}{${labels}}`);
    samples.push({
      name,
      labels: Object.fromEntries(Array.from(labels.matchAll(label), ([, key = '', text = '']) => [key, unescaped(text)])),
      value: Number(value),
    });
  }
  return samples;
}

function fail(line: string): never {
  throw new Error(`no line of the format: ${line}`);
}

/** Sum over the samples that have these labels. */
export const total = (samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number =>
  samples
    .filter((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);

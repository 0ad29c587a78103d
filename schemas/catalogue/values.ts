/** The catalogue as a start reads it: JSON takes 3 ms, and the YAML that people write 80 ms. */
import { readQuickYaml } from '../../config/yaml/quick.ts';
import { hashOf } from '../../config/yaml/shipped.ts';

/** The text of `values.jsonl` for these texts of YAML. */
export function valuesText(texts: Iterable<string>): string {
  return Array.from(texts, (text) => {
    const value = readQuickYaml(text);
    if (value === null) throw new Error(`This text of the catalogue has something that the quick reader of YAML leaves alone: ${text.slice(0, 200)}`);
    return `${hashOf(text)} ${JSON.stringify(value)}\n`;
  }).join('');
}

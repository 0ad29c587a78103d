/** What a caller may write as `model`: the policies of the routing, then the models that a provider serves. */

/** @param {any} models as `/api/models` tells them, null while they are not known @returns {string[]} */
const callable = (models) => (models === null ? [] : [...new Set([...models.policies.map(({ name }) => name), ...models.data.filter(({ isOn }) => isOn).map(({ id }) => id)])]);

/** For a first try. @param {any} models */
export function firstChoice(models) {
  const names = callable(models);
  return names.includes('auto') ? 'auto' : (names[0] ?? 'auto');
}

/** @param {any} models @param {string} chosen in front where it is none of them */
export function choices(models, chosen) {
  const names = callable(models);
  return names.includes(chosen) ? names : [chosen, ...names];
}

/** The names that a caller may write as `model`: the policies of the routing, then the models whose provider is on. */

/** @param {any} models the answer of `/api/models`, null while it is loading @returns {string[]} */
const callable = (models) =>
  models === null
    ? []
    : [...new Set([...models.policies.map(({ name }) => name), ...models.data.filter(({ isOn }) => isOn).map(({ id }) => id)])];

/** The name for a first request: `auto` where there is such a policy, else the first name. @param {any} models */
export function firstChoice(models) {
  const names = callable(models);
  return names.includes('auto') ? 'auto' : (names[0] ?? 'auto');
}

/** The names for a list of choices; `chosen` comes first where it is not one of the names. @param {any} models @param {string} chosen */
export function choices(models, chosen) {
  const names = callable(models);
  return names.includes(chosen) ? names : [chosen, ...names];
}

/**
 * Whether a request for this name may ask for thinking; true also where that is not known.
 * @param {any} models @param {string} name @returns {boolean}
 */
export function mayReason(models, name) {
  if (models === null) return true;
  const ids = models.policies.find((policy) => policy.name === name)?.candidates?.map(({ model }) => model) ?? [name];
  const off = models.off.map(({ id }) => id);
  const providers = models.data
    .filter(({ id, aliases }) => ids.includes(id) || aliases.includes(name))
    .flatMap((model) => model.providers.filter(({ providerId }) => !off.includes(providerId)));
  return providers.length === 0 || providers.some(({ reasons }) => reasons);
}

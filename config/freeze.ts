/** Freezes the configuration, so that no plugin can change what requests read. `Object.freeze` alone does not freeze maps. */

const refuse = (): never => {
  throw new TypeError('the configuration cannot be changed');
};

const plainOrList = (value: object): boolean =>
  Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null;

/**
 * Freezes plain objects, lists and maps with everything in them; of other objects only their own properties. Returns the same
 * value. A frozen map throws a `TypeError` when somebody changes it.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (value instanceof Map) {
    for (const [key, item] of value) {
      deepFreeze(key);
      deepFreeze(item);
    }
    for (const method of ['set', 'delete', 'clear']) Object.defineProperty(value, method, { value: refuse });
  }
  Object.freeze(value);
  if (plainOrList(value)) for (const item of Object.values(value)) deepFreeze(item);
  return value;
}

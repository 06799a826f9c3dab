/** Freezes plain objects and arrays all the way down. Other objects (maps, buffers) are not frozen. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value;
  // Frozen before its members, so that a cycle ends.
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
  return value;
}

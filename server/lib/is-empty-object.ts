/** An object without members. Looks at the first one only, and makes no list of them. */
export function isEmptyObject(object: object): boolean {
  for (const _ in object) return false;
  return true;
}

/** Whether an object has no members. Reads at most the first member, and allocates no list of them. */
export function isEmptyObject(object: object): boolean {
  for (const _ in object) return false;
  return true;
}

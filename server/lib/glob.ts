/**
 * Matches a glob (wildcard pattern): `*` is any run of characters, slashes included; `?` is any one character. Takes at
 * most glob x text steps.
 */
export function matchesGlob(glob: string, text: string): boolean {
  if (glob === "*") return true;
  let g = 0;
  let t = 0;
  // The backtracking position, for a mismatch after the last star: only the last star ever has to match more
  // characters.
  let afterStar = -1;
  let retry = 0;
  while (t < text.length) {
    if (glob[g] === "*") {
      g += 1;
      afterStar = g;
      retry = t;
    } else if (glob[g] === "?") {
      g += 1;
      t += width(text, t);
    } else if (glob[g] === text[t]) {
      g += 1;
      t += 1;
    } else if (afterStar >= 0) {
      retry += width(text, retry);
      g = afterStar;
      t = retry;
    } else {
      return false;
    }
  }
  while (glob[g] === "*") g += 1;
  return g === glob.length;
}

/** A character outside the basic plane is two code units and still one `?`. */
const width = (text: string, at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);

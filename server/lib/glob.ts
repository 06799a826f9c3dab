/**
 * Matches a glob: `*` is any run of characters, slashes included; `?` is any one character. Takes at most glob x text
 * steps.
 */
export function matchesGlob(glob: string, text: string): boolean {
  if (glob === "*") return true;
  // The positions of the next characters.
  let inGlob = 0;
  let inText = 0;
  // The backtracking position, for a mismatch after the last star: only the last star ever has to match more
  // characters.
  let afterStar = -1;
  let retryFrom = 0;
  while (inText < text.length) {
    if (glob[inGlob] === "*") {
      inGlob += 1;
      afterStar = inGlob;
      retryFrom = inText;
    } else if (glob[inGlob] === "?") {
      inGlob += 1;
      inText += width(text, inText);
    } else if (glob[inGlob] === text[inText]) {
      inGlob += 1;
      inText += 1;
    } else if (afterStar >= 0) {
      retryFrom += width(text, retryFrom);
      inGlob = afterStar;
      inText = retryFrom;
    } else {
      return false;
    }
  }
  while (glob[inGlob] === "*") inGlob += 1;
  return inGlob === glob.length;
}

/** A character outside the basic plane is two code units and still one `?`. */
const width = (text: string, at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);

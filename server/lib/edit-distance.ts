/** Finds the candidate nearest to a misspelled word by edit distance, for "did you mean" messages. */

const maxLength = 64;
const maxCandidates = 500;

export function nearestMatch(word: string, candidates: Iterable<string>): string | undefined {
  const typed = word.slice(0, maxLength).toLowerCase();
  let best: string | undefined;
  let least = Math.max(1, Math.floor(typed.length / 3)) + 1;
  let seen = 0;
  for (const candidate of candidates) {
    if (++seen > maxCandidates) break;
    if (candidate.length > maxLength || Math.abs(candidate.length - typed.length) >= least)
      continue;
    const distance = editDistance(typed, candidate.toLowerCase());
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/** ` (did you mean X?)`, or nothing if no candidate is similar. `show`: the candidate as the user would type it. */
export function didYouMean(
  word: string,
  candidates: Iterable<string>,
  show: (candidate: string) => string,
): string {
  const meant = nearestMatch(word, candidates);
  return meant === undefined ? "" : ` (did you mean ${show(meant)}?)`;
}

/** Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and transpositions. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}

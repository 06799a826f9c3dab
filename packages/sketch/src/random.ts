/** A seeded random number generator: the same seed always gives the same image. */

export interface Random {
  /** 0 ≤ x < 1 */
  next(): number;
  between(low: number, high: number): number;
  /** An integer, both ends included. */
  integer(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly [T, ...T[]]): T;
  sign(): 1 | -1;
  /** An independent generator, so that more random numbers in one part do not change another part. */
  fork(label: string): Random;
}

export function seeded(seed: string): Random {
  let [a, b, c, d] = hash128(seed);
  const next = (): number => {
    // The sfc32 generator: small, fast, and passes PractRand.
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 4294967296;
  };
  for (let warm = 0; warm < 12; warm++) next();
  const between = (low: number, high: number): number => low + (high - low) * next();
  return {
    next,
    between,
    integer: (low, high) => Math.floor(between(low, high + 1)),
    chance: (probability) => next() < probability,
    pick: (list) => list[Math.floor(next() * list.length)] ?? list[0],
    sign: () => (next() < 0.5 ? -1 : 1),
    fork: (label) => seeded(`${seed}/${label}`),
  };
}

/** cyrb128: hashes a text to four 32-bit words. */
function hash128(text: string): [number, number, number, number] {
  let a = 1779033703;
  let b = 3144134277;
  let c = 1013904242;
  let d = 2773480762;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = b ^ Math.imul(a ^ code, 597399067);
    b = c ^ Math.imul(b ^ code, 2869860233);
    c = d ^ Math.imul(c ^ code, 951274213);
    d = a ^ Math.imul(d ^ code, 2716044179);
  }
  a = Math.imul(c ^ (a >>> 18), 597399067);
  b = Math.imul(d ^ (b >>> 22), 2869860233);
  c = Math.imul(a ^ (c >>> 17), 951274213);
  d = Math.imul(b ^ (d >>> 19), 2716044179);
  return [a ^ b ^ c ^ d, b ^ a, c ^ a, d ^ a];
}

/** One-dimensional fractal value noise in -1..1, for ridges and waves. */
export function noise1(random: Random, octaves = 4, roughness = 0.5): (x: number) => number {
  const table = Array.from({ length: 256 }, () => random.between(-1, 1));
  const at = (i: number): number => table[((i % 256) + 256) % 256] ?? 0;
  const total = Array.from({ length: octaves }, (_, o) => roughness ** o).reduce(
    (s, v) => s + v,
    0,
  );
  return (x) => {
    let value = 0;
    for (let octave = 0; octave < octaves; octave++) {
      const position = x * 2 ** octave + octave * 37.7;
      const cell = Math.floor(position);
      const t = position - cell;
      const ease = t * t * (3 - 2 * t);
      value += (at(cell) * (1 - ease) + at(cell + 1) * ease) * roughness ** octave;
    }
    return value / total;
  };
}

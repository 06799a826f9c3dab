/** The change of a figure against the time before. */

interface Change {
  readonly text: string;
  readonly isUp: boolean;
  readonly isSame: boolean;
}

/** More is shown as a factor: +1,900% is hard to read. */
const maxPercent = 5;

/** Of two rates: from 20 % to 30 % is 10 points more, not half as much again. */
export function changeOfRate(now: number | null, before: number | null): Change | undefined {
  if (now === null || before === null) return undefined;
  const points = (now - before) * 100;
  const text = Math.abs(points).toFixed(1);
  return { text, isUp: points > 0, isSame: text === "0.0" };
}

/** Undefined if one of the two is unknown, or there was nothing before. */
export function changeOf(now: number | null, before: number | null): Change | undefined {
  if (now === null || before === null || before === 0) return undefined;
  const share = now / before - 1;
  const percent = Math.abs(share * 100);
  const isSame = percent < 0.05;
  const rounded = percent < 10 ? percent.toFixed(1) : String(Math.round(percent));
  const factor = `${(now / before).toFixed(now / before < 100 ? 1 : 0)}×`;
  return {
    text: share > maxPercent ? factor : `${isSame ? "0" : rounded}%`,
    isUp: share > 0,
    isSame,
  };
}

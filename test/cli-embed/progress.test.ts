/** The progress of `vexel embed`. */
import { expect, test } from "bun:test";
import { newCheckpoint } from "../../cli/embed/checkpoint.ts";
import { duration, ProgressBar } from "../../cli/embed/progress.ts";

function screenAt(isTerminal: boolean) {
  const written: string[] = [];
  const screen = {
    isTerminal,
    ms: 0,
    write: (text: string) => {
      written.push(text);
    },
    now: (): number => screen.ms,
  };
  return { screen, written };
}

test("the progress has rows, rate, tokens, cost, failed rows and the remaining time", () => {
  const { screen, written } = screenAt(true);
  const checkpoint = newCheckpoint({}, { rows: 1000, tokens: 9000 });
  checkpoint.rows = 100;
  const bar = new ProgressBar(screen, 20, checkpoint.rows);
  Object.assign(checkpoint, { rows: 400, failed: 2, tokens: 4000 });
  screen.ms = 6000;
  bar.update(checkpoint);
  expect(written.join("")).toEndWith(
    "[########............] 40 % 400/1000 rows  50 rows/s  4000 tokens  $0.0800  2 failed  ETA 0:12",
  );
});

test("without a terminal there is a line every ten seconds", () => {
  const { screen, written } = screenAt(false);
  const checkpoint = newCheckpoint({}, null);
  const bar = new ProgressBar(screen, undefined, 0);
  for (screen.ms = 0; screen.ms <= 25_000; screen.ms += 500) {
    checkpoint.rows += 1;
    bar.update(checkpoint);
  }
  expect(written).toEqual([
    "21 rows  2.1 rows/s  0 tokens  unknown cost\n",
    "41 rows  2.0 rows/s  0 tokens  unknown cost\n",
  ]);
});

test("a server that fails at every request does not fill the screen", () => {
  const { screen, written } = screenAt(true);
  const bar = new ProgressBar(screen, undefined, 0);
  for (screen.ms = 0; screen.ms < 12_000; screen.ms += 100) bar.note(`at ${screen.ms}`);
  expect(written.map((line) => line.replace("\r\x1b[2K", ""))).toEqual([
    "at 0\n",
    "at 5000\n",
    "at 10000\n",
  ]);
});

test("a duration has hours only if there are any", () => {
  expect([5, 65, 3725].map(duration)).toEqual(["0:05", "1:05", "1:02:05"]);
});

/** The progress of a run: a bar on a terminal, otherwise a line every ten seconds. */
import type { Checkpoint } from "./checkpoint.ts";
import { costOf, printCost } from "./estimate.ts";

export interface Screen {
  readonly isTerminal: boolean;
  write(text: string): void;
  /** Milliseconds. */
  now(): number;
}

const barWidth = 20;
/** A server that fails would fill the screen. */
const noteEveryMs = 5000;
const clearLine = "\r\x1b[2K";

export class ProgressBar {
  readonly #screen: Screen;
  readonly #price: number | undefined;
  readonly #startedAt: number;
  /** Rows of earlier runs do not count for the rate. */
  readonly #rowsBefore: number;
  #shownAt: number;
  #notedAt = Number.NEGATIVE_INFINITY;

  constructor(screen: Screen, price: number | undefined, rowsBefore: number) {
    this.#screen = screen;
    this.#price = price;
    this.#rowsBefore = rowsBefore;
    this.#startedAt = screen.now();
    this.#shownAt = this.#startedAt;
  }

  update(checkpoint: Checkpoint): void {
    const { isTerminal, now, write } = this.#screen;
    if (now() - this.#shownAt < (isTerminal ? 200 : 10_000)) return;
    this.#shownAt = now();
    const line = this.#describe(checkpoint);
    write(isTerminal ? `${clearLine}${line}` : `${line}\n`);
  }

  /** A line beside the progress. Others within five seconds are left out. */
  note(text: string): void {
    const { isTerminal, now, write } = this.#screen;
    if (now() - this.#notedAt < noteEveryMs) return;
    this.#notedAt = now();
    write(`${isTerminal ? clearLine : ""}${text}\n`);
  }

  end(checkpoint: Checkpoint): void {
    const { isTerminal, write } = this.#screen;
    write(`${isTerminal ? clearLine : ""}${this.#describe(checkpoint)}\n`);
  }

  #describe({ rows, failed, tokens, size }: Checkpoint): string {
    const seconds = (this.#screen.now() - this.#startedAt) / 1000;
    const rate = seconds > 0 ? (rows - this.#rowsBefore) / seconds : 0;
    return [
      size === null ? `${rows} rows` : `${bar(rows, size.rows)} ${rows}/${size.rows} rows`,
      `${rate.toFixed(rate < 10 ? 1 : 0)} rows/s`,
      `${tokens} tokens`,
      printCost(costOf(tokens, this.#price)),
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(size !== null && rate > 0 && rows < size.rows
        ? [`ETA ${duration((size.rows - rows) / rate)}`]
        : []),
    ].join("  ");
  }
}

function bar(rows: number, of: number): string {
  const share = of === 0 ? 1 : Math.min(1, rows / of);
  const full = Math.floor(share * barWidth);
  return `[${"#".repeat(full)}${".".repeat(barWidth - full)}] ${Math.floor(share * 100)} %`;
}

/** Such as 1:02:05. */
export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0
    ? `${hours}:${two(minutes)}:${two(whole % 60)}`
    : `${minutes}:${two(whole % 60)}`;
}

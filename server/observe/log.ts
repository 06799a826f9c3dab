/**
 * Logs: one readable line per event on a terminal, JSON otherwise.
 * Callers pass names, counts and times; never a key, prompt, vector or picture.
 */

export type Level = "debug" | "info" | "warn" | "error";
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  debug(event: string, fields?: Fields): void;
  info(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
  error(event: string, fields?: Fields): void;
  /** Would a line of this level be written? Spares the making of those that would not. */
  writes(level: Level): boolean;
  /** Writes what is still held back. */
  flush(): void;
}

export interface LogOptions {
  readonly level: Level | "silent";
  readonly format: "text" | "json";
  readonly now: () => Date;
  readonly write: (text: string) => void;
}

const rank = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 } as const;
const colors = { debug: "\x1b[2m", info: "", warn: "\x1b[33m", error: "\x1b[31m" } as const;

/** Lines are held back this long, so that a busy gateway makes few writes. */
const flushDelayMs = 20;
const maxBufferedChars = 64 * 1024;

export function createLog({ level, format, now, write }: LogOptions): Log {
  let held = "";
  let timer: ReturnType<typeof setTimeout> | undefined;

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (held === "") return;
    const text = held;
    held = "";
    write(text);
  };
  const writes = (at: Level): boolean => rank[at] >= rank[level];
  const line = (at: Level, event: string, fields: Fields): void => {
    if (!writes(at)) return;
    held += format === "json" ? asJson(now(), at, event, fields) : asText(now(), at, event, fields);
    // Trouble must be on the screen even if the process dies next.
    if (rank[at] >= rank.warn || held.length > maxBufferedChars) flush();
    else timer ??= setTimeout(flush, flushDelayMs);
  };

  return {
    debug: (event, fields = {}) => line("debug", event, fields),
    info: (event, fields = {}) => line("info", event, fields),
    warn: (event, fields = {}) => line("warn", event, fields),
    error: (event, fields = {}) => line("error", event, fields),
    writes,
    flush,
  };
}

const asJson = (at: Date, level: Level, event: string, fields: Fields): string =>
  `${quoted({ time: at.toISOString(), level, event, ...fields })}\n`;

function asText(at: Date, level: Level, event: string, fields: Fields): string {
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}=${printable(String(value))}`)
    .join(" ");
  const time = at.toTimeString().slice(0, 8);
  const colour = colors[level];
  return `${colour}${time} ${event}${rest && " "}${rest}${colour && "\x1b[0m"}\n`;
}

/** Control characters from outside must not steer the terminal or forge a line. */
const printable = (text: string): string =>
  /^[\x21-\x7e]+$/.test(text) && !text.includes('"') ? text : quoted(text);

/** JSON escapes only some of what steers: terminals also act on C1 controls and on marks that turn the writing around. */
const quoted = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/**
 * Logging, with log levels: one readable line per event on a terminal, JSON Lines otherwise. Fields are names, counts
 * and times; never a key, prompt, vector or image. Secrets are not redacted here: callers must not pass them.
 */

import { escapeControls } from "./escape-controls.ts";

export type Level = "debug" | "info" | "warn" | "error";
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  debug(event: string, fields?: Fields): void;
  info(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
  error(event: string, fields?: Fields): void;
  /** Whether lines of this level are written, so that code can skip building a line that is not. */
  writes(level: Level): boolean;
  /** Writes the buffered lines. */
  flush(): void;
}

interface LogOptions {
  readonly level: Level | "silent";
  readonly format: "text" | "json";
  readonly now: () => Date;
  readonly write: (text: string) => void;
  /** The id of this process, in every line of JSON. If absent, lines have none. */
  readonly replica?: string | undefined;
}

const rank = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 } as const;
const colors = { debug: "\x1b[2m", info: "", warn: "\x1b[33m", error: "\x1b[31m" } as const;

/** Lines are buffered this long, so that a busy gateway makes few writes. */
const flushDelayMs = 20;
const maxBufferedChars = 64 * 1024;

export function createLog({ level, format, now, write, replica }: LogOptions): Log {
  let buffer = "";
  let timer: ReturnType<typeof setTimeout> | undefined;

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (buffer === "") return;
    const text = buffer;
    buffer = "";
    write(text);
  };
  const writes = (at: Level): boolean => rank[at] >= rank[level];
  const line = (at: Level, event: string, fields: Fields): void => {
    if (!writes(at)) return;
    buffer +=
      format === "json"
        ? asJson(now(), at, event, fields, replica)
        : asText(now(), at, event, fields);
    // Warnings and errors must be written even if the process dies next.
    if (rank[at] >= rank.warn || buffer.length > maxBufferedChars) flush();
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

/** Concatenated, because a copy of the fields for `JSON.stringify` would take 3 % of the CPU of a request. */
function asJson(
  at: Date,
  level: Level,
  event: string,
  fields: Fields,
  replica: string | undefined,
): string {
  const own = quoted(fields).slice(1, -1);
  const end = replica === undefined ? "" : `,"replica":${quoted(replica)}`;
  return `{"time":"${at.toISOString()}","level":"${level}","event":"${event}"${own && ","}${own}${end}}\n`;
}

function asText(at: Date, level: Level, event: string, fields: Fields): string {
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}=${printable(String(value))}`)
    .join(" ");
  const time = at.toTimeString().slice(0, 8);
  const color = colors[level];
  return `${color}${time} ${event}${rest && " "}${rest}${color && "\x1b[0m"}\n`;
}

/** Escapes text from outside: control characters must not control the terminal or forge a log line. */
const printable = (text: string): string =>
  /^[\x21-\x7e]+$/.test(text) && !text.includes('"') ? text : quoted(text);

const quoted = (value: unknown): string => escapeControls(JSON.stringify(value));

/** A problem of a configuration file and its location, formatted for the author of the file. */

export interface Problem {
  readonly file: string;
  /**
   * The setting or option that names the file; empty if the file itself is the argument. Only if the problem is that
   * the file cannot be read.
   */
  readonly namedBy?: string;
  /** From 1; 0 for the whole file. */
  readonly line: number;
  readonly column: number;
  /** Such as `models[0].targets[1].upstream`; empty if the problem is not about a key. */
  readonly key: string;
  readonly message: string;
}

export type Path = readonly (string | number)[];

/** A place in the file, by the path of its value. */
export interface Place {
  readonly path: Path;
  /** Whether the key at the path is meant or its value. */
  readonly on?: "key" | "value";
  /** The exact offset, if it is known more precisely than by the path. */
  readonly offset?: number;
}

/** A problem without its line. The message may be a function, because suggestions are expensive to compute. */
export interface Note extends Place {
  readonly message: string | (() => string);
}

export const textOf = ({ message }: Note): string =>
  typeof message === "string" ? message : message();

export const aboutFile = (file: string, message: string, namedBy?: string): Problem => ({
  file,
  ...(namedBy !== undefined && { namedBy }),
  line: 0,
  column: 0,
  key: "",
  message,
});

export function keyOf(path: Path): string {
  let key = "";
  for (const step of path) {
    if (typeof step === "number") key += `[${step}]`;
    else key += key === "" ? step : `.${step}`;
  }
  return key;
}

/** `vexel.yaml:7:5 models[0].kind: must be "embedding" or "image"` */
function describeProblem({ file, namedBy, line, column, key, message }: Problem): string {
  if (namedBy !== undefined) return `${namedBy && `${namedBy}: `}${file} ${message}`;
  const location = line > 0 ? `${file}:${line}:${column}` : file;
  if (key !== "") return `${location} ${key}: ${message}`;
  return line > 0 ? `${location} ${message}` : `${location}: ${message}`;
}

export const describeProblems = (problems: readonly Problem[]): string =>
  problems.map(describeProblem).join("\n");

/**
 * The command that the user ran, for hints in messages: `vexel`, `./vexel`, `npm start --`, `npx vexel` and others. The
 * launcher passes it in VEXEL_COMMAND (bin/vexel.mjs, bin/executable.mjs, cli/start.ts, deploy/docker/image.json).
 */

const launcher = (): string => process.env.VEXEL_COMMAND || "vexel";

/** The command with these arguments, such as `npm start -- keys create`. */
export const ownCommand = (args: string): string => `${launcher()} ${args}`;

/** For help texts, which say `vexel`. Empty if that is the command. */
export const ownCommandNote = (): string =>
  launcher() === "vexel" ? "" : `\nIn this text, "vexel" stands for: ${launcher()}\n`;

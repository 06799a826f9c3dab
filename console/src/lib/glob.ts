/** Model globs, as the gateway matches them: `*` is any run of characters, `?` is any one character. */
export function matchesGlob(glob: string, text: string): boolean {
  const escaped = glob.replace(/[\\^$.+()[\]{}|/]/g, "\\$&");
  const pattern = escaped.replaceAll(/\*+/g, ".*").replaceAll("?", ".");
  return new RegExp(`^${pattern}$`, "su").test(text);
}

/**
 * Environment variables in the values of vexel.yaml: `${NAME}`, `${NAME:-default}` and the escape `$${`. They are
 * expanded after YAML parsing, so the value of a variable is never parsed as YAML.
 */

export type Reference =
  | { readonly kind: "variable"; readonly name: string; readonly fallback: string | undefined }
  | { readonly kind: "mistake"; readonly message: string };

// In this order: escaped, well formed, closed with an invalid name, not closed. The last matches only the name, so that
// a message about a missing brace does not quote the rest of the value.
const shape = /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{[^{}]*\}|\$\{\w*/g;

export const expandReferences = (text: string, replace: (reference: Reference) => string): string =>
  text.replace(shape, (found: string, name?: string, fallback?: string) => {
    if (found === "$${") return "${";
    if (name !== undefined) return replace({ kind: "variable", name, fallback });
    const mistake = found.endsWith("}") ? "is not a valid variable name" : "is not closed";
    const message = `${found} ${mistake}: write \${NAME} or \${NAME:-default}, or $\${ for a literal \${`;
    return replace({ kind: "mistake", message });
  });

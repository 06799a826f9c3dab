/** The project that the pages of the menu are shown for. It is in their address, and only filters what they show. */
import { useSearch } from "@tanstack/react-router";

const maxLength = 300;

/** If undefined, all projects of the user. */
export function useProjectScope(): string | undefined {
  const { project } = useSearch({ strict: false });
  const isValid = typeof project === "string" && project !== "" && project.length <= maxLength;
  return isValid ? project : undefined;
}

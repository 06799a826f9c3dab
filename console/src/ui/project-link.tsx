/** The name of a project, which leads to its page. */
import { Link } from "@tanstack/react-router";
import { LongText } from "./long-text.tsx";

export const ProjectLink = ({ project }: { project: string }) => (
  <Link
    to="/projects/$id"
    params={{ id: project }}
    className="underline-offset-2 hover:text-accent hover:underline"
  >
    <LongText text={project} />
  </Link>
);

/** The name of a project, or another text, which leads to its page. */
import { Link } from "@tanstack/react-router";
import { LongText } from "./long-text.tsx";

interface ProjectLinkProps {
  readonly project: string;
  readonly children?: string;
}

export const ProjectLink = ({ project, children = project }: ProjectLinkProps) => (
  <Link
    to="/projects/$id"
    params={{ id: project }}
    className="underline-offset-2 hover:text-accent hover:underline"
  >
    <LongText text={children} />
  </Link>
);

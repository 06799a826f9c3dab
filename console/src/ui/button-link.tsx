/** A link to another page that looks like a button. */
import { createLink } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import { type ButtonLook, buttonStyle } from "./button.tsx";

export const ButtonLink = createLink(
  ({ look = "primary", size = "small", ...props }: ComponentProps<"a"> & ButtonLook) => (
    <a {...props} className={buttonStyle({ look, size })} />
  ),
);

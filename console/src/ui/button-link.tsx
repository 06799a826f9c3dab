/** A link to another page that looks like a button. */
import { createLink } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import { buttonStyle } from "./button.tsx";

export const ButtonLink = createLink((props: ComponentProps<"a">) => (
  <a {...props} className={buttonStyle({ look: "primary", size: "small" })} />
));

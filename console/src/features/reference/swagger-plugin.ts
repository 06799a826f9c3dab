/**
 * What the console changes in Swagger UI: no heading, no choice of a server, names for controls that have none, and
 * another resolver of references.
 */
import { resolveSubtree } from "./resolve-subtree.ts";

interface System {
  /** Swagger UI has its own React. */
  readonly React: {
    createElement(type: unknown, props: object | null, ...children: readonly unknown[]): unknown;
  };
}

type Wrapper = (original: unknown, system: System) => (props: object) => unknown;

const hidden: Wrapper = () => () => null;

/** Swagger UI is in English only. */
const named =
  (name: string): Wrapper =>
  (original, { React: { createElement } }) =>
  (props) =>
    createElement(
      "label",
      { className: "swagger-named" },
      createElement("span", { className: "sr-only" }, name),
      createElement(original, props),
    );

const namedAccordion: Wrapper =
  (original, { React: { createElement } }) =>
  (props) => {
    const { children } = props as { children?: unknown };
    const name = createElement("span", { className: "sr-only" }, "Show or hide");
    return createElement(original, props, children, name);
  };

/** A region that scrolls must be reachable by keyboard. */
const scrolled: Wrapper =
  (original, { React: { createElement } }) =>
  (props) =>
    createElement(
      "div",
      { className: "swagger-code", tabIndex: 0, role: "region", "aria-label": "Code" },
      createElement(original, props),
    );

export const swaggerPlugin = () => ({
  fn: { resolveSubtree },
  wrapComponents: {
    InfoContainer: hidden,
    ServersContainer: hidden,
    Select: named("Value"),
    TextArea: named("Text"),
    HighlightCode: scrolled,
    JSONSchema202012Accordion: namedAccordion,
  },
});

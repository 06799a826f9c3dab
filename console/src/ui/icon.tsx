/** The icons of the console, as paths on a 24 x 24 grid. A few paths weigh less than an icon library. */
const paths = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-4H4zM14 8h6V4h-6z",
  models: "M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9",
  upstreams: "M7 18a4 4 0 0 1-.6-7.95A6 6 0 0 1 18 9.5a4.3 4.3 0 0 1-.5 8.5z",
  requests: "M4 6h16M4 12h16M4 18h10",
  jobs: "M4 5h7M4 12h7M4 19h7M15 5l2 2 4-4M15 12l2 2 4-4M15 19l2 2 4-4",
  keys: "M15.5 8.5a4 4 0 1 0-3.6 4L4 20h3v-2h2v-2h2l2.4-2.4a4 4 0 0 0 2.1-5.1zM16 8h.01",
  budgets:
    "M12 3v18M17 6.5C16 5.5 14.500 5 12 5 9 5 7 6.300 7 8.500S9 12 12 12s5 1.300 5 3.500S15 19 12 19c-2.500 0-4-.5-5-1.500",
  usage: "M4 20V10M10 20V4M16 20v-7M22 20H2",
  events: "M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4",
  audit: "M7 3h8l4 4v14H7zM15 3v4h4M10 12h6M10 16h6",
  users:
    "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21a7 7 0 0 1 14 0M16 3.500a4 4 0 0 1 0 7.500M18 14a7 7 0 0 1 4 7",
  settings:
    "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 2v3M12 19v3M4.900 4.900 7 7M17 17l2.100 2.100M2 12h3M19 12h3M4.900 19.100 7 17M17 7l2.100-2.100",
  embeddings:
    "M5 19a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM19 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM12 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM6.500 15.800l4-2.600M13.500 10.800l4-2.600",
  images:
    "M4 5h16v14H4zM8.500 11a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM4 17l5-4 3 2.500L16 11l4 4",
  reference: "M5 4h10a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h10",
  menu: "M4 7h16M4 12h16M4 17h16",
  chevron: "M7 10l5 5 5-5",
  close: "M6 6l12 12M18 6L6 18",
  projects: "M3 6h6l2 2h10v11H3z",
  webhooks:
    "M12 3a4 4 0 0 1 3.500 6L18 14M8 9a4 4 0 1 1 7.500-2M6 21a4 4 0 1 1 1-7.900M9 17h9a2 2 0 1 1 0 4",
  replicas: "M4 4h16v6H4zM4 14h16v6H4zM7 7h.01M7 17h.01",
  lock: "M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3",
} as const;

export type IconName = keyof typeof paths;

export const Icon = ({ name }: { name: IconName }) => (
  <svg
    viewBox="0 0 24 24"
    className="size-4 shrink-0 fill-none stroke-current"
    strokeWidth={1.75}
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    <path d={paths[name]} />
  </svg>
);

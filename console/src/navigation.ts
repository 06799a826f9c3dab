/** The pages of the menu, and the role that may open each. The server checks every request again. */
import { type Role, roles, type SessionUser } from "../../contract/admin.ts";
import type { MessageKey } from "./i18n/message-keys.ts";
import type { IconName } from "./ui/icon.tsx";

export interface MenuEntry {
  readonly path: string;
  readonly label: MessageKey;
  readonly icon: IconName;
  readonly role: Role;
  /** Refused for users who see only some projects. */
  readonly needsAllProjects?: true;
}

export interface MenuGroup {
  readonly label: MessageKey;
  readonly entries: readonly MenuEntry[];
}

export const menu: readonly MenuGroup[] = [
  {
    label: "nav.group.monitor",
    entries: [
      { path: "/", label: "nav.overview", icon: "overview", role: "viewer" },
      { path: "/requests", label: "nav.requests", icon: "requests", role: "viewer" },
      { path: "/jobs", label: "nav.jobs", icon: "jobs", role: "viewer" },
      { path: "/usage", label: "nav.usage", icon: "usage", role: "viewer" },
      { path: "/budgets", label: "nav.budgets", icon: "budgets", role: "viewer" },
      {
        path: "/events",
        label: "nav.events",
        icon: "events",
        role: "viewer",
        needsAllProjects: true,
      },
      { path: "/replicas", label: "nav.replicas", icon: "replicas", role: "viewer" },
    ],
  },
  {
    label: "nav.group.try",
    entries: [
      { path: "/models", label: "nav.models", icon: "models", role: "viewer" },
      {
        path: "/playground/embeddings",
        label: "nav.embeddings",
        icon: "embeddings",
        role: "developer",
      },
      { path: "/playground/images", label: "nav.images", icon: "images", role: "developer" },
      { path: "/reference", label: "nav.reference", icon: "reference", role: "viewer" },
    ],
  },
  {
    label: "nav.group.configure",
    entries: [
      { path: "/keys", label: "nav.keys", icon: "keys", role: "developer" },
      { path: "/projects", label: "nav.projects", icon: "projects", role: "viewer" },
      { path: "/upstreams", label: "nav.upstreams", icon: "upstreams", role: "admin" },
      { path: "/webhooks", label: "events.webhooks", icon: "webhooks", role: "admin" },
    ],
  },
  {
    label: "nav.group.administer",
    entries: [
      { path: "/users", label: "nav.users", icon: "users", role: "admin" },
      { path: "/audit", label: "nav.audit", icon: "audit", role: "admin" },
      { path: "/settings", label: "nav.settings", icon: "settings", role: "admin" },
    ],
  },
];

export const mayOpen = (user: SessionUser, { role, needsAllProjects }: MenuEntry): boolean =>
  roles.indexOf(user.role) >= roles.indexOf(role) && (!needsAllProjects || user.projects === null);

/** The entry of a page. Undefined: the page is in no menu. */
export const menuEntryOf = (pathname: string): MenuEntry | undefined =>
  menu
    .flatMap(({ entries }) => entries)
    .find(({ path }) => path === pathname || `/console${path}` === pathname);

/** The pages of the menu, and the role that may open each. The server checks every request again. */
import {
  Bell,
  BellRing,
  BookOpen,
  ChartColumn,
  ChartScatter,
  Cloud,
  FileClock,
  Folder,
  Image,
  KeyRound,
  LayoutDashboard,
  ListChecks,
  LogIn,
  type LucideIcon,
  Package,
  ScrollText,
  Server,
  Settings,
  Users,
  Wallet,
  Webhook,
} from "lucide-react";
import { type Role, roles, type SessionUser } from "../../contract/admin.ts";
import type { MessageKey } from "./i18n/message-keys.ts";

interface MenuEntry {
  readonly path: string;
  readonly label: MessageKey;
  readonly icon: LucideIcon;
  readonly role: Role;
  /** Refused for users who see only some projects. */
  readonly needsAllProjects?: true;
}

interface MenuGroup {
  readonly label: MessageKey;
  readonly entries: readonly MenuEntry[];
}

export const menu: readonly MenuGroup[] = [
  {
    label: "nav.group.monitor",
    entries: [
      { path: "/", label: "nav.overview", icon: LayoutDashboard, role: "viewer" },
      { path: "/requests", label: "nav.requests", icon: ScrollText, role: "viewer" },
      { path: "/jobs", label: "nav.jobs", icon: ListChecks, role: "viewer" },
      { path: "/usage", label: "nav.usage", icon: ChartColumn, role: "viewer" },
      { path: "/budgets", label: "nav.budgets", icon: Wallet, role: "viewer" },
      {
        path: "/events",
        label: "nav.events",
        icon: Bell,
        role: "viewer",
        needsAllProjects: true,
      },
      { path: "/replicas", label: "nav.replicas", icon: Server, role: "viewer" },
    ],
  },
  {
    label: "nav.group.try",
    entries: [
      { path: "/models", label: "nav.models", icon: Package, role: "viewer" },
      {
        path: "/playground/embeddings",
        label: "nav.embeddings",
        icon: ChartScatter,
        role: "developer",
      },
      { path: "/playground/images", label: "nav.images", icon: Image, role: "developer" },
      { path: "/reference", label: "nav.reference", icon: BookOpen, role: "viewer" },
    ],
  },
  {
    label: "nav.group.configure",
    entries: [
      { path: "/keys", label: "nav.keys", icon: KeyRound, role: "developer" },
      { path: "/projects", label: "nav.projects", icon: Folder, role: "viewer" },
      { path: "/upstreams", label: "nav.upstreams", icon: Cloud, role: "admin" },
      { path: "/webhooks", label: "events.webhooks", icon: Webhook, role: "admin" },
      { path: "/alerts", label: "nav.alerts", icon: BellRing, role: "admin" },
    ],
  },
  {
    label: "nav.group.administer",
    entries: [
      { path: "/users", label: "nav.users", icon: Users, role: "admin" },
      { path: "/sign-in-settings", label: "nav.signIn", icon: LogIn, role: "admin" },
      { path: "/audit", label: "nav.audit", icon: FileClock, role: "admin" },
      { path: "/settings", label: "nav.settings", icon: Settings, role: "admin" },
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

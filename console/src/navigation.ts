/** The pages of the menu, and the capability that each needs. The server checks every request again. */
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
import { type Capability, canSomewhere, type SessionUser } from "../../contract/admin.ts";
import type { MessageKey } from "./i18n/message-keys.ts";

interface MenuEntry {
  readonly path: string;
  readonly label: MessageKey;
  readonly icon: LucideIcon;
  readonly needs: Capability;
  /** Refused for users who see only some projects. */
  readonly needsAllProjects?: true;
  /** It can be shown for one project, which is in its address. */
  readonly hasProjects?: true;
}

interface MenuGroup {
  readonly label: MessageKey;
  readonly entries: readonly MenuEntry[];
}

export const menu: readonly MenuGroup[] = [
  {
    label: "nav.group.monitor",
    entries: [
      { path: "/", label: "nav.overview", icon: LayoutDashboard, needs: "view", hasProjects: true },
      {
        path: "/requests",
        label: "nav.requests",
        icon: ScrollText,
        needs: "view",
        hasProjects: true,
      },
      { path: "/jobs", label: "nav.jobs", icon: ListChecks, needs: "view", hasProjects: true },
      { path: "/usage", label: "nav.usage", icon: ChartColumn, needs: "view", hasProjects: true },
      { path: "/budgets", label: "nav.budgets", icon: Wallet, needs: "view", hasProjects: true },
      {
        path: "/events",
        label: "nav.events",
        icon: Bell,
        needs: "view",
        needsAllProjects: true,
        hasProjects: true,
      },
      { path: "/replicas", label: "nav.replicas", icon: Server, needs: "view" },
    ],
  },
  {
    label: "nav.group.try",
    entries: [
      { path: "/models", label: "nav.models", icon: Package, needs: "view" },
      {
        path: "/playground/embeddings",
        label: "nav.embeddings",
        icon: ChartScatter,
        needs: "develop",
      },
      { path: "/playground/images", label: "nav.images", icon: Image, needs: "develop" },
      { path: "/reference", label: "nav.reference", icon: BookOpen, needs: "view" },
    ],
  },
  {
    label: "nav.group.configure",
    entries: [
      { path: "/keys", label: "nav.keys", icon: KeyRound, needs: "develop", hasProjects: true },
      { path: "/projects", label: "nav.projects", icon: Folder, needs: "view" },
      { path: "/upstreams", label: "nav.upstreams", icon: Cloud, needs: "administer" },
      { path: "/webhooks", label: "events.webhooks", icon: Webhook, needs: "administer" },
      { path: "/alerts", label: "nav.alerts", icon: BellRing, needs: "administer" },
    ],
  },
  {
    label: "nav.group.administer",
    entries: [
      { path: "/users", label: "nav.users", icon: Users, needs: "administer" },
      { path: "/sign-in-settings", label: "nav.signIn", icon: LogIn, needs: "administer" },
      { path: "/audit", label: "nav.audit", icon: FileClock, needs: "administer" },
      { path: "/settings", label: "nav.settings", icon: Settings, needs: "administer" },
    ],
  },
];

export const mayOpen = (user: SessionUser, { needs, needsAllProjects }: MenuEntry): boolean =>
  canSomewhere(user, needs) && (!needsAllProjects || user.projects === null);

/** The entry of a page. Undefined if the page is in no menu. */
export const menuEntryOf = (pathname: string): MenuEntry | undefined =>
  menu
    .flatMap(({ entries }) => entries)
    .find(({ path }) => path === pathname || `/console${path}` === pathname);

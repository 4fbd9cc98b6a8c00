import type { ComponentChildren } from "preact";
import { finding } from "./finding.ts";
import type { Me } from "./me.ts";
import { useWaiting } from "./pages/waiting-number.ts";
import { Icon, type IconName } from "./parts/icon.tsx";
import { useCurrentInSight } from "./parts/sight.ts";
import { Name, visible } from "./parts/text.tsx";
import { exactTimes } from "./parts/time.ts";
import { go, leaving, path, unlessUnsaved } from "./router.ts";
import { signOut } from "./sign-out.ts";
import { useStore } from "./store.ts";

type Entry = [label: string, icon: IconName, to: string[]];

const DEPLOYMENT: Entry[] = [
  ["Waiting", "waiting", ["waiting"]],
  ["Tenants", "tenants", ["tenants"]],
  ["Activity", "activity", ["activity"]],
  ["Isolation", "isolation", ["isolation"]],
  ["Why refused?", "why", ["why"]],
  ["Setup", "setup", ["setup"]],
];

/** Of one organization, by what the reader may do in it. */
export const entriesOf = (slug: string, role: string): Entry[] => [
  ["Overview", "home", ["org", slug]],
  ["Members", "members", ["org", slug, "members"]],
  ...(role === "member"
    ? []
    : ([
        ["Invitations", "invitation", ["org", slug, "invitations"]],
        ["API keys", "key", ["org", slug, "keys"]],
        ["Settings", "settings", ["org", slug, "settings"]],
        ["Activity", "activity", ["org", slug, "activity"]],
      ] as Entry[])),
];
export const deploymentEntries: readonly Entry[] = DEPLOYMENT;

export function Side({ me, parts, slug }: { me: Me; parts: string[]; slug: string | undefined }) {
  const mine = me.tenants.find(tenant => tenant.slug === slug);
  const exact = useStore(exactTimes);
  // A reader who stays on the page keeps the organization: the chooser is drawn again.
  useStore(leaving);
  return (
    <header class="side">
      <a class="brand" href="#/">
        <img src={icon} alt="" /> Tenant console
      </a>
      <button type="button" class="finder" onClick={() => finding.set(true)}>
        <Icon of="search" /> Find <kbd>Ctrl K</kbd>
      </button>
      {me.operator && <Deployment parts={parts} />}
      {me.tenants.length > 1 && (
        <label class="picker field">
          <span class="unseen">Organization</span>
          <select
            value={slug}
            onChange={event => go(path(["org", (event.target as HTMLSelectElement).value]))}
          >
            {me.tenants.map(one => (
              <option key={one.slug} value={one.slug}>
                {visible(one.name)}
                {me.only && me.only.slug !== one.slug && " (not with this sign-in)"}
              </option>
            ))}
          </select>
        </label>
      )}
      {slug && mine && (
        <Section
          title={me.tenants.length > 1 ? "Organization" : mine.name}
          parts={parts}
          entries={entriesOf(slug, mine.role)}
        />
      )}
      <div class="who">
        <b title={me.name}>
          <Name>{me.name}</Name>
        </b>
        <span class="dim">
          {[me.operator && "operator of this deployment", mine && `${mine.role} of ${mine.slug}`]
            .filter(Boolean)
            .join(", ") || "no organization yet"}
        </span>
        <button type="button" class="quiet" aria-pressed={exact} onClick={() => exactTimes.set(!exact)}>
          <Icon of="waiting" /> Exact times
        </button>
        <button type="button" onClick={() => unlessUnsaved(() => void signOut())}>
          Sign out
        </button>
      </div>
    </header>
  );
}

const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')!.href;

function Deployment({ parts }: { parts: string[] }) {
  const waiting = useWaiting(parts[0]);
  return <Section title="Deployment" parts={parts} entries={DEPLOYMENT} counts={{ Waiting: waiting }} />;
}

function Section({
  title,
  parts,
  entries,
  counts = {},
}: {
  title: string;
  parts: string[];
  entries: readonly Entry[];
  counts?: Record<string, number | undefined>;
}): ComponentChildren {
  const nav = useCurrentInSight(parts.join("/"));
  const here = (to: string[]) =>
    to.join("/") === parts.slice(0, Math.max(to.length, to[0] === "org" ? 3 : 1)).join("/") ||
    (to[0] === "tenants" && parts[0] === "tenant");
  return (
    <nav ref={nav} aria-label={title}>
      <h2>
        <Name>{title}</Name>
      </h2>
      {entries.map(([label, of, to]) => (
        <a key={label} href={path(to)} aria-current={here(to) ? "page" : undefined}>
          <Icon of={of} />
          <span>{label}</span>
          {counts[label] ? (
            <span class="count">
              {counts[label]!.toLocaleString("en")}
              <span class="unseen"> waiting</span>
            </span>
          ) : null}
        </a>
      ))}
    </nav>
  );
}

/** What the service tells the page about itself, in a `meta` element: src/http/routes/console.ts writes it. */
export interface Settings {
  version: string;
  multiTenant: boolean;
  /** A slug for requests that must name a tenant and work in none. */
  defaultTenant: string;
  /** So long a deleted tenant can be restored; 0: deletion is for good. */
  deletionGraceDays: number;
  /** Null: no provider is configured, so people paste a token. */
  oidc: { issuer: string; clientId: string; scope: string; audience: string | null } | null;
}

export const settings: Settings = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="console"]')!.content,
);

/** The service's address: the folder above the page's, also behind a proxy with a prefix. */
export const BASE = new URL("../", document.baseURI);

/** What the service tells the console about itself, in a `meta` element of the page. */
export interface ConsoleSettings {
  version: string;
  multiTenant: boolean;
  /** A slug for requests that must name a tenant and work in none. */
  defaultTenant: string;
  /** So long a deleted tenant can be restored; 0: deletion is for good. */
  deletionGraceDays: number;
  /** A new tenant can have sample data. */
  sampleData: boolean;
  /** Null: no provider is configured, so people paste a token. */
  oidc: { issuer: string; clientId: string; scope: string; audience: string | null } | null;
}

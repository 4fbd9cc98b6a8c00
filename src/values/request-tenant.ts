export type TenantSource =
  | "configured_claim"
  | "tenant"
  | "organization"
  | "namespace"
  | "email"
  | "header"
  | "key"
  | "single_tenant";

export interface NamedTenant {
  readonly kind: "named";
  readonly slug: string;
  readonly source: Exclude<TenantSource, "single_tenant">;
}

/** The tenant of a request. Which one an API key has, the database tells once it has admitted the key. */
export type RequestTenant =
  | NamedTenant
  | { readonly kind: "default"; readonly source: "single_tenant" }
  | { readonly kind: "of_key"; readonly source: "key" };

export const named = (slug: string, source: NamedTenant["source"]): NamedTenant => ({
  kind: "named",
  slug,
  source,
});

/** Undefined unless the slug is known. */
export const slugOf = (tenant: RequestTenant | undefined): string | undefined =>
  tenant?.kind === "named" ? tenant.slug : undefined;

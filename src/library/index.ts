/** What a backend of one's own imports: docs/guides/product.md. */
export {
  type Caller,
  type Entered,
  entryStatements,
  inTenant,
  refuseNested,
  type Statement,
} from "./in-tenant.ts";
export { proof } from "./proof.ts";

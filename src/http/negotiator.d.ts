declare module "negotiator" {
  export default class Negotiator {
    constructor(request: { headers: Record<string, string | string[] | undefined> });
    /** Which of these the client likes best; undefined if none. */
    mediaType(available: string[]): string | undefined;
    encoding(available: string[]): string | undefined;
  }
}

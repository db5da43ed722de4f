/** Secrets and names that decide who may ask; made from the configuration. */
export interface Security {
  /** Null: the page and the admin API are open. */
  readonly adminToken: string | null;
  /** Empty: the model API is open. */
  readonly apiKeys: readonly string[];
  /** Names allowed beside the built-in ones. */
  readonly allowedHosts: readonly string[];
}

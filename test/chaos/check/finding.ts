/** A promise that was not kept. */
export interface Finding {
  readonly rule: string;
  /** The client's id of the request; empty where none is concerned. */
  readonly request: string;
  readonly what: string;
}

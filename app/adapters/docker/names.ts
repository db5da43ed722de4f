/**
 * Labels and names of our containers: the contract by which they are found again and told from others'.
 */
import type { Placement } from '../../core/types.ts';
import { PLACEMENTS } from '../../core/types.ts';

const PREFIX = 'io.llamastead';

export const LABELS = {
  owner: `${PREFIX}.owner`,
  home: `${PREFIX}.instance`,
  role: `${PREFIX}.role`,
  engine: `${PREFIX}.engine`,
  model: `${PREFIX}.model`,
  placement: `${PREFIX}.placement`,
  config: `${PREFIX}.config`,
} as const;

export type Role = 'instance' | 'holder' | 'probe';

export type Labels = Readonly<Record<string, string>>;

/** Who a container belongs to. */
export interface Owner {
  readonly home: string;
  readonly owner: string;
  readonly engine: string;
}

export function labelsFor(owner: Owner, role: Role): Record<string, string> {
  return {
    [LABELS.owner]: owner.owner,
    [LABELS.home]: owner.home,
    [LABELS.role]: role,
    [LABELS.engine]: owner.engine,
  };
}

/** `llamastead-<home>-<model>-<placement>-<6 hex>`; the random part is an argument. */
export function instanceName(home: string, model: string, placement: Placement, random: string): string {
  return `llamastead-${slug(home)}-${slug(model)}-${placement}-${random}`;
}

export function holderName(home: string, random: string): string {
  return `llamastead-${slug(home)}-holder-${random}`;
}

export function meterName(home: string, random: string): string {
  return `llamastead-${slug(home)}-nvidia-smi-${random}`;
}

/** The owner is in it, so that the network of a home whose state was lost is not in the way of the next. */
export function networkName({ home, owner }: Pick<Owner, 'home' | 'owner'>): string {
  return `llamastead-${slug(home)}-${owner.slice(0, 8)}`;
}

/** Whether a home of this name made the network, be it ours or one whose state was lost. */
export function isNetworkOf(home: string, network: string): boolean {
  const stem = `llamastead-${slug(home)}`;
  return network.startsWith(stem) && /^(-[0-9a-f]{8})?$/.test(network.slice(stem.length));
}

/** Docker's names are `[a-zA-Z0-9][a-zA-Z0-9_.-]+`; ours keep to `[a-z0-9-]`, 40 characters at most. */
function slug(text: string): string {
  const plain = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return plain === '' ? 'x' : plain;
}

/** The placement that a label names; undefined where it names none. */
export function placementOf(labels: Labels): Placement | undefined {
  return PLACEMENTS.find((placement) => placement === labels[LABELS.placement]);
}

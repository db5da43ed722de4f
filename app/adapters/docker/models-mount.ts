/**
 * Where the models folder is for the engine: a host path or a volume that is mounted into each instance.
 */
import { AppError } from '../../errors.ts';

/** The models folder inside an instance. */
export const MODELS_TARGET = '/models';

/** A mount of the controller's own container, as Docker shows it. */
export interface OwnMount {
  readonly type: 'bind' | 'volume' | 'other';
  /** Volume name; empty for others. */
  readonly name: string;
  /** Host path. */
  readonly source: string;
  /** Path in the container. */
  readonly destination: string;
}

export interface ModelsMount {
  readonly type: 'bind' | 'volume';
  /** Host path or volume name. */
  readonly source: string;
  /** Folder in the volume; undefined: all of it. */
  readonly subpath: string | undefined;
  /** Where the models folder is inside an instance: below the mount where only all of it can be mounted. */
  readonly folder: string;
}

/**
 * `mounts`: those of the controller's own container; null where it runs in none. Throws AppError
 * `models_not_shared` when the folder is inside the controller's container only.
 */
export function modelsMount(
  here: string,
  onHost: string | 'auto',
  mounts: readonly OwnMount[] | null,
  canSubpath: boolean,
): ModelsMount {
  if (onHost !== 'auto') return bind(onHost);
  if (mounts === null) return bind(here);
  const folder = trimmed(here);
  const holds = mounts
    .filter((mount) => mount.type !== 'other' && isBelow(folder, trimmed(mount.destination)))
    .sort((a, b) => b.destination.length - a.destination.length);
  const mount = holds[0];
  if (mount === undefined) {
    throw new AppError(
      'models_not_shared',
      `The models folder ${here} is not a mount of Llamastead's container, so no instance can be given it. ` +
        `Mount a folder or volume there, or set paths.modelsOnHost.`,
    );
  }
  const rest = folder.slice(trimmed(mount.destination).length).replace(/^\//, '');
  if (mount.type === 'bind') return bind(rest === '' ? mount.source : `${trimmed(mount.source)}/${rest}`);
  return volume(mount.name, rest, canSubpath);
}

function bind(source: string): ModelsMount {
  return { type: 'bind', source, subpath: undefined, folder: MODELS_TARGET };
}

function volume(name: string, rest: string, canSubpath: boolean): ModelsMount {
  if (rest === '') return { type: 'volume', source: name, subpath: undefined, folder: MODELS_TARGET };
  if (canSubpath) return { type: 'volume', source: name, subpath: rest, folder: MODELS_TARGET };
  return { type: 'volume', source: name, subpath: undefined, folder: `${MODELS_TARGET}/${rest}` };
}

/** Without a slash at the end; the root is the empty string. */
function trimmed(path: string): string {
  return path.replace(/\/+$/, '');
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
